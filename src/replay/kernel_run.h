// KernelRun: one kernel of a code object in an address space of its own, run by the engine without a
// driver, a runtime or a GPU. Code and data lie at the same addresses in every run.
//
//   auto run = KernelRun::load(*object, *kernel);
//   (*run)->place(arguments, shape);
//   const RunResult result = (*run)->run({.watchers = watchers});
//   if (result.fault) … (*run)->describe(*result.fault)
//   (*run)->argument_bytes(2) …
//
// run() may be called again; restore() first gives the kernel the memory it began with.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/gpu_addr.h"
#include "base/result.h"
#include "codeobj/code_object.h"
#include "emu/dispatch.h"
#include "emu/engine_options.h"
#include "replay/guest_memory.h"
#include "replay/kernarg.h"
#include "replay/kernel_argument.h"

namespace wavetap::replay {

struct RunOptions {
  emu::EngineOptions engine;
  std::span<emu::Watcher* const> watchers = {};
  bool count = true;  // what the dispatch does; then nothing is compiled
};

struct RunResult {
  std::optional<emu::Fault> fault;
  emu::Counters counters;
  double seconds = 0;  // of the host
};

class KernelRun {
 public:
  // `object`, and `kernel` in it, outlive the run.
  static Result<std::unique_ptr<KernelRun>> load(const codeobj::CodeObject& object,
                                                 const codeobj::Kernel& kernel);

  // Once, before run(): the visible arguments, in order, and everything else that a kernel finds in
  // memory (hidden arguments, packet, queue). shape.queue is filled in here.
  Status place(std::vector<KernelArgument> arguments, DispatchShape shape);

  RunResult run(const RunOptions& options);

  // Puts code, arguments and buffers back to what they were before the first run.
  Status restore();

  const codeobj::CodeObject& object() const { return object_; }
  const codeobj::Kernel& kernel() const { return kernel_; }
  GuestMemory& memory() { return memory_; }
  GpuAddr image() const { return image_; }  // linked address 0 of the code object
  const std::vector<KernelArgument>& arguments() const { return arguments_; }

  // Where argument `index` (from 0) lies; 0 when it is not a buffer.
  GpuAddr buffer(size_t index) const {
    return index < buffers_.size() ? buffers_[index] : GpuAddr();
  }
  // What a buffer holds now; empty when argument `index` (from 0) is none.
  std::span<const std::byte> argument_bytes(size_t index);

  // What an address is near to: "byte 12 of argument 3", "no buffer near it".
  std::string name_address(GpuAddr address) const;
  // A fault in one sentence: what, where in memory, which wave, which instruction.
  std::string describe(const emu::Fault& fault);

 private:
  KernelRun(const codeobj::CodeObject& object, const codeobj::Kernel& kernel)
      : object_(object), kernel_(kernel) {}
  Status load_image();
  // Buffers and kernarg, into memory that is allocated.
  Status write_arguments();
  void place_packet();
  void place_queue();

  const codeobj::CodeObject& object_;
  const codeobj::Kernel& kernel_;
  GuestMemory memory_;
  GpuAddr image_;
  uint64_t image_bytes_ = 0;
  std::vector<KernelArgument> arguments_;
  std::vector<GpuAddr> buffers_;  // by argument; 0 for values
  DispatchShape shape_;
  uint64_t kernarg_bytes_ = 0;
  emu::Dispatch dispatch_;
};

}  // namespace wavetap::replay
