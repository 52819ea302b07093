// Recorder: a watcher that notes every instruction of chosen waves, in order.
//
// Waves are chosen by where their workgroup would run: workgroups go round the XCCs, then round the
// compute units of each, as HW_ID tells programs and as the caches are modelled. Those of a chosen
// unit are all noted, since they compete for it. What is kept is bounded: when the limit is reached,
// the rest of each wave is counted, and nothing more.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "emu/watch.h"
#include "isa/inst.h"
#include "model/model.h"
#include "model/occupancy.h"

namespace wavetap::itrace {

// As rocprofv3 --att has it; nothing: all of them.
struct UnitChoice {
  std::optional<uint32_t> cu = 0;  // in each engine; RDNA: work-group processor
  uint64_t engines = 1;            // bit per shader engine
  uint32_t simds = 0xf;            // bit per SIMD; only what is written goes by it
  uint64_t limit = 2'000'000;      // instructions
};

// Where workgroups run.
struct UnitMap {
  uint32_t xccs = 1;
  uint32_t units_per_xcc = 1;
  uint32_t units_per_engine = 1;
  uint32_t engines_per_xcc = 1;

  struct Unit {
    uint32_t se = 0;
    uint32_t cu = 0;
    uint64_t turn = 0;  // which of the unit's workgroups it is
    friend auto operator<=>(const Unit&, const Unit&) = default;
  };
  Unit unit_of(uint64_t workgroup) const;
};
UnitMap unit_map(const model::Model& model);

// A static instruction that was seen.
struct Site {
  uint64_t pc = 0;
  uint64_t program_begin = 0;
  isa::Inst inst;
  isa::Inst second;  // of a VOPD pair
};

struct RecordedWave {
  uint64_t workgroup = 0;
  uint32_t wave_in_group = 0;
  UnitMap::Unit unit = {};
  std::vector<uint32_t> sites = {};  // by number, in the order of execution
  uint64_t lost = 0;                 // instructions behind them
};

// For one dispatch. Its workgroups may run on several threads.
class Recorder final : public emu::Watcher {
 public:
  Recorder(const UnitMap& units, const UnitChoice& choice) : units_(units), choice_(choice) {}

  emu::Wants wants(const isa::Program& program, int32_t index) noexcept override;
  void dispatch_began(const emu::Launch& launch) noexcept override;
  void workgroup_began(const emu::Workgroup& group, void*& state) noexcept override;
  void workgroup_ended(const emu::Workgroup& group, void*& state) noexcept override;
  void before(const emu::WatchPoint& at) noexcept override;

  // After the dispatch. Waves by workgroup and number.
  std::vector<RecordedWave> take_waves();
  const std::vector<Site>& sites() const { return sites_; }
  const model::KernelNeeds& needs() const { return needs_; }
  uint64_t entry() const { return entry_; }
  uint64_t waves_elsewhere() const { return elsewhere_; }

 private:
  struct Group;
  bool is_chosen(const UnitMap::Unit& unit) const;

  const UnitMap units_;
  const UnitChoice choice_;
  model::KernelNeeds needs_;
  uint64_t entry_ = 0;

  std::mutex mutex_;                      // what follows
  std::map<uint64_t, uint32_t> numbers_;  // of sites, by address
  std::vector<Site> sites_;
  std::vector<RecordedWave> waves_;
  uint64_t elsewhere_ = 0;
  std::atomic<uint64_t> kept_{0};
};

}  // namespace wavetap::itrace
