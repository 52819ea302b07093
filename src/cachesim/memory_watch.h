// MemoryWatch: a watcher that runs a dispatch's memory accesses through modelled caches and LDS.
//
// While the kernel runs, each wave's accesses are kept, packed (access_stream.h). When as many
// workgroups have run as the GPU holds at once, their waves take turns, one memory instruction each,
// through the caches of the compute units they would be on. Workgroups go round the XCCs, then round
// the compute units of each. The result depends on the addresses alone, not on the host's threads.
//
// Which instructions run how often is counted beside it, and how often waves had to wait for memory.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "cachesim/access_stream.h"
#include "cachesim/counters.h"
#include "cachesim/geometry.h"
#include "cachesim/memory_system.h"
#include "cachesim/sites.h"
#include "emu/watch.h"
#include "model/model.h"

namespace wavetap::cachesim {

// For one dispatch at a time. Use it again: lowered code belongs to it.
class MemoryWatch final : public emu::Watcher {
 public:
  explicit MemoryWatch(const model::Model& model, Start start = Start::kCold);
  ~MemoryWatch() override;

  // Of the dispatch that has ended last.
  const MemoryResult& result() const { return result_; }

  emu::Wants wants(const isa::Program& program, int32_t index) noexcept override;
  void dispatch_began(const emu::Launch& launch) noexcept override;
  void dispatch_ended(const emu::Launch& launch,
                      const emu::DispatchResult& result) noexcept override;
  void workgroup_began(const emu::Workgroup& group, void*& state) noexcept override;
  void workgroup_ended(const emu::Workgroup& group, void*& state) noexcept override;
  void wave_ended(const emu::Wave& wave, void*& state) noexcept override;
  void before(const emu::WatchPoint& at) noexcept override;
  void accessing(const emu::WatchPoint& at,
                 std::span<const emu::MemoryAccess> accesses) noexcept override;

 private:
  struct Group;     // the streams of a workgroup
  struct Recorder;  // counts of one workgroup at a time

  void record(Recorder& recorder, const emu::WatchPoint& at, const emu::MemoryAccess& access);
  void record_scratch(Recorder& recorder, const emu::WatchPoint& at,
                      const emu::MemoryAccess& access);
  void record_vector(Recorder& recorder, const emu::WatchPoint& at, const emu::MemoryAccess& access,
                     const uint64_t* address, uint32_t size_bytes);
  using Waiting = std::map<uint64_t, std::unique_ptr<Group>>;  // by number of the workgroup
  void note_ready(Waiting::const_iterator at);
  bool is_batch_ready() const;
  // The workgroups that go next; none: not yet. With `all`, gaps are not waited for.
  std::vector<std::unique_ptr<Group>> take_batch(bool all);
  // Runs the workgroups that may go now; with `all`, all that there are. `simulating_` is held.
  void simulate(bool all);
  void run_batch(std::vector<std::unique_ptr<Group>>& batch);
  void count_instructions(const emu::Launch& launch);

  const model::Model model_;
  const Geometry geometry_;
  Sites sites_;

  // Of the dispatch.
  uint32_t batch_groups_ = 1;
  uint64_t scratch_bytes_ = 0;  // of a wave
  uint32_t waves_per_group_ = 1;
  MemoryResult result_;

  std::mutex mutex_;  // what follows
  Waiting waiting_;
  uint64_t next_ = 0;       // workgroups below have been simulated
  uint64_t ready_end_ = 0;  // those from next_ to here wait, without a gap
  size_t ready_bytes_ = 0;  // of their streams
  std::vector<std::unique_ptr<Recorder>> recorders_;
  std::vector<Recorder*> idle_recorders_;
  std::vector<std::unique_ptr<Group>> idle_groups_;

  std::mutex simulating_;  // what follows; taken before mutex_
  MemorySystem system_;
  MemoryCounters counters_;
  std::vector<SiteCounts> misses_;  // by site
};

}  // namespace wavetap::cachesim
