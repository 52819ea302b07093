// What every HIP test program shares: error handling, checks against host-computed results, device
// buffers, a deterministic random source, and the summary that becomes the exit status.
//
// A program prints one line per check ("ok   …" or "FAIL …") and ends with `return
// check::finish();`, which is 0 only if at least one check ran and none failed. A device that lacks
// what the program needs makes it call `check::skip(reason)`: exit status 77, which ctest shows as
// "Skipped".
#pragma once

#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

// Stops the program when a HIP call that must work does not.
#define WT_HIP(call)                                                         \
  do {                                                                       \
    const hipError_t wt_error = (call);                                      \
    if (wt_error != hipSuccess) {                                            \
      std::printf("FAIL %s:%d: %s returned %s\n", __FILE__, __LINE__, #call, \
                  hipGetErrorName(wt_error));                                \
      std::fflush(stdout);                                                   \
      std::_Exit(1);                                                         \
    }                                                                        \
  } while (0)

// Checks that a HIP call returns exactly the given error, and clears the sticky one.
#define WT_HIP_RETURNS(expected, call)                                     \
  do {                                                                     \
    const hipError_t wt_error = (call);                                    \
    (void)hipGetLastError();                                               \
    check::expect(wt_error == (expected), "%s returns %s (got %s)", #call, \
                  hipGetErrorName(expected), hipGetErrorName(wt_error));   \
  } while (0)

#define WT_EXPECT(condition) check::expect((condition), "%s", #condition)

namespace check {

inline int g_passed = 0;
inline int g_failed = 0;

__attribute__((format(printf, 2, 3))) inline bool expect(bool ok, const char* format, ...) {
  std::printf(ok ? "ok   " : "FAIL ");
  va_list args;
  va_start(args, format);
  std::vprintf(format, args);
  va_end(args);
  std::printf("\n");
  std::fflush(stdout);
  ++(ok ? g_passed : g_failed);
  return ok;
}

inline int finish() {
  std::printf("%s: %d checks passed, %d failed\n", g_failed == 0 && g_passed > 0 ? "PASS" : "FAIL",
              g_passed, g_failed);
  return g_failed == 0 && g_passed > 0 ? 0 : 1;
}

[[noreturn]] inline void skip(const char* reason) {
  std::printf("SKIP: %s\n", reason);
  std::fflush(stdout);
  std::_Exit(77);
}

// SplitMix64 (Steele, Lea, Flood 2014): the same numbers on every host.
class Rng {
 public:
  explicit Rng(uint64_t seed) : state_(seed) {}

  uint64_t next64() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  uint32_t next() { return static_cast<uint32_t>(next64() >> 32); }
  uint32_t below(uint32_t limit) { return static_cast<uint32_t>((uint64_t{next()} * limit) >> 32); }
  float uniform(float low, float high) {
    return low + (high - low) * (static_cast<float>(next() >> 8) * 0x1p-24f);
  }
  double uniform64(double low, double high) {
    return low + (high - low) * (static_cast<double>(next64() >> 11) * 0x1p-53);
  }

