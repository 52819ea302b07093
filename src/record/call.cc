#include "record/call.h"

namespace wavetap::record {

void leave_call_slowly(const OpenCall& call, uint32_t function, int32_t result, uint64_t duration,
                       const uint64_t* words, size_t count) {
  leave_call_with(call, function, result, duration, count,
                  [&](Packer& packer) { packer.put_words(words, count); });
}

void append_aside_and_leave(Stream* s, uint16_t depth) {
  s->append_aside();
  note_left(s, depth);
}

}  // namespace wavetap::record
