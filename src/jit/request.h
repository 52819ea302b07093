// The request that names a place of lowered code to the backend.
#pragma once

#include <cstdint>
#include <vector>

#include "emu/lower.h"
#include "jit/backend.h"
#include "jit/liveness.h"

namespace wavetap::jit {

class Request {
 public:
  // `code` and `liveness` stay alive for as long. Without the latter all registers are as handlers
  // leave them, wherever the block ends.
  Request(const emu::LoweredCode& code, int32_t first, bool is_verified,
          const Liveness* liveness = nullptr);

  const BlockRequest& get() const { return request_; }

 private:
  std::vector<uint8_t> is_ordinary_;
  std::vector<uint8_t> ends_turn_;
  BlockRequest request_{};
};

}  // namespace wavetap::jit
