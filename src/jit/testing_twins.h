// Twins: the same code on the same state, once by its handlers and once compiled.
//
// Test-only; tests of this folder include testing.h, the fuzzer, which has no GoogleTest, this.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "emu/interpreter.h"
#include "emu/lower.h"
#include "emu/testing/machine.h"
#include "jit/native/compile.h"
#include "jit/request.h"
#include "jit/verify.h"

namespace wavetap::jit {

// What registers are filled with.
enum class Bits : uint8_t {
  kAny,      // bits that arithmetic finds difficult, and random ones; few NaNs
  kNans,     // the same, and many of all kinds
  kNumbers,  // no NaN, as singles or doubles
  kHalves,   // no NaN, as halves either
  kEdges,  // halves, and in part singles, of which any two or three may meet: zeros, infinities, NaNs, the smallest, the largest
  kTame,   // positive and of ordinary size, as halves, singles and doubles
  kSmall,  // integers below 64
};

inline uint32_t interesting_bits(std::mt19937& random, Bits kind) {
  static constexpr uint32_t kBits[] = {0,          0x80000000, 1,          0x80000001, 0x007fffff,
                                       0x00800000, 0x3f800000, 0xbf800000, 0x7f7fffff, 0xff7fffff,
                                       0x3f000000, 0x4b000000, 0xcb000001, 0x7fffffff, 0xffffffff,
                                       31,         32,         33,         63,         64,
                                       0x40490fdb, 0x33800000, 0x7f800000, 0xff800000, 0x00010000,
                                       0x7c00fc00, 0x80000400, 0x3c00bc00, 0x7bff0001, 0x43800000};
  static constexpr uint32_t kNans[] = {0x7fc00000, 0xffc00001, 0x7f800001, 0xffbfffff, 0x7e017c01};
  static constexpr uint16_t kHalfEdges[] = {0,      0x8000, 1,      0x8001, 0x03ff, 0x0400,
                                            0x3c00, 0xbc00, 0x7bff, 0xfbff, 0x7c00, 0xfc00,
                                            0x7e00, 0xfe1f, 0x7c01, 0xfc1f};
  static constexpr uint32_t kEdges[] = {0,          0x80000000, 1,          0x807fffff,
                                        0x00800000, 0x3f800000, 0xbf800000, 0x7f7fffff,
                                        0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001,
                                        0x7f800001, 0xffbfffff, 0x38800000, 0x477fe000};
  const uint32_t choice = random();
  if (kind == Bits::kEdges) {
    if (choice % 4 == 0) return kEdges[choice / 4 % std::size(kEdges)];
    return kHalfEdges[choice / 4 % std::size(kHalfEdges)] |
           uint32_t{kHalfEdges[choice / 64 % std::size(kHalfEdges)]} << 16;
  }
  if (kind == Bits::kSmall) return choice % 64;
  if (kind == Bits::kTame) return 0x38003800 + (choice % 0xc00 | (choice >> 12) % 0xc00 << 16);
  if (kind == Bits::kNans && choice % 16 == 0) return kNans[choice / 16 % std::size(kNans)];
  uint32_t bits = choice % 3 == 0 ? kBits[choice / 16 % std::size(kBits)] : random();
  // Floats of ordinary size, so that sums do not overflow all the time.
  if (choice % 3 == 1) bits = (bits & 0x807fffff) | (0x3f000000 + (bits >> 4 & 0x03000000));
  if (kind == Bits::kAny || kind == Bits::kNans) return bits;
  const bool is_infinite = (bits & 0x7fffffff) == 0x7f800000;
  if ((bits & 0x7f800000) == 0x7f800000 && !is_infinite) bits &= 0xff7fffff;
  if (kind == Bits::kHalves) {
    if ((bits & 0x7c00) == 0x7c00) bits &= 0xfffffc00;
    if ((bits & 0x7c000000) == 0x7c000000) bits &= 0xfc00ffff;
  }
  return bits;
}

// Reads what differs from one moment to the next.
inline bool is_different_each_time(const std::string& name) {
  return name == "s_memtime" || name == "s_memrealtime" || name == "s_getreg_b32" ||
         name.starts_with("s_sendmsg_rtn");
}

class Twins {
 public:
  // An object file of the block.
  using Compile = std::vector<std::byte> (*)(const BlockRequest& request, const Plan& plan);

  Twins(const emu::TestMachine::Options& options, Compile compile)
      : plain(options), native(options), compile_(compile) {}

