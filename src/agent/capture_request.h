// What `wavetap capture` asks for (format/capture_request.h), read when this library is loaded: the
// program may open its ranges before it uses the GPU.
#pragma once

#include <cstdint>
#include <string>

#include "format/launch_list.h"

namespace wavetap::agent {

struct CaptureRequest {
  std::string range;   // "": dispatches need not be in one
  std::string folder;  // "": a virtual GPU captures
  std::string kernel;
  format::LaunchList launches;
  uint64_t every = 1;
  uint64_t max = 0;
  uint64_t drain_s = 30;
};

// Reads it and prepares what must be known from the beginning. When the library is loaded.
void start_capture_request();
// Null: nothing is to be captured.
const CaptureRequest* capture_request();

}  // namespace wavetap::agent
