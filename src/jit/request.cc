#include "jit/request.h"

#include <algorithm>

namespace wavetap::jit {

Request::Request(const emu::LoweredCode& code, int32_t first, bool is_verified,
                 const Liveness* liveness) {
  const isa::Program& program = code.program();
  const int32_t known = std::min(program.size() - first, kLongestBlock);
  // What lowering refused raises a fault.
  for (int32_t i = first; i < first + known; ++i) {
    const emu::Handler own = emu::find_handler(program.insts()[i], code.shape());
    is_ordinary_.push_back(own != nullptr && code.handlers()[i] == own ? 1 : 0);
    ends_turn_.push_back(code.ends_turn(i) ? 1 : 0);
  }
  request_ = {.insts = program.insts(),
              .size = program.size(),
              .first = first,
              .is_ordinary = is_ordinary_.data(),
              .ends_turn = ends_turn_.data(),
              .live = liveness == nullptr ? nullptr : liveness->from(first).data(),
              .known = known,
              .wave64 = program.wave64(),
              .is_verified = is_verified};
}

}  // namespace wavetap::jit
