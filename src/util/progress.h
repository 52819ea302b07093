#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace wavetap::util {

// One line on stderr that says how far a long command is; only when stderr is a terminal, and only
// after half a second, so that quick commands and logs stay clean. One thread.
class Progress {
 public:
  Progress(std::string what, size_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `done` of `total` items are finished; `item` is being worked on.
  void update(size_t done, const std::string& item);

 private:
  std::string what_;
  size_t total_;
  bool enabled_;
  bool shown_ = false;
  int64_t started_ns_;
  int64_t printed_ns_ = 0;
};

}  // namespace wavetap::util
