#include "capture/capture_facts.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <optional>

#include "base/sys_files.h"
#include "format/capture_request.h"

namespace wavetap::capture {
namespace {

std::optional<std::string> read_maps() { return sys::read_file("/proc/self/maps", 64u << 20); }

}  // namespace

std::string command_line() {
  std::string text = sys::read_file("/proc/self/cmdline").value_or("");
  while (!text.empty() && text.back() == '\0') text.pop_back();
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text;
}

void add_libraries(FactList& facts) {
  const std::optional<std::string> maps = read_maps();
  if (!maps) return;
  for (const char* name : {"libamdhip64", "libhsa-runtime64", "libhsakmt"}) {
    const size_t at = maps->find(std::string("/") + name);
    if (at == std::string::npos) continue;
    const size_t begin = maps->rfind(' ', at) + 1;
    facts.add(std::string("library.") + name,
              maps->substr(begin, std::min(maps->find('\n', at), maps->size()) - begin));
  }
}

void add_host_stack(FactList& facts, std::span<const uint64_t> addresses) {
  const std::optional<std::string> maps = read_maps();
  for (size_t i = 0; i < addresses.size(); ++i) {
    char place[64];
    std::snprintf(place, sizeof place, "?+0x%" PRIx64, addresses[i]);
    std::string text = place;
    for (const char* line = maps ? maps->c_str() : nullptr; line != nullptr && *line != '\0';) {
      uint64_t begin = 0, end = 0, offset = 0;
      int path = 0;
      const char* const next = std::strchr(line, '\n');
      const size_t length = next == nullptr ? std::strlen(line) : static_cast<size_t>(next - line);
      if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %n", &begin, &end,
                      &offset, &path) == 3 &&
          addresses[i] >= begin && addresses[i] < end) {
        if (path > 0 && static_cast<size_t>(path) < length && line[path] == '/') {
          std::snprintf(place, sizeof place, "+0x%" PRIx64, addresses[i] - begin + offset);
          text = std::string(line + path, length - static_cast<size_t>(path)) + place;
        }
        break;
      }
      line = next == nullptr ? nullptr : next + 1;
    }
    char key[32];
    std::snprintf(key, sizeof key, "%s%02zu", format::kHostStackFact, i);
    facts.add(key, text);
  }
}

void add_hip_allocation(FactList& facts, const format::HipAllocation& allocation) {
  const char* made = nullptr;
  switch (allocation.made) {
    case format::HipMemory::kDevice: return;
    case format::HipMemory::kPool: made = "pool"; break;
    case format::HipMemory::kManaged: made = "managed"; break;
    case format::HipMemory::kPinned: made = "pinned"; break;
  }
  if (made != nullptr)
    facts.add(format::kCaptureMadeFact + std::to_string(allocation.address),
              std::to_string(allocation.bytes) + " " + made);
}

}  // namespace wavetap::capture
