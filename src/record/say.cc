#include "record/say.h"

#include <stdarg.h>
#include <stdio.h>

#include "record/sys.h"

namespace wavetap::record {
namespace {

struct stat g_at_start;
bool g_is_known = false;

}  // namespace

void note_standard_error() { g_is_known = sys::fstat(2, &g_at_start) == 0; }

void say(const char* format, ...) {
  struct stat now {};
  // Descriptor 2 may be a data file of the program by now.
  if (!g_is_known || sys::fstat(2, &now) != 0 || now.st_ino != g_at_start.st_ino ||
      now.st_dev != g_at_start.st_dev)
    return;
  char text[1024] = "wavetap: ";
  constexpr size_t kPrefix = sizeof "wavetap: " - 1;
  va_list arguments;
  va_start(arguments, format);
  int size = vsnprintf(text + kPrefix, sizeof text - kPrefix - 1, format, arguments);
  va_end(arguments);
  if (size < 0) return;
  size_t length = kPrefix + static_cast<size_t>(size);
  if (length > sizeof text - 2) length = sizeof text - 2;
  text[length++] = '\n';
  sys::write(2, text, length);
}

}  // namespace wavetap::record
