// Makes AMD's thunk put an allocation at an address of our choice where it has no such option.
//
// On x86-64 the thunks of ROCm 5.2 and before let mmap choose each address and refuse a fixed one. They
// ask for a piece that is larger than the allocation, take the first aligned address behind a guard page
// and give the rest back. While a SteeredMmap lives, the thunk's calls of mmap and munmap come here: the
// one that chooses an address gets the wanted one, and what was never mapped is not given back, nor the
// memory at 0 that they give back where they got none: there may be a program. Only the
// thunk's own table of imported functions is changed, in this process, and changed back.
//
// On arm64 the kernel chooses addresses that no GPU reaches. The thunk then manages a range of its own, below
// 2^40, and gives nothing outside. Memory captured on x86-64 lies outside. With a limit set before the
// thunk starts, it gets addresses as on x86-64, and does what it does there.
//
// One inside another at most; allocations of other threads meanwhile go through unchanged.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace wavetap::replay {

class SteeredMmap {
 public:
  // `thunk_function`: any function of the thunk's library.
  explicit SteeredMmap(const void* thunk_function);
  ~SteeredMmap();
  SteeredMmap(const SteeredMmap&) = delete;
  SteeredMmap& operator=(const SteeredMmap&) = delete;

  // False: the library could not be changed.
  bool works() const { return changed_.size() >= 2; }
  // The next address that the thunk has chosen in this thread, for `size_bytes`, is `address`.
  void aim(uint64_t address, uint64_t size_bytes);
  void aim_nowhere() { aim(0, 0); }
  // Other addresses that are left to the kernel end at `limit` or below, in all threads.
  void keep_below(uint64_t limit);

 private:
  std::vector<std::pair<void**, void*>> changed_;  // entry, what was in it
  bool limits_ = false;
};

// A piece at the front of [begin, end), for which `begin` is aligned as the thunk wants it: by size, up
// to 2 MiB. A range falls into few of them.
uint64_t steerable_bytes(uint64_t begin, uint64_t end);

}  // namespace wavetap::replay
