// Watchers: what tools learn from a dispatch while it runs.
//
// A Watcher goes to the engine with a dispatch (Dispatch::watchers). When code is lowered for that
// dispatch, each watcher is asked once per static instruction what it wants to hear (wants()). The
// instructions that somebody named get a Step that tells them, all others the Step they always
// have. A dispatch that nobody watches runs other lowered code, without a trace of this: not
// watching costs nothing.
//
//   dispatch_began
//     workgroup_began, wave_began…             all waves of a workgroup begin together
//       before             the instruction is about to run
//       uses_registers     which registers it will read and write, which lanes and bytes of them
//       screen             where it will access memory, roughly; to be left out of what follows
//       accessing          where it will access memory; nothing has moved yet
//       accessed           the same accesses, and the data has moved
//       after              the instruction has run
//       barrier_reached, barrier_passed
//     wave_ended…, workgroup_ended
//   dispatch_ended
//
// Whatever began ends, after a fault or a cancelled dispatch too. An instruction that faults is
// followed by after() with the wave in state kFaulted, and no accessed().
//
// Threads. Workgroups run on several threads at once. Everything about one workgroup comes from one
// thread at a time, each turn seeing what the last one left: what a watcher keeps per workgroup
// (WatchPoint::state) needs no lock, what it keeps per dispatch does.
//
// Slices. before(), uses_registers(), screen(), accessing(), accessed() and after() run inside a slice, under
// the adapter's guard: when guest memory turns out to be gone from the host, the slice is left by
// siglongjmp, from inside the callback if that is what touched the memory. So a callback holds no
// lock, owns no heap memory and is in the middle of nothing while it touches guest memory
// (read_memory(), Memory::lookup() and what it points at). Apart from that it may lock and allocate
// like any code. All other callbacks run outside slices, with no lock of the engine held, except that
// wants() must not wait for another thread that may want code.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>

#include "base/gpu_addr.h"
#include "emu/access.h"
#include "emu/register_use.h"
#include "isa/inst.h"
#include "isa/program.h"

namespace wavetap::emu {

struct DispatchResult;  // dispatch.h
struct Launch;          // launch.h
struct Wave;
struct Workgroup;

// Watchers of one dispatch.
inline constexpr size_t kMaxWatchers = 8;

// What a watcher wants to hear about one static instruction.
struct Wants {
  bool before = false;
  bool uses_registers = false;
  bool accessing = false;
  bool accessed = false;
  bool after = false;
  // Of accessing(): screen() is asked first, each time, and may answer that it need not be told.
  bool screens = false;
  // Of screens: what stays inside the LDS that the dispatch asked for need not be told, and screen() is
  // not asked about it where nobody else listens.
  bool leaves_out_lds = false;
  // Of accessing(): where lanes access rows (MemoryAccess::relation), the addresses of each group's first
  // lane are enough; the others then mean nothing, and WholeAccess has them.
  bool rows_suffice = false;
  // Handed back in WatchPoint::tag: the watcher's own number or pointer for this instruction.
  uintptr_t tag = 0;

  bool any() const { return before || uses_registers || accessing || accessed || after; }
};

// Where a wave is.
struct WatchPoint {
  Wave& wave;
  const isa::Inst& inst;
  GpuAddr pc;
  uintptr_t tag;  // from Wants
  void*& state;   // this watcher's own pointer in the workgroup; null until it sets it
};

class Watcher {
 public:
  Watcher();
  virtual ~Watcher() = default;
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  // Of this watcher alone, never used again.
  uint64_t id() const { return id_; }

  // Held by who asks wants(), from a program's first instruction to its last.
  std::mutex& asking() { return asking_; }

  // Asked when instruction `index` of `program` is lowered, on any thread, once for as long as the
  // lowered code is kept: later dispatches with the same watchers share it. Answers therefore must
  // not depend on the dispatch. Asked again when other code has come to lie at an address. The
  // second half of a VOPD pair belongs to the first and is not asked about.
  //
  // Questions about a program come in one go, from instruction 0 on, and nobody asks this watcher
  // anything else meanwhile: what wants() alone uses needs no lock, and what it works out at
  // instruction 0 is good for the rest. A Program's address says nothing, another one may have been
  // there before. Waves may meanwhile run what was lowered earlier, also at the same addresses: what
  // a tag that was handed out points at does not change.
  virtual Wants wants(const isa::Program& program, int32_t index) noexcept = 0;

  // `launch` lives until dispatch_ended(). A dispatch refused before it began (bad descriptor) is
  // not told of at all.
  virtual void dispatch_began(const Launch& launch) noexcept {}
  virtual void dispatch_ended(const Launch& launch, const DispatchResult& result) noexcept {}

  virtual void workgroup_began(const Workgroup& group, void*& state) noexcept {}
  virtual void wave_began(const Wave& wave, void*& state) noexcept {}
  // wave.state: kFinished, kFaulted, or what it was in when the dispatch was abandoned.
  virtual void wave_ended(const Wave& wave, void*& state) noexcept {}
  // Whether those two are called, asked when a workgroup begins: two calls for each wave are much beside kernels of
  // a dozen instructions.
  virtual bool hears_waves() const noexcept { return true; }
  virtual void workgroup_ended(const Workgroup& group, void*& state) noexcept {}

  // Whether barrier_reached() is called, asked when a workgroup begins. When nobody has to be told, waves
  // that meet at barriers again and again run much faster.
  virtual bool hears_barriers() const noexcept { return false; }
  // A wave waits at s_barrier; all that have not ended do, and go on.
  virtual void barrier_reached(const Wave& wave, GpuAddr pc, void*& state) noexcept {}
  virtual void barrier_passed(const Workgroup& group, void*& state) noexcept {}

  // May stop the wave with wave.raise(): the instruction then does not run.
  virtual void before(const WatchPoint& at) noexcept {}
  virtual void uses_registers(const WatchPoint& at, std::span<const RegisterUse> uses) noexcept {}
  // Whether accessing() has to be told of this execution. `span`: where it will access memory; null when
  // that is not known. Many instructions then run as if nobody watched. Not asked where the instruction
  // has watchers who want more than accessing().
  virtual bool screen(const WatchPoint& at, const ByteSpan* span) noexcept { return true; }
  virtual void accessing(const WatchPoint& at, std::span<const MemoryAccess> accesses) noexcept {}
  virtual void accessed(const WatchPoint& at, std::span<const MemoryAccess> accesses) noexcept {}
  virtual void after(const WatchPoint& at) noexcept {}

 private:
  uint64_t id_;
  std::mutex asking_;
};

}  // namespace wavetap::emu
