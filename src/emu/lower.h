// Lowering: from a decoded Program to the table the interpreter walks.
//
// One Step per instruction: the function to call and what to call it with. Everything that is known
// before running is decided here, once: which specialised handler fits the operands, and whether
// the instruction may run at all. An instruction that does not decode, has no semantics, or names a
// register the wave does not have gets a handler that raises the fault, so the loop and the
// handlers need no checks. One extra Step at the end catches a wave that runs off the Program.
//
// Code lowered for watchers (watch.h) is the same but for the instructions they asked for: those get
// a Step that tells them and then calls the handler, which is kept in a table of its own.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "emu/count.h"
#include "emu/exec.h"
#include "emu/watch_state.h"
#include "isa/program.h"

namespace wavetap::emu {

struct Step {
  Handler run = nullptr;
  const isa::Inst* inst = nullptr;

  // `run` may be replaced by compiled code at any time.
  Handler load() const { return __atomic_load_n(&run, __ATOMIC_RELAXED); }
};

// How many registers the waves have that will run the code.
struct RegisterLimits {
  uint32_t vgprs = 256;
  uint32_t agprs = 0;
  // Where both are in one file: how far a VGPR's number may reach, into the AGPRs. Else 0.
  uint32_t file_vgprs = 0;

  bool operator==(const RegisterLimits&) const = default;
};

// What lowered code depends on besides the instructions: another one is another variant.
struct Lowering {
  RegisterLimits registers;
  bool sram_ecc = false;                             // Dispatch::sram_ecc
  bool counts_heat = false;                          // for a Compiler (compiler.h)
  std::array<uint64_t, kMaxWatchers> watchers = {};  // Watcher::id() of those who are asked

  bool operator==(const Lowering&) const = default;
};

struct RowRange {
  uint32_t begin;
  uint32_t end;
};

class LoweredCode : public std::enable_shared_from_this<LoweredCode> {
 public:
  // `watchers` are those that `lowering` names.
  LoweredCode(std::shared_ptr<const isa::Program> program, const Lowering& lowering,
              std::span<Watcher* const> watchers = {});

  const isa::Program& program() const { return *program_; }
  const Step* steps() const { return steps_.data(); }
  // What each instruction is lowered to, whatever stands in steps(): compiled code, the end of a turn.
  const Handler* handlers() const { return handlers_.data(); }
  const StepCount* counts() const { return counts_.data(); }
  const WatchedStep* watched() const { return watched_.empty() ? nullptr : watched_.data(); }
  const Lowering& lowering() const { return lowering_; }
  Shape shape() const { return {program_->target(), program_->wave64(), lowering_.sram_ecc}; }
  std::atomic<uint32_t>* heat() const { return heat_.get(); }
  // Whether waves wait for each other before it: lds_reuse.h.
  bool ends_turn(int32_t index) const {
    const auto at = static_cast<size_t>(index);
    return at < turn_ends_.size() && turn_ends_[at] != 0;
  }

  // From now on `compiled` runs when a wave comes to `index`; `owner` keeps it alive. Any thread.
  void publish(int32_t index, Handler compiled, std::shared_ptr<const void> owner) const;
  bool is_published(int32_t index) const;

  // Vector registers that waves which start at the first instruction with all lanes on may read before they
  // have written them, in ranges: the others need not be cleared. Null: nobody has said so.
  const std::vector<RowRange>* rows_read_at_start() const {
    // Pairs with say_rows_read_at_start().
    return rows_read_at_start_.load(std::memory_order_acquire);
  }
  // Any thread, the first time counts.
  void say_rows_read_at_start(std::vector<RowRange> ranges) const;

  // What the tables take, the Program's apart.
  size_t memory_bytes() const {
    return sizeof *this + steps_.capacity() * (sizeof(Step) + sizeof(Handler)) +
           (heat_ == nullptr ? 0 : steps_.size() * sizeof(uint32_t)) +
           counts_.capacity() * sizeof(StepCount) + turn_ends_.capacity() +
           watched_.capacity() * sizeof(WatchedStep) + tags_.capacity() * sizeof(uintptr_t);
  }

 private:
  void ask(std::span<Watcher* const> watchers);

  std::shared_ptr<const isa::Program> program_;
  Lowering lowering_;
  std::vector<uint8_t> turn_ends_;  // by instruction; empty: nowhere
  mutable std::vector<Step> steps_;
  std::vector<Handler> handlers_;
  std::unique_ptr<std::atomic<uint32_t>[]> heat_;  // only when asked for
  mutable std::mutex published_mutex_;
  struct Published {
    int32_t index;
    std::shared_ptr<const void> owner;
  };
  mutable std::vector<Published> published_;
  mutable std::unique_ptr<const std::vector<RowRange>> said_rows_read_;
  mutable std::atomic<const std::vector<RowRange>*> rows_read_at_start_{nullptr};
  std::vector<StepCount> counts_;
  // Only with watchers.
  std::vector<WatchedStep> watched_;
  std::vector<uintptr_t> tags_;  // by instruction, then watcher
  isa::Inst end_;                // what the last Step is called with
};

// The wave goes on at instruction `index` of `code`.
void enter(Wave& wave, const LoweredCode& code, int32_t index);

}  // namespace wavetap::emu
