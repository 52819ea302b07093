// Workgroup: the waves of one workgroup while it is resident, and the storage behind them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "emu/counters.h"
#include "emu/watch_state.h"
#include "emu/wave.h"

namespace wavetap::emu {

// Bytes aligned for vector registers and LDS. Grows, never shrinks; contents are lost on growth.
class AlignedBytes {
 public:
  AlignedBytes() = default;
  AlignedBytes(const AlignedBytes&) = delete;
  AlignedBytes& operator=(const AlignedBytes&) = delete;
  ~AlignedBytes();

  // At least `size_bytes` bytes, aligned to 64; null when the host has none left.
  std::byte* reserve(size_t size_bytes);
  size_t capacity() const { return capacity_; }

 private:
  std::byte* data_ = nullptr;
  size_t capacity_ = 0;
};

// One resident workgroup. Its waves run on one host thread at a time, so nothing here is atomic.
struct Workgroup {
  const Dispatch* dispatch = nullptr;
  uint32_t id[3] = {0, 0, 0};
  uint64_t linear_id = 0;        // x fastest; what HW_ID and XCC_ID are derived from
  uint32_t size[3] = {1, 1, 1};  // work-items that exist; smaller than asked at the grid's edge
  std::byte* lds = nullptr;
  uint32_t lds_bytes = 0;

  // Waves in the order they are scheduled; wave_in_group names each.
  std::vector<Wave> waves;
  uint32_t unfinished = 0;
  // s_sendmsg(MSG_INTERRUPT) was executed: the engine tells the host once the slice is over.
  bool interrupt_requested = false;
  Counters counters;
  Watch watch;  // its waves point here when the dispatch is counted or watched

  AlignedBytes registers;
  AlignedBytes lds_storage;
  AlignedBytes scratch;

  size_t storage_bytes() const {
    return registers.capacity() + lds_storage.capacity() + scratch.capacity() +
           waves.capacity() * sizeof(Wave);
  }
};

}  // namespace wavetap::emu
