// What a session is told about dispatches, and what it asks of the place it runs in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "probe/code.h"
#include "wavetap/handler.h"

namespace wavetap::probe {

// What the hook that probes a dispatch knows about it.
struct DispatchFacts {
  std::string kernel;
  std::string gpu_model;
  uint32_t gpu = 0;
  uint32_t queue = 0;
  uint32_t line_bytes = 64;
  bool wave64 = true;
  std::vector<std::byte> kernarg;  // a copy
};

// Where a session runs: who keeps results and knows about memory and source. Called on any thread.
class Surroundings {
 public:
  virtual ~Surroundings() = default;
  // `dispatch`: wavetap_dispatch::id, 0 for the session.
  virtual void result(const char* handler, uint64_t dispatch, std::string_view json) noexcept = 0;
  virtual bool write(const char* handler, const char* suffix, std::string_view bytes) noexcept = 0;
  virtual void lose(const char* handler, uint64_t count) noexcept = 0;
  virtual uint32_t source(const Code& code, uint32_t site, uint32_t frame,
                          wavetap_source* out) noexcept = 0;
  virtual bool buffer(uint32_t gpu, uint64_t address, wavetap_buffer* out) noexcept = 0;
};

}  // namespace wavetap::probe
