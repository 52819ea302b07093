#include "agent/probe_files.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <new>

#include "base/sys_files.h"
#include "base/whole_io.h"

namespace wavetap::agent {
namespace {

uint64_t number(std::string_view text) {
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Symbols have no characters that JSON would mind; whoever made one that has is told apart by '?'.
std::string plain_text(const std::string& text) {
  std::string plain = text;
  for (char& c : plain)
    if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20) c = '?';
  return plain;
}

}  // namespace

bool read_probe_request(const char* path, ProbeRequest* request) {
  const std::optional<std::string> text = wavetap::sys::read_file(path);
  if (!text) return false;
  for (size_t at = 0; at < text->size();) {
    const size_t end = std::min(text->find('\n', at), text->size());
    const std::string_view line = std::string_view(*text).substr(at, end - at);
    at = end + 1;
    const size_t space = line.find(' ');
    if (space == std::string_view::npos) continue;
    const std::string_view key = line.substr(0, space), value = line.substr(space + 1);
    if (key == "folder") request->folder = value;
    else if (key == "wants") request->wants = static_cast<uint32_t>(number(value));
    else if (key == "kernels") request->kernels = value;
    else if (key == "launch") request->launches = format::LaunchChoice::of_checked(value);
    else if (key == "every") request->every = std::max<uint64_t>(number(value), 1);
    else if (key == "max") request->most = number(value);
    else if (key == "ring") request->ring_bytes = number(value);
    else if (key == "records") request->record_bytes = number(value);
  }
  return !request->folder.empty();
}

bool wants_launch(const ProbeRequest& request, uint64_t launch, std::atomic<bool>& launched) {
  const bool is_first =
      request.launches.asks_for_first() && !launched.exchange(true, std::memory_order_relaxed);
  if (!request.launches.is_empty()) return request.launches.contains(launch, is_first);
  return (launch - 1) % request.every == 0;
}

bool ProbeFiles::append(const char* suffix, const void* bytes, size_t size) {
  char path[4096];
  std::snprintf(path, sizeof path, "%s/%u.%s", folder_.c_str(), sys::pid(), suffix);
  const int fd = sys::open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);
  const bool good = fd >= 0 && wavetap::sys::write_whole(fd, bytes, size);
  if (fd >= 0) sys::close(fd);
  if (!good && !complained_) say("%s: cannot be written; results of probes are lost", path);
  complained_ |= !good;
  return good;
}

void ProbeFiles::line(const std::string& text) {
  const Locked locked(lines_lock_);
  lines_ += text;
  lines_ += '\n';
}

void ProbeFiles::flush() {
  std::string lines;
  {
    const Locked locked(lines_lock_);
    lines.swap(lines_);
  }
  if (!lines.empty()) append("pass", lines.data(), lines.size());
}

void ProbeFiles::unlock_after_fork() {
  new (&lines_lock_) LockWord;
  lines_.clear();
}

std::string ProbeFiles::keep_code(std::span<const std::byte> image) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const std::byte byte : image)
    hash = (hash ^ std::to_integer<uint64_t>(byte)) * 0x100000001b3;
  char name[64];
  std::snprintf(name, sizeof name, "code/%016llx.co", static_cast<unsigned long long>(hash));
  const std::string path = folder_ + "/" + name;
  const std::string part = path + "." + std::to_string(sys::pid());
  if (wavetap::sys::write_file(part, {reinterpret_cast<const char*>(image.data()), image.size()}) ==
      0)
    sys::rename(part.c_str(), path.c_str());
  return name;
}

