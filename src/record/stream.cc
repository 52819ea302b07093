// What a signal handler records while the thread is in the middle of a record: kept aside, appended by
// whoever commits that record. Handlers may be interrupted by handlers, so there are a few places; a
// record larger than a place, or one too many, is lost and counted.
#include "record/stream.h"

#include <string.h>

#include "record/losses.h"
#include "record/sys.h"

namespace wavetap::record {

struct Stream::Aside {
  enum class State : uint8_t { kFree, kReserved, kFilled };
  static constexpr size_t kPlaces = 8;
  static constexpr size_t kMaxBytes = 1008;
  struct Place {
    State state;
    format::Kind kind;
    uint8_t flags;
    uint32_t bytes;
    alignas(8) char record[kMaxBytes];
  };
  Place places[kPlaces];
};

void* Stream::reserve_aside(size_t bytes) {
  if (aside_ == nullptr) {
    char* const fresh =
        sys::map(sizeof(Aside), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    // A handler inside this one may have been faster; the page it did not get is not missed.
    if (aside_ == nullptr) aside_ = reinterpret_cast<Aside*>(fresh);
  }
  if (aside_ != nullptr && bytes <= Aside::kMaxBytes) {
    for (Aside::Place& place : aside_->places) {
      if (place.state != Aside::State::kFree) continue;
      place.state = Aside::State::kReserved;
      std::atomic_signal_fence(std::memory_order_seq_cst);
      place.bytes = static_cast<uint32_t>(bytes);
      memset(place.record, 0, bytes);
      return place.record;
    }
  }
  count_loss(format::Loss::kOther);
  return nullptr;
}

void Stream::shorten_aside(const void* record, size_t bytes) {
  for (Aside::Place& place : aside_->places)
    if (place.record == record) place.bytes = static_cast<uint32_t>(bytes);
}

void Stream::commit_aside(void* record, format::Kind kind, uint8_t flags) {
  for (Aside::Place& place : aside_->places) {
    if (place.record != record) continue;
    place.kind = kind;
    place.flags = flags;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    place.state = Aside::State::kFilled;
    ++aside_ready_;
  }
}

void Stream::append_aside() {
  for (Aside::Place& place : aside_->places) {
    if (place.state != Aside::State::kFilled) continue;
    --aside_ready_;
    void* const record = reserve_bytes(place.bytes);
    if (record != nullptr) {
      memcpy(static_cast<char*>(record) + sizeof(format::RecordHeader),
             place.record + sizeof(format::RecordHeader),
             place.bytes - sizeof(format::RecordHeader));
      const format::Kind kind = place.kind;
      const uint8_t flags = place.flags;
      place.state = Aside::State::kFree;
      commit(record, kind, flags);
    } else {
      place.state = Aside::State::kFree;
    }
  }
}

}  // namespace wavetap::record
