// Where generations of HIP differ in what a program can write or see.
#pragma once

#include "check.h"

namespace check {

// Where the memory of a pointer is; HIP 6 renamed the field.
inline hipMemoryType memory_type(const hipPointerAttribute_t& attributes) {
#if HIP_VERSION_MAJOR >= 6
  return attributes.type;
#else
  return attributes.memoryType;
#endif
}

// Whether HIP says that a pointer is none of its own: by an error, from HIP 6 on by its type.
inline bool is_unknown(const void* pointer) {
  hipPointerAttribute_t attributes;
  const hipError_t error = hipPointerGetAttributes(&attributes, pointer);
  (void)hipGetLastError();
#if HIP_VERSION_MAJOR >= 6
  return error == hipSuccess && attributes.type == hipMemoryTypeUnregistered;
#else
  return error == hipErrorInvalidValue;
#endif
}

// The end of a program whose kernel must have faulted. ROCr up to 6 has ended the process by now;
// with ROCr 7 some faults are errors of the call that waits. To get here without one is the
// failure.
inline int after_fault(hipError_t error, const char* what) {
  if (error == hipSuccess) {
    std::printf("FAIL the program went on after %s\n", what);
    return 1;
  }
  std::printf("HIP reports %s after %s\n", hipGetErrorName(error), what);
  return 0;
}

}  // namespace check
