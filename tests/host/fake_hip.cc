// A stand-in for libamdhip64 with the same soname: a few functions of the HIP API that need no GPU,
// take nanoseconds, and behave in the ways a recorder must survive. Exact counts, crashes and
// benchmarks use it.
//
// Built more than once with different FAKE_VERSION, so that a program can tell which copy answered.
#include <hip/hip_runtime_api.h>
#include <unistd.h>

#include <atomic>

#ifndef FAKE_VERSION
#define FAKE_VERSION 1
#endif

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {
std::atomic<uint64_t> g_received{0};  // calls of hipMalloc and hipFree
}

// How many calls of hipMalloc and hipFree arrived here.
EXPORT uint64_t fake_received() { return g_received.load(); }

EXPORT hipError_t hipRuntimeGetVersion(int* version) {
  *version = FAKE_VERSION;
  return hipSuccess;
}

EXPORT hipError_t hipGetDevice(int* device) {
  *device = 0;
  return hipSuccess;
}

EXPORT hipError_t hipGetDeviceCount(int* count) {
  *count = 1;
  return hipSuccess;
}

EXPORT hipError_t hipMemAdvise(const void*, size_t, hipMemoryAdvise, int) { return hipSuccess; }

// The address is made from the size, so that a reader of the trace can see that both belong
// together.
EXPORT hipError_t hipMalloc(void** pointer, size_t size) {
  g_received.fetch_add(1, std::memory_order_relaxed);
  *pointer = reinterpret_cast<void*>(size * 2 + 0x100);
  return hipSuccess;
}

EXPORT hipError_t hipFree(void*) {
  g_received.fetch_add(1, std::memory_order_relaxed);
  return hipSuccess;
}

EXPORT hipError_t hipMemcpy(void*, const void*, size_t, hipMemcpyKind) { return hipSuccess; }
EXPORT hipError_t hipMemcpyAsync(void*, const void*, size_t, hipMemcpyKind, hipStream_t) {
  return hipSuccess;
}
EXPORT hipError_t hipMemset(void*, int, size_t) { return hipSuccess; }
EXPORT hipError_t hipDeviceSynchronize() { return hipSuccess; }

// A function of the runtime that calls another through its public name.
EXPORT hipError_t hipMemcpyWithStream(void* to, const void* from, size_t bytes, hipMemcpyKind kind,
                                      hipStream_t stream) {
  return hipMemcpyAsync(to, from, bytes, kind, stream);
}

// Calls back at once, on the caller's thread.
EXPORT hipError_t hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t callback, void* data,
                                       unsigned) {
  callback(stream, hipSuccess, data);
  return hipSuccess;
}

// Never returns: the thread must be cancelled, or the process die.
EXPORT hipError_t hipStreamSynchronize(hipStream_t) {
  for (;;) pause();
}
