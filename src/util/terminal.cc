#include "util/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace wavetap::util {

size_t output_columns(int fd) {
  winsize size{};
  if (isatty(fd) == 0 || ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return std::clamp<size_t>(size.ws_col, 60, 200);
}

bool wants_colour(int fd) {
  const char* no_colour = std::getenv("NO_COLOR");
  if (no_colour != nullptr && *no_colour != '\0') return false;
  const char* terminal = std::getenv("TERM");
  return isatty(fd) != 0 && terminal != nullptr && std::strcmp(terminal, "dumb") != 0;
}

std::string styled(std::string_view text, Style style, bool enabled) {
  if (!enabled) return std::string(text);
  const char* start = "";
  switch (style) {
    case Style::kBold: start = "\x1b[1m"; break;
    case Style::kDim: start = "\x1b[2m"; break;
    case Style::kRed: start = "\x1b[31m"; break;
    case Style::kGreen: start = "\x1b[32m"; break;
    case Style::kYellow: start = "\x1b[33m"; break;
  }
  return std::string(start).append(text).append("\x1b[0m");
}

}  // namespace wavetap::util
