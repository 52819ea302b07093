#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>

#include "base/sys.h"

namespace wavetap::log {
namespace {

// Raw system calls: open() and write() of this process may be interposed, by us among others.
int log_fd() {
  static const int fd = [] {
    const char* path = getenv("WT_LOG_FILE");
    if (path == nullptr || *path == '\0') return 2;
    const int opened = sys::open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
    return opened >= 0 ? opened : 2;
  }();
  return fd;
}

Level parse_level(const char* text, size_t size) {
  const struct {
    const char* name;
    Level level;
  } kLevels[] = {{"off", Level::kOff},
                 {"error", Level::kError},
                 {"info", Level::kInfo},
                 {"debug", Level::kDebug}};
  for (const auto& entry : kLevels)
    if (strlen(entry.name) == size && strncmp(entry.name, text, size) == 0) return entry.level;
  return Level::kOff;
}

void write_line(int fd, const char* prefix, const char* format, va_list args) {
  char text[1024];
  int size = snprintf(text, sizeof text, "%s", prefix);
  size += vsnprintf(text + size, sizeof text - static_cast<size_t>(size) - 1, format, args);
  if (size > static_cast<int>(sizeof text) - 2) size = sizeof text - 2;
  text[size++] = '\n';
  // A short or failed write of a log line has nobody left to be reported to.
  (void)sys::write(fd, text, static_cast<size_t>(size));
}

}  // namespace

bool enabled(const char* module, Level level) {
  static const char* const spec = getenv("WT_LOG");
  if (spec == nullptr) return false;
  for (const char* p = spec; *p != '\0';) {
    const size_t size = strcspn(p, ",");
    const char* colon = static_cast<const char*>(memchr(p, ':', size));
    if (colon == nullptr) {
      if (parse_level(p, size) >= level) return true;
    } else {
      const size_t name = static_cast<size_t>(colon - p);
      if (strlen(module) == name && strncmp(p, module, name) == 0 &&
          parse_level(colon + 1, size - name - 1) >= level)
        return true;
    }
    p += size;
    if (*p == ',') ++p;
  }
  return false;
}

void line(const char* module, const char* format, ...) {
  char prefix[64];
  snprintf(prefix, sizeof prefix, "wavetap[%d/%d] %s: ", sys::pid(), sys::tid(), module);
  va_list args;
  va_start(args, format);
  write_line(log_fd(), prefix, format, args);
  va_end(args);
}

void complain(const char* format, ...) {
  va_list args;
  va_start(args, format);
  write_line(2, "wavetap: ", format, args);
  va_end(args);
}

}  // namespace wavetap::log
