#include "agent/capture_request.h"

#include <stdlib.h>

#include <algorithm>
#include <charconv>
#include <new>
#include <optional>
#include <string_view>

#include "agent/allocations.h"
#include "agent/launch_contexts.h"
#include "agent/recording.h"
#include "base/sys_files.h"
#include "record/markers.h"

namespace wavetap::agent {
namespace {

constinit CaptureRequest* g_request = nullptr;  // set once, before the program begins

uint64_t number(std::string_view text) {
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

void take(CaptureRequest& request, std::string_view key, std::string_view value) {
  if (key == "range") request.range = value;
  else if (key == "folder") request.folder = value;
  else if (key == "kernel") request.kernel = value;
  else if (key == "launch") request.launches = format::LaunchList::of_checked(value);
  else if (key == "every") request.every = std::max<uint64_t>(number(value), 1);
  else if (key == "max") request.max = number(value);
  else if (key == "drain") request.drain_s = number(value);
}

}  // namespace

const CaptureRequest* capture_request() { return g_request; }

void start_capture_request() {
  const char* const path = secure_getenv(format::kCaptureVariable);
  if (path == nullptr || *path == '\0' || is_passive()) return;
  const std::optional<std::string> text = wavetap::sys::read_file(path);
  auto* const request = new (std::nothrow) CaptureRequest;
  if (!text || request == nullptr) {
    say("error: capture: %s cannot be read; nothing is captured", path);
    return;
  }
  for (size_t at = 0; at < text->size();) {
    const size_t end = std::min(text->find('\n', at), text->size());
    const std::string_view line = std::string_view(*text).substr(at, end - at);
    at = end + 1;
    const size_t space = line.find(' ');
    if (space != std::string_view::npos)
      take(*request, line.substr(0, space), line.substr(space + 1));
  }
  g_request = request;
  if (!request->range.empty()) record::watch_ranges(request->range.c_str());
  want_contexts();
  want_allocations();
}

}  // namespace wavetap::agent
