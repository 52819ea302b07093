#include "record/layout.h"

#include <string.h>
#include <sys/uio.h>

#include "record/sys.h"

namespace wavetap::record {

size_t copy_from_unsure(void* out, const void* from, size_t size) {
  const iovec local{out, size};
  const iovec remote{const_cast<void*>(from), size};
  const int64_t copied = sys::call(SYS_process_vm_readv, sys::pid(), &local, 1, &remote, 1, 0);
  return copied < 0 ? 0 : static_cast<size_t>(copied);
}

size_t unsure_length(const char* text, size_t limit) {
  constexpr size_t kStep = 64;
  size_t length = 0;
  while (length < limit) {
    char part[kStep];
    // Up to the next multiple of the step, so that no read crosses into a page the string does not
    // reach.
    size_t size = kStep - (reinterpret_cast<uintptr_t>(text) + length) % kStep;
    if (size > limit - length) size = limit - length;
    if (copy_from_unsure(part, text + length, size) != size) return length;
    const size_t here = strnlen(part, size);
    length += here;
    if (here < size) return length;
  }
  return limit;
}

}  // namespace wavetap::record
