#include "base/json_line.h"

#include <cinttypes>
#include <cstdio>

#include "base/sys_files.h"

namespace wavetap {

void append_number(std::string& line, const char* key, uint64_t value) {
  char text[96];
  std::snprintf(text, sizeof text, "\"%s\":%" PRIu64 ",", key, value);
  line += text;
}

void append_text(std::string& line, const char* key, const std::string& value) {
  line += '"';
  line += key;
  line += "\":\"";
  for (const char c : value) {
    char escaped[8];
    if (c == '"' || c == '\\') {
      line += '\\';
      line += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      std::snprintf(escaped, sizeof escaped, "\\u%04x", c);
      line += escaped;
    } else {
      line += c;
    }
  }
  line += "\",";
}

void append_extent(std::string& line, const char* key, const uint64_t (&extent)[3]) {
  char text[96];
  std::snprintf(text, sizeof text, "\"%s\":[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "],", key, extent[0],
                extent[1], extent[2]);
  line += text;
}

void finish_object(std::string& line) {
  if (line.back() == ',') line.back() = '}';
  else line += '}';
}

bool append_to_file(const std::string& path, const std::string& text) {
  const int fd = sys::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT, 0600);
  if (fd < 0) return false;
  const bool written =
      sys::write(fd, text.data(), text.size()) == static_cast<int64_t>(text.size());
  sys::close(fd);
  return written;
}

}  // namespace wavetap
