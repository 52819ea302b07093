// What the host programs share: output that survives any way of dying, and HIP calls that are
// counted.
//
// Output is one write(2) per line, so nothing is printed twice by a forked child or lost by _exit.
// A program says how many calls it made with `host::report()`:
//
//   process
//   calls hipMalloc 3
//
// once per process that uses HIP; tests/host/run.py compares the sums with the trace.
#pragma once

#include <hip/hip_runtime_api.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace host {

__attribute__((format(printf, 1, 2))) inline void say(const char* format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  int length = std::vsnprintf(line, sizeof line - 1, format, arguments);
  va_end(arguments);
  if (length > static_cast<int>(sizeof line) - 2) length = sizeof line - 2;
  line[length++] = '\n';
  (void)!write(STDOUT_FILENO, line, static_cast<size_t>(length));
}

struct Counted {
  std::atomic<const char*> name{nullptr};
  std::atomic<uint64_t> calls{0};
};
inline Counted g_counted[32];

inline void count(const char* name) {
  for (Counted& entry : g_counted) {
    const char* present = entry.name.load();
    if (present == nullptr && entry.name.compare_exchange_strong(present, name)) present = name;
    if (std::strcmp(present, name) != 0) continue;
    entry.calls.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  say("more functions than host::g_counted holds");
  _exit(99);
}

// A forked child counts from zero.
inline void forget_calls() {
  for (Counted& entry : g_counted) entry.calls = 0;
}

inline void report() {
  say("process");
  for (const Counted& entry : g_counted) {
    if (entry.name != nullptr && entry.calls != 0) {
      say("calls %s %llu", entry.name.load(), static_cast<unsigned long long>(entry.calls.load()));
    }
  }
}

inline hipError_t counted(const char* name, hipError_t result) {
  count(name);
  if (result != hipSuccess) say("%s returned %d", name, static_cast<int>(result));
  return result;
}

#define CALL(function, ...) host::counted(#function, function(__VA_ARGS__))

// Allocates, fills, copies back and frees; says whether the device did it.
inline bool use_device(int value) {
  constexpr size_t kBytes = 1 << 12;
  unsigned char back[kBytes] = {};
  void* memory = nullptr;
  if (CALL(hipMalloc, &memory, kBytes) != hipSuccess) return false;
  CALL(hipMemset, memory, value, kBytes);
  CALL(hipMemcpy, back, memory, kBytes, hipMemcpyDeviceToHost);
  CALL(hipFree, memory);
  for (const unsigned char byte : back) {
    if (byte != static_cast<unsigned char>(value)) return false;
  }
  return true;
}

}  // namespace host
