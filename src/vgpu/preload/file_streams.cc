// Interposed calls that open a stdio stream.
#include <stdio.h>
#include <string.h>

#include <atomic>
#include <cstdlib>

#include "vgpu/preload/front.h"

namespace wavetap::vgpu::front {
namespace {

// rocminfo 5.x asks `lsmod | grep amdgpu` whether the driver is loaded. Containers often have no
// lsmod, and where there is one it reports the host's modules.
bool rewrite_lsmod(const char* command, char* out, size_t size) {
  const char* root = tree_root();
  if (root == nullptr || command == nullptr) return false;
  while (*command == ' ') ++command;
  if (::strncmp(command, "lsmod", 5) != 0 ||
      (command[5] != ' ' && command[5] != '|' && command[5] != '\0'))
    return false;
  const int length = ::snprintf(out, size, "cat '%s/proc/modules'%s", root, command + 5);
  return length > 0 && static_cast<size_t>(length) < size && ::strchr(root, '\'') == nullptr;
}

}  // namespace
}  // namespace wavetap::vgpu::front

using namespace wavetap::vgpu;         // NOLINT: the functions below are libc's
using namespace wavetap::vgpu::front;  // NOLINT

WT_EXPORT FILE* fopen(const char* path, const char* mode) {
  PathBuffer buffer;
  const char* ours = redirect(path, buffer);
  return WT_NEXT(fopen)(ours == nullptr ? path : ours, mode);
}
WT_EXPORT FILE* fopen64(const char* path, const char* mode) {
  PathBuffer buffer;
  const char* ours = redirect(path, buffer);
  return WT_NEXT(fopen64)(ours == nullptr ? path : ours, mode);
}
WT_EXPORT FILE* freopen(const char* path, const char* mode, FILE* stream) {
  PathBuffer buffer;
  const char* ours = redirect(path, buffer);
  return WT_NEXT(freopen)(ours == nullptr ? path : ours, mode, stream);
}
WT_EXPORT FILE* freopen64(const char* path, const char* mode, FILE* stream) {
  PathBuffer buffer;
  const char* ours = redirect(path, buffer);
  return WT_NEXT(freopen64)(ours == nullptr ? path : ours, mode, stream);
}
WT_EXPORT FILE* popen(const char* command, const char* mode) {
  PathBuffer buffer;
  const bool rewritten = rewrite_lsmod(command, buffer.text, sizeof buffer.text);
  return WT_NEXT(popen)(rewritten ? buffer.text : command, mode);
}