void ProbeFiles::launch(const DispatchView& dispatch, const format::ProbeLaunch& launch,
                        const std::string& kernel, const std::string& code,
                        const std::string& target, uint32_t gpu, uint32_t lds_bytes,
                        uint32_t scratch_bytes, uint32_t wave_size, const std::byte* arguments,
                        uint32_t argument_bytes) {
  char text[1024];
  std::snprintf(text, sizeof text,
                "\"dispatch\":%u,\"number\":%llu,\"gpu\":%u,\"queue\":%u,\"wave_size\":%u,"
                "\"grid_size\":[%u,%u,%u],\"workgroup_size\":[%u,%u,%u],\"lds_bytes\":%u,"
                "\"scratch_bytes\":%u,\"arguments\":\"",
                launch.dispatch, static_cast<unsigned long long>(dispatch.number), gpu,
                dispatch.queue_number, wave_size, launch.grid_size[0], launch.grid_size[1],
                launch.grid_size[2], launch.workgroup_size[0], launch.workgroup_size[1],
                launch.workgroup_size[2], lds_bytes, scratch_bytes);
  std::string whole = "{\"type\":\"launch\",\"kernel\":\"" + plain_text(kernel) + "\",\"code\":\"" +
                      code + "\",\"target\":\"" + target + "\"," + text;
  constexpr char kDigits[] = "0123456789abcdef";
  for (uint32_t i = 0; i < argument_bytes; ++i) {
    const auto byte = std::to_integer<unsigned>(arguments[i]);
    whole += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  line(whole + "\"}");
}

void ProbeFiles::done(const format::ProbeLaunch& launch, const char* status) {
  char text[256];
  std::snprintf(text, sizeof text,
                "{\"type\":\"done\",\"dispatch\":%u,\"status\":\"%s\",\"lds_aperture\":%u,"
                "\"scratch_aperture\":%u}",
                launch.dispatch, status, __atomic_load_n(&launch.lds_aperture, __ATOMIC_RELAXED),
                __atomic_load_n(&launch.scratch_aperture, __ATOMIC_RELAXED));
  line(text);
}

void ProbeFiles::counts(const format::ProbeLaunch& launch,
                        const std::vector<format::ProbeCount>& counts) {
  std::string whole =
      "{\"type\":\"counts\",\"dispatch\":" + std::to_string(launch.dispatch) + ",\"sites\":[";
  const size_t begin = whole.size();
  for (size_t i = 0; i < counts.size(); ++i) {
    const format::ProbeCount& count = counts[i];
    if (count.executions == 0 && count.ticks == 0) continue;
    char text[128];
    std::snprintf(
        text, sizeof text, "%s[%zu,%llu,%llu,%llu,%llu]", whole.size() == begin ? "" : ",", i,
        static_cast<unsigned long long>(count.executions),
        static_cast<unsigned long long>(count.lanes), static_cast<unsigned long long>(count.ticks),
        static_cast<unsigned long long>(count.most_ticks));
    whole += text;
  }
  line(whole + "]}");
}

void ProbeFiles::uncounted(const format::ProbeLaunch& launch) {
  line("{\"type\":\"uncounted\",\"dispatch\":" + std::to_string(launch.dispatch) + "}");
}

void ProbeFiles::plain(const std::string& kernel) {
  line("{\"type\":\"plain\",\"kernel\":\"" + plain_text(kernel) + "\"}");
}

void ProbeFiles::refused(const std::string& kernel, const std::string& why) {
  line("{\"type\":\"refused\",\"kernel\":\"" + plain_text(kernel) + "\",\"why\":\"" +
       plain_text(why) + "\"}");
}

void ProbeFiles::count(const char* type, uint64_t count) {
  line(std::string("{\"type\":\"") + type + "\",\"count\":" + std::to_string(count) + "}");
}

void ProbeFiles::records(const std::vector<uint64_t>& words) {
  const size_t bytes = words.size() * sizeof(uint64_t);
  if (bytes <= room_ && append("records", words.data(), bytes)) {
    room_ -= bytes;
    return;
  }
  room_ = 0;
  uint64_t lost = 0;
  for (size_t at = 0; at < words.size(); at += format::unpack(words[at]).words) ++lost;
  count("lost", lost);
}

}  // namespace wavetap::agent
