// TestMachine: one wave, a little memory, and no engine around them, for tests of instruction
// handlers.
//
//   TestMachine machine({.target = {10, 3, 0}, .wave64 = false});
//   machine.set_v(1, {1.0f, 2.0f});             // lanes 0 and 1; the rest keep their value
//   machine.run("v_add_f32 v0, v1, v1");
//   EXPECT_EQ(machine.v(0, 1), bits(4.0f));
//
// Link wt_emu_testing. The code is assembled, decoded and lowered exactly as the engine does it.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "emu/compiler.h"
#include "emu/lower.h"
#include "emu/testing/assembler.h"
#include "emu/wave.h"
#include "emu/workgroup.h"

namespace wavetap::emu {

// Guest memory made of host buffers.
class TestMemory final : public Memory {
 public:
  // Maps `size_bytes` zeroed bytes at `begin`.
  std::byte* map(uint64_t begin, size_t size_bytes, bool writable = true, bool executable = false) {
    buffers_.push_back(std::make_unique<std::vector<std::byte>>(size_bytes));
    return map_host(begin, std::span(*buffers_.back()), writable, executable);
  }
  // Maps bytes that the caller owns.
  std::byte* map_host(uint64_t begin, std::span<std::byte> host, bool writable, bool executable) {
    ranges_.push_back({begin, begin + host.size(), host.data(), true, writable, executable});
    return host.data();
  }
  void unmap(uint64_t begin) {
    std::erase_if(ranges_, [&](const MappedRange& range) { return range.begin == begin; });
    epoch_.fetch_add(1, std::memory_order_release);
  }

  MappedRange lookup(GpuAddr address) noexcept override {
    for (const MappedRange& range : ranges_)
      if (range.contains(address.value, 1)) return range;
    return {};
  }

  template <class T>
  T read(uint64_t address) {
    T value{};
    const MappedRange range = lookup({address});
    if (range.contains(address, sizeof(T)))
      std::memcpy(&value, range.host + (address - range.begin), sizeof(T));
    return value;
  }
  template <class T>
  void write(uint64_t address, const T& value) {
    const MappedRange range = lookup({address});
    if (range.contains(address, sizeof(T)))
      std::memcpy(range.host + (address - range.begin), &value, sizeof(T));
  }

 private:
  std::vector<std::unique_ptr<std::vector<std::byte>>> buffers_;
  std::vector<MappedRange> ranges_;
};

class TestMachine {
 public:
  struct Options {
    amd::GfxTarget target{9, 0, 10};
    bool wave64 = true;
    uint32_t vgprs = 256;
    uint32_t agprs = 256;
    uint32_t lds_bytes = 65536;
    uint32_t scratch_bytes_per_lane = 256;
    bool count = false;
    bool sram_ecc = false;
  };
  // A mapped, writable page range for loads and stores.
  static constexpr uint64_t kData = 0x10000;
  static constexpr size_t kDataBytes = 0x10000;
  // Where code that is run appears to be.
  static constexpr uint64_t kCode = 0x7000000;

  TestMachine() : TestMachine(Options{}) {}
  explicit TestMachine(const Options& options)
      : options_(options),
        registers_(kCompiledStateBytes / 4 + size_t{(options.vgprs + options.agprs)} * 64 + 16),
        lds_(options.lds_bytes),
        scratch_(size_t{options.scratch_bytes_per_lane} * 64) {
    memory.map(kData, kDataBytes);
    dispatch.target = options.target;
    dispatch.memory = &memory;
    dispatch.count = options.count;
    dispatch.sram_ecc = options.sram_ecc;
    group.dispatch = &dispatch;
    group.lds = lds_.data();
    group.lds_bytes = options.lds_bytes;
    wave.lanes = options.wave64 ? 64 : 32;
    // Vector registers are aligned to 64 bytes, as the engine aligns them.
    void* at = registers_.data();
    size_t space = registers_.size() * sizeof(uint32_t);
    wave.compiled_state = static_cast<std::byte*>(std::align(64, 4, at, space));
    wave.v = reinterpret_cast<uint32_t*>(wave.compiled_state + kCompiledStateBytes);
    forget_compiled_state(wave.compiled_state);
    wave.a = wave.vrow(options.vgprs);
    wave.vgpr_count = options.vgprs;
    wave.agpr_count = options.agprs;
    wave.workgroup = &group;
    wave.lds = lds_.data();
    wave.lds_bytes = options.lds_bytes;
    wave.scratch = scratch_.data();
    wave.scratch_bytes_per_lane = options.scratch_bytes_per_lane;
    wave.dispatch = &dispatch;
    wave.tlb = &tlb_;
    if (options.count) group.watch.counters = &counters;
    wave.watch = options.count ? &group.watch : nullptr;
    wave.notes_accesses = options.count;
    wave.s[isa::slot::kSharedBase + 1] = static_cast<uint32_t>(kSharedAperture >> 32);
    wave.s[isa::slot::kPrivateBase + 1] = static_cast<uint32_t>(kPrivateAperture >> 32);
    wave.set_s64(isa::slot::kFlatScratchLo, kScratchVa);
    set_exec(wave.full_exec());
  }
  TestMachine(const TestMachine&) = delete;
  TestMachine& operator=(const TestMachine&) = delete;

