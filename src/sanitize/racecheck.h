// Racecheck: a watcher that looks for two accesses to the same byte, at least one of them a write,
// by different waves and with nothing between them that orders them. LDS and global memory.
//
// Time. The lanes of a wave share its program order, so each wave has a clock, and every access is
// remembered with the clock of its wave (race_record.h, race_shadow.h). A barrier closes the clocks of
// its workgroup. Where a dispatch has nothing but barriers, that is all: workgroups are not ordered with
// each other at all, and what is found does not depend on the order in which they happened to run.
// Where it has atomics that return a value, uncached loads or ds_gws_barrier, waves also learn from what
// they read (race_order.h).
//
// What is no race: atomics with atomics; a store of the value that is there already; two lanes of a wave
// in different instructions. An atomic beside a plain access is a warning in global memory, where a
// plain store may have been an atomic one in the source, but an error where it is a load whose value matters
// (value_reach.h), and an error in LDS unless the atomic is a compare-and-swap or an exchange, as locks are made
// of.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "isa/wait_counters.h"
#include "sanitize/check.h"
#include "sanitize/race_order.h"
#include "sanitize/race_shadow.h"

namespace wavetap::sanitize {

class Racecheck final : public Check {
 public:
  Racecheck();
  ~Racecheck() override;

  void begin(const MemoryMap& map) noexcept override { map_ = &map; }

  emu::Wants wants(const isa::Program& program, int32_t index) noexcept override;
  void dispatch_began(const emu::Launch& launch) noexcept override;
  void dispatch_ended(const emu::Launch& launch,
                      const emu::DispatchResult& result) noexcept override;
  void workgroup_began(const emu::Workgroup& group, void*& state) noexcept override;
  void workgroup_ended(const emu::Workgroup& group, void*& state) noexcept override;
  void barrier_passed(const emu::Workgroup& group, void*& state) noexcept override;
  void before(const emu::WatchPoint& at) noexcept override;
  bool screen(const emu::WatchPoint& at, const emu::ByteSpan* span) noexcept override;
  void accessing(const emu::WatchPoint& at,
                 std::span<const emu::MemoryAccess> accesses) noexcept override;
  void accessed(const emu::WatchPoint& at,
                std::span<const emu::MemoryAccess> accesses) noexcept override;
  void after(const emu::WatchPoint& at) noexcept override;

  // The most that shadow memory has taken in a dispatch.
  bool depends_on_order() const noexcept override {
    return groups_synchronise_ || waves_synchronise_;
  }
  uint64_t most_shadow_bytes() const noexcept override { return most_shadow_bytes_; }

 private:
  struct Group;

  // An instruction that accesses memory or orders accesses, as the code says it.
  struct SiteFacts {
    enum class Role : uint8_t { kAccess, kFlag, kWait, kGridBarrier, kInvalidate };

    GpuAddr pc;
    Role role = Role::kAccess;
    bool is_lock = false;  // compare-and-swap or exchange
    // What it empties, and what there is to empty.
    uint8_t caches = 0;
    uint8_t all_caches = 0;
    bool waits_for_stores = false;
    bool watches_waits = false;
    isa::WaitEffect effect;

    bool operator==(const SiteFacts&) const = default;
  };
  struct Site : SiteFacts {
    explicit Site(const SiteFacts& facts) : SiteFacts(facts) {}

    // Its number in the dispatch that runs, see number_of().
    std::atomic<uint64_t> numbered{0};
    emu::Access access{};
    uint32_t size_bytes = 0;

    bool is_flag_load() const { return role == Role::kFlag && access == emu::Access::kLoad; }
  };

  Site* site_of(const SiteFacts& facts);
  uint32_t number_of(Site& site, const emu::MemoryAccess& access);
  Accessor accessor(const Group& group, const emu::WatchPoint& at, Deed deed,
                    uint32_t number) const;
  void check_rows_or_lanes(const emu::WatchPoint& at, Group& group, Site& site,
                           const emu::MemoryAccess& access, Deed deed);
  // A relation: the access is one of whole words, in rows. Else each lane has its address.
  void check_access(const emu::WatchPoint& at, Group& group, Site& site,
                    const emu::MemoryAccess& access, Deed deed);
  // Nearly all accesses to LDS are simple (ShadowWords::take()). False: this one is not.
  bool take_lds(Group& group, const emu::WatchPoint& at, Site& site,
                const emu::MemoryAccess& access, Deed deed);
  void check_lds(Group& group, const emu::MemoryAccess& access, const Accessor& me,
                 Conflicts& conflicts);
  void check_global(Group& group, const emu::MemoryAccess& access, const Accessor& me,
                    Conflicts& conflicts);
  // For screen(): of a scalar load that has been noted.
  void remember_read(Group& group, const Site& site, const emu::MemoryAccess& access);
  // A flag in LDS may be read and stored without an order, but not before it holds anything.
  void check_first_stores(Group& group, const emu::MemoryAccess& access, const Accessor& me,
                          Conflicts& conflicts);
  // For what the last barrier did not wait for.
  void leave_out_late(Group& group, bool is_lds, Accessor& me);
  void let_go(Group& group, const emu::WatchPoint& at, const emu::MemoryAccess& access);
  // The wave has read, as flags, what others left there.
  void learn_in_lds(Group& group, uint32_t number, const emu::MemoryAccess& access);
  void learn_from_others(Group& group, uint32_t number, const emu::MemoryAccess& access,
                         const Accessor& me);
  void report(const emu::WatchPoint& at, const emu::MemoryAccess& access, const Accessor& me,
              const Conflicts& conflicts);
  void report_pair(const emu::WatchPoint& at, const emu::MemoryAccess& access, Deed deed,
                   const Partner& with, uint64_t lanes, int first_lane);
  void report_stale(const emu::WatchPoint& at, const emu::MemoryAccess& access, const Partner& with,
                    uint64_t lanes, int first_lane);
  void report_collisions(const emu::WatchPoint& at, const emu::MemoryAccess& access,
                         const Accessor& me);
  uint64_t lanes_that_change(const emu::Wave& wave, const emu::MemoryAccess& access,
                             uint64_t lanes);
  bool read_matters(GpuAddr pc, bool is_group);
  Place place_of(const emu::Wave& wave, const Partner& with) const;

  const MemoryMap* map_ = nullptr;
  const emu::Launch* launch_ = nullptr;
  uint64_t dispatch_ = 0;            // counts them
  bool groups_synchronise_ = false;  // in this dispatch
  bool waves_synchronise_ = false;   // likewise, other than by barriers
  bool loads_lds_flags_ = false;     // likewise
  uint64_t most_shadow_bytes_ = 0;
  // How often this dispatch may still wait for a store that another thread has announced.
  std::atomic<int> patience_{0};

  ShadowMap shadow_;
  RaceOrder order_;
  // For wants() alone. By address; several where other code lies now, or functions overlap.
  std::unordered_multimap<uint64_t, std::unique_ptr<Site>> sites_;
  bool program_orders_ = false;         // orders_workgroups() of the program it is asked about
  bool program_watches_waits_ = false;  // may_pass_barriers_early(), likewise
  std::mutex mutex_;                    // for what follows
  std::vector<Site*> numbered_;         // of this dispatch
  std::vector<std::unique_ptr<Group>> idle_;
  struct Matters {
    uint64_t dispatch = 0;  // other code may be there in the next
    bool does = false;
  };
  std::unordered_map<uint64_t, Matters> matters_;  // value_matters(), by address
};

}  // namespace wavetap::sanitize
