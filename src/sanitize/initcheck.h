// Initcheck: loads of what nobody has written. Registers are register_flow.h's.
//
// LDS and private memory are not cleared when a workgroup or wave starts: what is there comes from whoever
// had it before. A bit for each byte says whether the workgroup, or the lane, has stored to it. Of global
// memory the map's InitMap says the same, for as long as the program runs, and everything that writes
// marks it: kernels here, copies and fills of the GPU where they are done. What the host writes through a
// mapping nobody sees; so before a load of global memory is called wrong, the map is asked whether the
// host has touched the page, and the element whether it is still all zero, as it was handed out.
//
// An element that a lane loads is wrong when none of its bytes has been written. One that is written in part is a
// struct with padding, or several values in one load: bytes of it that nobody has written are followed
// (register_flow.h) and told of where an address or a branch depends on them. When they are stored, what they are
// stored to is undefined in turn, and followed from where it is loaded. An element is told of
// once, one of LDS once in a workgroup: it then counts as written, and a loop over it costs no more than any other.
//
// Where words are written in part, or undefined ones were stored, loads of one register and less have to be followed as
// well. That is another watcher, with code of its own: Loads::kAll, in the place of the ordinary one (is_needed()).
//
// Most memory is written whole before it is used. Once a workgroup's LDS, or an allocation, is known to be,
// its accesses are left out altogether (screen()).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "sanitize/check.h"
#include "sanitize/register_flow.h"
#include "sanitize/value_reach.h"

namespace wavetap::sanitize {

class InitCursor;  // init_map.h

class Initcheck final : public Check {
 public:
  // Which loads are followed where they bring bytes that nobody has written.
  enum class Loads : uint8_t { kOfSeveralRegisters, kAll };

  explicit Initcheck(Loads loads = Loads::kOfSeveralRegisters);
  ~Initcheck() override;

  void begin(const MemoryMap& map) noexcept override;
  bool is_needed(const MemoryMap& map, bool moves_memory) const noexcept override;
  bool keeps_state() const noexcept override { return true; }
  void set_quiet(bool is_quiet) noexcept override { is_quiet_ = is_quiet; }

  emu::Wants wants(const isa::Program& program, int32_t index) noexcept override;
  void dispatch_began(const emu::Launch& launch) noexcept override;
  void before(const emu::WatchPoint& at) noexcept override;
  void workgroup_began(const emu::Workgroup& group, void*& state) noexcept override;
  void workgroup_ended(const emu::Workgroup& group, void*& state) noexcept override;
  bool screen(const emu::WatchPoint& at, const emu::ByteSpan* span) noexcept override;
  void accessing(const emu::WatchPoint& at,
                 std::span<const emu::MemoryAccess> accesses) noexcept override;

 private:
  struct Group;

  // What of a program's registers is followed.
  struct Following {
    bool is_all = false;  // may_read_unwritten()
    FollowedLoads parts;
  };
  RegisterFlow* registers_of(const emu::WatchPoint& at) const;  // null: nothing to follow
  // Which bytes of a lane's element are undefined, a bit for each, and which of them somebody has stored.
  struct Parts {
    uint64_t undefined = 0;
    uint64_t stored = 0;
  };
  Parts parts_of(const emu::WatchPoint& at, Group& group, const emu::MemoryAccess& access,
                 int lane);
  Parts global_parts(const emu::WatchPoint& at, Group& group, const emu::MemoryAccess& access,
                     int lane);
  bool is_surely_defined(Group& group, const emu::MemoryAccess& access) const;
  // Of a row of global memory: whether all of it is undefined in the same way. False: it has to be looked at lane by lane.
  bool is_row_undefined(const emu::WatchPoint& at, Group& group, const emu::MemoryAccess& access,
                        bool* was_stored);
  void follow_parts(const emu::WatchPoint& at, Group& group, const emu::MemoryAccess& access,
                    uint64_t wrong);
  // Of a store: bytes whose value is undefined.
  void note_stored(const emu::WatchPoint& at, Group& group, const emu::MemoryAccess& access);
  InitCursor* undefined_of(Group& group) const;  // null: there are none in global memory

  // What is known of a block without looking at its bytes.
  struct Fill {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t gap = 0;                  // the first byte that was not written when last looked at
    std::atomic<bool> is_full{false};  // and stays so: what is written stays written
    std::atomic<uint64_t> asked{0};    // the last dispatch that wanted to know
  };
  // Whether there is nothing to find, and nothing to mark, in the bytes [begin, end).
  bool is_settled(uint64_t begin, uint64_t end, std::atomic<uint32_t>& hint);
  bool is_full(const Block& block, Fill& fill);
  void keep_fills();

  // Null: none that is known.
  const Block* block_of(uint64_t address) const;
  // Whether all lanes are in memory that holds something from the start, or in memory that does not;
  // false: some here, some there.
  bool is_in_one(const emu::MemoryAccess& access, bool* starts_undefined) const;
  uint64_t wrong_in_lds(const emu::WatchPoint& at, Group& group,
                        const emu::MemoryAccess& access) const;
  uint64_t wrong_in_private(const emu::WatchPoint& at, Group& group,
                            const emu::MemoryAccess& access) const;
  uint64_t wrong_in_global(const emu::WatchPoint& at, Group& group,
                           const emu::MemoryAccess& access);
  void mark(const emu::WatchPoint& at, Group& group, const emu::MemoryAccess& access);
  void mark_lds(const emu::WatchPoint& at, Group& group, const emu::MemoryAccess& access);
  void note(Kind kind, const emu::WatchPoint& at, const emu::MemoryAccess& access, uint64_t lanes);

  const Loads loads_;
  const MemoryMap* map_ = nullptr;
  uint64_t epoch_ = 0;
  std::vector<Block> blocks_;                 // of that epoch
  std::vector<std::unique_ptr<Fill>> fills_;  // of each of them
  uint64_t dispatch_ = 0;                     // counts them
  // Where an instruction was last, as in memcheck.h.
  static constexpr size_t kHints = 256;
  std::array<std::atomic<uint32_t>, kHints> hints_ = {};
  bool is_quiet_ = false;
  uint32_t first_scalars_ = 0;  // that waves of this dispatch find written
  std::mutex mutex_;
  std::vector<std::unique_ptr<Group>> idle_;
  Following follows_;     // in the program that wants() is asked about
  FindingTable ignored_;  // what there is to find in a dispatch that nobody asks about
};

}  // namespace wavetap::sanitize