 private:
  uint64_t state_;
};

// Device memory for `count` values; copies are synchronous.
template <class T>
class Buffer {
 public:
  explicit Buffer(size_t count) : count_(count) { WT_HIP(hipMalloc(&data_, bytes())); }
  explicit Buffer(const std::vector<T>& values) : Buffer(values.size()) { write(values); }
  ~Buffer() { (void)hipFree(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  T* get() const { return data_; }
  operator T*() const { return data_; }  // NOLINT(google-explicit-constructor): kernel arguments
  size_t count() const { return count_; }
  size_t bytes() const { return count_ * sizeof(T); }

  void write(const std::vector<T>& values) {
    WT_HIP(hipMemcpy(data_, values.data(), values.size() * sizeof(T), hipMemcpyHostToDevice));
  }
  void fill_bytes(int byte) { WT_HIP(hipMemset(data_, byte, bytes())); }
  std::vector<T> read() const {
    std::vector<T> values(count_);
    WT_HIP(hipMemcpy(values.data(), data_, bytes(), hipMemcpyDeviceToHost));
    return values;
  }

 private:
  T* data_ = nullptr;
  size_t count_;
};

// Ends a launch: both the launch itself and the kernel must have succeeded.
inline void sync() {
  WT_HIP(hipGetLastError());
  WT_HIP(hipDeviceSynchronize());
}

inline unsigned blocks_for(size_t count, unsigned block) {
  return static_cast<unsigned>((count + block - 1) / block);
}

inline hipDeviceProp_t properties() {
  int device = 0;
  WT_HIP(hipGetDevice(&device));
  hipDeviceProp_t result;
  WT_HIP(hipGetDeviceProperties(&result, device));
  return result;
}

inline int wave_size() { return properties().warpSize; }

// "gfx90a" of "gfx90a:sramecc+:xnack-".
inline std::string target() {
  const std::string full = properties().gcnArchName;
  return full.substr(0, full.find(':'));
}

template <class T>
std::string text_of(const T& value) {
  char text[80];
  if constexpr (std::is_floating_point_v<T>) {
    std::snprintf(text, sizeof text, "%.17g", static_cast<double>(value));
  } else if constexpr (std::is_integral_v<T>) {
    std::snprintf(text, sizeof text, "%lld (0x%llx)", static_cast<long long>(value),
                  static_cast<unsigned long long>(value));
  } else {
    std::snprintf(text, sizeof text, "(%zu bytes)", sizeof(T));
  }
  return text;
}

// Bit-for-bit equality: -0.0 differs from 0.0, a NaN equals the same NaN.
template <class T>
bool equal(const char* what, const std::vector<T>& got, const std::vector<T>& want) {
  if (got.size() != want.size()) {
    return expect(false, "%s: %zu values, want %zu", what, got.size(), want.size());
  }
  size_t wrong = 0;
  size_t first = 0;
  for (size_t i = got.size(); i-- > 0;) {
    if (std::memcmp(&got[i], &want[i], sizeof(T)) == 0) continue;
    ++wrong;
    first = i;
  }
  if (wrong == 0) return expect(true, "%s: %zu values equal", what, got.size());
  return expect(false, "%s: %zu of %zu differ, first [%zu] = %s, want %s", what, wrong, got.size(),
                first, text_of(got[first]).c_str(), text_of(want[first]).c_str());
}

template <class T>
bool equal(const char* what, T got, T want) {
  return equal(what, std::vector<T>{got}, std::vector<T>{want});
}

// |got - want| <= absolute + relative * |want|, and NaN or infinity only where both agree.
template <class T, class U>
bool near(const char* what, const std::vector<T>& got, const std::vector<U>& want, double relative,
          double absolute) {
  if (got.size() != want.size()) {
    return expect(false, "%s: %zu values, want %zu", what, got.size(), want.size());
  }
  size_t wrong = 0;
  size_t first = 0;
  double worst = 0;
  for (size_t i = got.size(); i-- > 0;) {
    const double g = static_cast<double>(got[i]);
    const double w = static_cast<double>(want[i]);
    const bool same_special = (std::isnan(g) && std::isnan(w)) || g == w;
    if (same_special) continue;
    const double error = std::fabs(g - w);
    if (error <= absolute + relative * std::fabs(w)) {
      worst = std::fmax(worst, error);
      continue;
    }
    ++wrong;
    first = i;
  }
  if (wrong == 0)
    return expect(true, "%s: %zu values, largest error %.3g", what, got.size(), worst);
  return expect(false, "%s: %zu of %zu beyond tolerance, first [%zu] = %.17g, want %.17g", what,
                wrong, got.size(), first, static_cast<double>(got[first]),
                static_cast<double>(want[first]));
}

}  // namespace check
