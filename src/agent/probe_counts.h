// CountTables of one GPU: memory of its own in which kernels count (format/probe_ring.h), and as much of the host's,
// to which the last wave of a dispatch copies its table. Allocated and cleared once; a table that comes
// back is clear again, because that wave clears it.
#pragma once

#include <cstdint>
#include <vector>

#include "agent/recording.h"
#include "format/probe_ring.h"

namespace wavetap::agent {

class CountTables {
 public:
  // False: the runtime gives no memory for it.
  bool open(uint64_t agent);

  // Any thread: fills in `launch`. False: no room for so many sites.
  bool take(uint32_t sites, format::ProbeLaunch* launch);
  void put_back(const format::ProbeLaunch& launch);

  // What a dispatch counted. `by_copy`: it has not ended and never will, so that the table is fetched from
  // the GPU; false: it does not answer.
  bool read(const format::ProbeLaunch& launch, bool by_copy,
            std::vector<format::ProbeCount>* counts);

  void unlock_after_fork() { new (&lock_) LockWord; }

 private:
  static constexpr uint64_t kBytes = uint64_t{16} << 20;
  static constexpr uint64_t kPageBytes = 4096;
  static constexpr uint64_t kPages = kBytes / kPageBytes;

  static uint64_t pages_of(uint32_t sites) {
    return ((uint64_t{sites} + 1) * sizeof(format::ProbeCount) + kPageBytes - 1) / kPageBytes;
  }
  bool copy(void* to, uint64_t to_agent, const void* from, uint64_t from_agent, uint64_t bytes);

  uint64_t agent_ = 0;
  uint64_t host_ = 0;
  uint64_t signal_ = 0;
  std::byte* tables_ = nullptr;   // the GPU's
  std::byte* results_ = nullptr;  // the host's
  LockWord lock_;
  bool is_used_[kPages] = {};
  uint64_t next_ = 0;
};

}  // namespace wavetap::agent
