// HIP with its failures collected: the first one is kept, and later calls do nothing.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "doctor/trial/hip_runtime.h"
#include "doctor/trial/trials.h"

namespace wavetap::doctor::trial {

class Session {
 public:
  // Starts HIP on the first device.
  Session();

  bool good() const { return error_.empty() && skip_.empty(); }
  Verdict verdict() const { return skip_.empty() ? failed(error_) : skipped(skip_); }
  bool call(const char* what, int error);

  void* device_memory(size_t bytes);
  void* host_memory(size_t bytes, unsigned flags);
  void copy(void* to, const void* from, size_t bytes, int direction);
  template <class T>
  void* upload(const std::vector<T>& values) {
    void* pointer = device_memory(values.size() * sizeof(T));
    copy(pointer, values.data(), values.size() * sizeof(T), kHostToDevice);
    return pointer;
  }
  template <class T>
  std::vector<T> download(void* pointer, size_t count) {
    std::vector<T> values(count);
    copy(values.data(), pointer, count * sizeof(T), kDeviceToHost);
    return values;
  }

  // Code for the device as HIP names it: with an override in force that is the other chip's.
  void load();
  void use_module(void* module) { module_ = module; }
  // Launches, and waits for the end.
  void launch(const char* kernel, unsigned groups, unsigned group_size,
              std::vector<void*> arguments);
  // Launches only.
  void start(const char* kernel, unsigned groups, unsigned group_size,
             std::vector<void*> arguments);
  // HIP's error, which is not kept: whether there is such a kernel.
  int find(const char* kernel, void** function) const {
    return hip_api().module_get_function(function, module_, kernel);
  }
  const std::string& arch() const { return arch_; }

 private:
  void* module_ = nullptr;
  std::string arch_;
  std::string error_;
  std::string skip_;
};

// Holds what came back against what the host computes. `what` says what was tried.
template <class T>
Verdict compare(Session& session, const std::vector<T>& got,
                const std::function<T(size_t)>& expected, const std::string& what) {
  if (!session.good()) return session.verdict();
  size_t wrong = 0, first = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const T want = expected(i);
    const bool same = std::is_floating_point_v<T>
                          ? std::abs(static_cast<double>(got[i]) - static_cast<double>(want)) <=
                                1e-3 * (1 + std::abs(static_cast<double>(want)))
                          : got[i] == want;
    if (!same && wrong++ == 0) first = i;
  }
  if (wrong == 0) return passed(what);
  return failed(fmt::format("{}: {} of {} values are wrong, the first at {}: {} instead of {}",
                            what, wrong, got.size(), first, got[first], expected(first)));
}

}  // namespace wavetap::doctor::trial