  // Assembles and runs `text` until its end, s_endpgm, a fault or `limit` instructions. False, and
  // no state change, when it does not assemble.
  bool run(const std::string& text, int limit = 100000) {
    return run_code(assemble(text, options_.target, options_.wave64), limit);
  }
  bool run_code(std::span<const std::byte> code, int limit = 100000) {
    if (code.empty()) return false;
    return run_program(std::make_shared<const isa::Program>(
                           isa::decode(code, GpuAddr{kCode}, options_.target, options_.wave64)),
                       limit);
  }
  bool run_program(std::shared_ptr<const isa::Program> program, int limit = 100000) {
    code_.push_back(std::make_unique<LoweredCode>(std::move(program), lowering(), watchers_));
    return run_loaded(code_.back().get(), limit);
  }
  // The two halves of run(), for code that is run many times. Null when it does not assemble.
  const LoweredCode* load(const std::string& text) {
    return load_code(assemble(text, options_.target, options_.wave64));
  }
  const LoweredCode* load_code(std::span<const std::byte> code) {
    if (code.empty()) return nullptr;
    code_.push_back(
        std::make_unique<LoweredCode>(std::make_shared<const isa::Program>(isa::decode(
                                          code, GpuAddr{kCode}, options_.target, options_.wave64)),
                                      lowering(), watchers_));
    return code_.back().get();
  }
  bool run_loaded(const LoweredCode* code, int limit = 100000) {
    if (code == nullptr) return false;
    const LoweredCode& lowered = *code;
    enter(wave, lowered, 0);
    wave.state = WaveState::kRunning;
    wave.fault = {};
    while (wave.pc < lowered.program().size() && limit-- > 0) {
      wave.budget = 1;
      const Step& step = wave.steps[wave.pc++];
      step.run(wave, *step.inst);
      if (wave.state == WaveState::kYielded || wave.state == WaveState::kAtBarrier)
        wave.state = WaveState::kRunning;
      if (wave.state == WaveState::kLeftCode) {
        const int32_t index = wave.program->index_of({wave.jump_pc});
        if (index < 0) break;
        wave.pc = index;
        wave.state = WaveState::kRunning;
      }
      if (wave.state != WaveState::kRunning) break;
    }
    return true;
  }

  // What runs from now on is told to `watcher`.
  void watch(Watcher& watcher) {
    watchers_.push_back(&watcher);
    dispatch.watchers = group.watch.watchers = watchers_;
    if (group.watch.kept == nullptr) group.watch.kept = std::make_unique<KeptAccesses>();
    wave.watch = &group.watch;
  }
  void unwatch(const Watcher& watcher) {
    std::erase(watchers_, &watcher);
    dispatch.watchers = group.watch.watchers = watchers_;
  }

  bool faulted() const { return wave.state == WaveState::kFaulted; }

  // --- Registers.
  uint32_t v(uint32_t reg, int lane = 0) { return wave.vrow(reg)[lane]; }
  uint64_t v64(uint32_t reg, int lane = 0) {
    return v(reg, lane) | uint64_t{v(reg + 1, lane)} << 32;
  }
  uint32_t a(uint32_t reg, int lane = 0) { return wave.arow(reg)[lane]; }
  uint32_t s(uint32_t at) const { return wave.s[at]; }
  uint64_t s64(uint32_t at) const { return wave.s64(at); }
  void set_v(uint32_t reg, int lane, uint32_t value) { wave.vrow(reg)[lane] = value; }
  void set_v64(uint32_t reg, int lane, uint64_t value) {
    set_v(reg, lane, static_cast<uint32_t>(value));
    set_v(reg + 1, lane, static_cast<uint32_t>(value >> 32));
  }
  void set_a(uint32_t reg, int lane, uint32_t value) { wave.arow(reg)[lane] = value; }
  // First lanes of a register; the others keep their value.
  template <class T>
  requires(sizeof(T) == 4) void set_v(uint32_t reg, std::initializer_list<T> values) {
    int lane = 0;
    for (const T value : values) set_v(reg, lane++, std::bit_cast<uint32_t>(value));
  }
  void fill_v(uint32_t reg, uint32_t value) {
    for (int lane = 0; lane < wave.lanes; ++lane) set_v(reg, lane, value);
  }
  void set_s(uint32_t at, uint32_t value) { wave.s[at] = value; }
  void set_s64(uint32_t at, uint64_t value) { wave.set_s64(at, value); }
  void set_exec(uint64_t mask) { wave.set_s64(isa::slot::kExecLo, mask & wave.full_exec()); }
  void set_vcc(uint64_t mask) { wave.set_s64(isa::slot::kVccLo, mask); }

  TestMemory memory;
  Dispatch dispatch;
  Workgroup group;
  Counters counters;
  Wave wave;

 private:
  Lowering lowering() const {
    Lowering lowering{.registers = {options_.vgprs, options_.agprs}, .sram_ecc = options_.sram_ecc};
    for (size_t i = 0; i < watchers_.size(); ++i) lowering.watchers[i] = watchers_[i]->id();
    return lowering;
  }

  Options options_;
  std::vector<Watcher*> watchers_;
  std::vector<uint32_t> registers_;
  std::vector<std::byte> lds_;
  std::vector<std::byte> scratch_;
  Tlb tlb_;
  std::vector<std::unique_ptr<LoweredCode>> code_;
};

inline uint32_t bits(float value) { return std::bit_cast<uint32_t>(value); }
inline uint64_t bits(double value) { return std::bit_cast<uint64_t>(value); }

}  // namespace wavetap::emu
