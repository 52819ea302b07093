// The file that `wavetap capture` makes: whether it may, and what the program left becomes it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace wavetap::cli {

// What the user asks `wavetap capture` for.
struct CaptureOptions {
  std::vector<std::string> gpus;
  std::string kernel;
  std::string launches;
  std::string range;
  uint64_t every = 0;
  uint64_t max = 0;
  std::string output = "kernel.wtcap";
  uint32_t drain = 30;
  bool append = false;
  bool force = false;
  bool only_touched = false;
  bool redact = false;
  uint32_t threads = 0;
  std::vector<std::string> gpu_options;
  bool real = false;      // through the recorder's queue, virtual GPU or not
  bool is_other = false;  // a command below this one was meant
};

// Files are neither replaced nor mixed unless the user says so.
Status check_capture_output(const CaptureOptions& options);
// The folder the program writes to: beside the output, since memory of a GPU may not fit elsewhere.
Result<std::string> make_capture_folder(const std::string& output);
// Makes one file of what the program left. The exit code to use instead of the program's, or kDone.
int finish_capture(const CaptureOptions& options, const std::string& folder);

}  // namespace wavetap::cli
