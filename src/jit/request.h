// The request that names a place of lowered code to the backend.
#pragma once

#include <cstdint>
#include <vector>

#include "emu/lower.h"
#include "jit/backend.h"

namespace wavetap::jit {

class Request {
 public:
  // `code` stays alive for as long.
  Request(const emu::LoweredCode& code, int32_t first, bool is_verified);

  const BlockRequest& get() const { return request_; }

 private:
  std::vector<uint8_t> is_ordinary_;
  std::vector<uint8_t> ends_turn_;
  BlockRequest request_{};
};

}  // namespace wavetap::jit