  // Fills registers of both with the same values. A sweep asks for those of a few seeds again and again.
  void fill(uint32_t seed, bool with_nans) { fill(seed, with_nans ? Bits::kNans : Bits::kAny); }
  void fill(uint32_t seed, Bits kind) {
    constexpr size_t kMostKept = 64;
    if (filled_.size() == kMostKept) filled_.clear();
    const auto [found, is_new] = filled_.try_emplace({seed, kind});
    Filled& filled = found->second;
    emu::Wave& wave = plain.wave;
    const size_t vgprs = size_t{wave.vgpr_count} * wave.lanes;
    const size_t agprs = size_t{wave.agpr_count} * wave.lanes;
    if (is_new) filled = random_registers(seed, kind, vgprs, agprs);
    std::copy(filled.s.begin(), filled.s.end(), wave.s);
    wave.s[isa::slot::kVccLo] = filled.vcc[0];
    wave.s[isa::slot::kVccHi] = filled.vcc[1];
    wave.scc = filled.scc;
    std::copy(filled.v.begin(), filled.v.end(), wave.v);
    std::copy(filled.a.begin(), filled.a.end(), wave.a);
    plain.set_exec(filled.exec);
    copy_state();
  }
  void copy_state() {
    emu::Wave& from = plain.wave;
    emu::Wave& to = native.wave;
    std::memcpy(to.s, from.s, sizeof to.s);
    to.scc = from.scc;
    to.mode = from.mode;
    to.turn_ends_left = from.turn_ends_left;
    to.has_ended_turn = from.has_ended_turn;
    to.has_others = from.has_others;
    std::memcpy(to.v, from.v, size_t{4} * from.vgpr_count * from.lanes);
    std::memcpy(to.a, from.a, size_t{4} * from.agpr_count * from.lanes);
  }
  // The same bits into memory, LDS and scratch of both.
  void fill_memory(uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<uint32_t> words(emu::TestMachine::kDataBytes / 4);
    for (uint32_t& word : words) word = interesting_bits(random, Bits::kNans);
    for (emu::TestMachine* machine : {&plain, &native}) {
      emu::Wave& wave = machine->wave;
      std::memcpy(wave.lds, words.data(), wave.lds_bytes);
      std::memcpy(wave.scratch, words.data() + 7, scratch_bytes(wave));
      std::memcpy(machine->memory.lookup({emu::TestMachine::kData}).host, words.data(),
                  emu::TestMachine::kDataBytes);
    }
  }

  // Runs `code` on both, compiled at `places`; false when it does not assemble or nothing
  // of it is compiled.
  bool run(std::span<const std::byte> code, int64_t budget = 100000,
           std::vector<int32_t> places = {0}) {
    const emu::LoweredCode* first = plain.load_code(code);
    const emu::LoweredCode* second = native.load_code(code);
    if (first == nullptr || second == nullptr) return false;
    bool any = false;
    for (const int32_t place : places) any |= publish(*second, place);
    run_loaded(*first, *second, budget);
    return any;
  }
  void run_loaded(const emu::LoweredCode& first, const emu::LoweredCode& second,
                  int64_t budget = 100000) {
    start(plain.wave, first, budget);
    start(native.wave, second, budget);
  }
  // Both go on where their turn or slice ended.
  void go_on(int64_t budget) {
    for (emu::Wave* wave : {&plain.wave, &native.wave}) {
      wave->state = emu::WaveState::kRunning;
      wave->fault = {};
      wave->budget = budget;
      emu::run_slice(*wave);
    }
  }
  bool run(const std::string& text, int64_t budget = 100000, std::vector<int32_t> places = {0}) {
    return run(emu::assemble(text, plain.dispatch.target, plain.wave.lanes == 64), budget, places);
  }

  bool publish(const emu::LoweredCode& code, int32_t place, const Liveness* liveness = nullptr) {
    const std::shared_ptr<NativeCode> made = make(code, place, /*is_verified=*/false, liveness);
    if (made != nullptr) code.publish(place, reinterpret_cast<emu::Handler>(made->entry()), made);
    return made != nullptr;
  }
  // With handlers beside it that do the same and are compared.
  bool publish_verified(const emu::LoweredCode& code, int32_t place) {
    const std::shared_ptr<NativeCode> made = make(code, place, /*is_verified=*/true, nullptr);
    if (made == nullptr) return false;
    const isa::Inst& inst = code.program().insts()[place];
    const emu::Handler both = verified(inst, reinterpret_cast<emu::Handler>(made->entry()));
    code.publish(place, both, std::shared_ptr<const void>(made.get(), [made, &inst](const void*) {
                   forget_verified(inst);
                 }));
    return true;
  }

  static std::string differs(const std::string& what, uint64_t x, uint64_t y) {
    char text[160];
    std::snprintf(text, sizeof text, "%s: 0x%llx interpreted, 0x%llx compiled", what.c_str(),
                  static_cast<unsigned long long>(x), static_cast<unsigned long long>(y));
    return text;
  }
  // What is different; empty: nothing.
  std::string difference() {
    const std::string outside = difference_outside();
    return outside.empty() ? difference_of_registers() : outside;
  }
  // Of everything but registers.
  std::string difference_outside() {
    const emu::Wave& a = plain.wave;
    const emu::Wave& b = native.wave;
    if (a.state != b.state) return differs("state", uint64_t(a.state), uint64_t(b.state));
    if (a.pc != b.pc) return differs("pc", uint64_t(a.pc), uint64_t(b.pc));
    if (a.executed != b.executed) return differs("executed", a.executed, b.executed);
    if (a.turn_ends_left != b.turn_ends_left)
      return differs("turn ends", a.turn_ends_left, b.turn_ends_left);
    if (a.has_ended_turn != b.has_ended_turn)
      return differs("ended turn", a.has_ended_turn, b.has_ended_turn);
    if (a.mode != b.mode || a.vgpr_index != b.vgpr_index || a.gpr_index_mode != b.gpr_index_mode ||
        a.mode_rest != b.mode_rest || a.trap_status != b.trap_status)
      return "MODE";
    if (std::memcmp(a.lds, b.lds, a.lds_bytes) != 0) return "LDS";
    if (std::memcmp(a.scratch, b.scratch, scratch_bytes(a)) != 0) return "scratch";
    const GpuAddr data{emu::TestMachine::kData};
    if (std::memcmp(plain.memory.lookup(data).host, native.memory.lookup(data).host,
                    emu::TestMachine::kDataBytes) != 0)
      return "memory";
    if (a.fault.kind != b.fault.kind)
      return differs("kind of fault", uint64_t(a.fault.kind), uint64_t(b.fault.kind));
    if (a.fault.pc.value != b.fault.pc.value)
      return differs("fault", a.fault.pc.value, b.fault.pc.value);
    if (a.fault.address.value != b.fault.address.value)
      return differs("fault address", a.fault.address.value, b.fault.address.value);
    if (a.fault.lane != b.fault.lane)
      return differs("fault lane", uint64_t(a.fault.lane), uint64_t(b.fault.lane));
    return {};
  }

  std::string difference_of_registers() const {
    const emu::Wave& a = plain.wave;
    const emu::Wave& b = native.wave;
    if (a.scc != b.scc) return differs("scc", a.scc, b.scc);
    for (uint32_t at = 0; at < isa::slot::kCount; ++at)
      if (a.s[at] != b.s[at]) return differs("s" + std::to_string(at), a.s[at], b.s[at]);
    for (uint32_t i = 0; i < a.vgpr_count * a.lanes; ++i) {
      if (a.v[i] == b.v[i]) continue;
      const std::string lane = std::to_string(i % a.lanes);
      const std::string name = "v" + std::to_string(i / a.lanes) + "[" + lane + "]";
      return differs(name, a.v[i], b.v[i]);
    }
    for (uint32_t i = 0; i < a.agpr_count * a.lanes; ++i)
      if (a.a[i] != b.a[i]) return differs("a" + std::to_string(i / a.lanes), a.a[i], b.a[i]);
    return {};
  }

  emu::TestMachine plain;
  emu::TestMachine native;

 private:
  struct Filled {
    std::vector<uint32_t> s, v, a;
    uint32_t vcc[2] = {};
    bool scc = false;
    uint64_t exec = 0;
  };
  Filled random_registers(uint32_t seed, Bits kind, size_t vgprs, size_t agprs) const {
    std::mt19937 random(seed);
    Filled filled;
    const auto words = [&](size_t count) {
      std::vector<uint32_t> bits(count);
      for (uint32_t& word : bits) word = interesting_bits(random, kind);
      return bits;
    };
    filled.s = words(100);
    for (uint32_t& half : filled.vcc) half = random();
    filled.scc = random() % 2 != 0;
    filled.v = words(vgprs);
    filled.a = words(agprs);
    switch (random() % 6) {
      case 0: filled.exec = random() | uint64_t{random()} << 32; break;
      case 1: filled.exec = 0x00000000fffff000; break;
      case 2: filled.exec = uint64_t{1} << random() % 32; break;
      default: filled.exec = plain.wave.full_exec();
    }
    return filled;
  }

  // Null where there is nothing to compile.
  std::shared_ptr<NativeCode> make(const emu::LoweredCode& code, int32_t place, bool is_verified,
                                   const Liveness* liveness) const {
    const Request request(code, place, is_verified, liveness);
    const Plan plan = plan_block(request.get());
    if (plan.insts.empty()) return nullptr;
    std::shared_ptr<NativeCode> made = NativeCode::load(compile_(request.get(), plan), kEntryName);
    WT_CHECK(made != nullptr, "a block that was planned can be compiled and loaded");
    return made;
  }

  static size_t scratch_bytes(const emu::Wave& wave) {
    return size_t{wave.scratch_bytes_per_lane} * wave.lanes;
  }
  static void start(emu::Wave& wave, const emu::LoweredCode& code, int64_t budget) {
    emu::enter(wave, code, 0);
    wave.state = emu::WaveState::kRunning;
    wave.fault = {};
    wave.executed = 0;
    emu::forget_compiled_state(wave.compiled_state);
    wave.budget = budget;
    emu::run_slice(wave);
  }

  Compile compile_;
  std::map<std::pair<uint32_t, Bits>, Filled> filled_;
};

}  // namespace wavetap::jit
