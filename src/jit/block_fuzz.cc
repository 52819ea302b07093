// Hostile code, compiled against interpreted. Whatever it is, both end at the same place with the same
// registers, the same memory and the same fault; the first difference ends the process.
//
// Input: one byte each for the target, for what is compiled and how, for registers, for the floating-point
// mode, for addresses and for the length of the first slice, two for the state that registers and memory
// begin with, then instructions of twelve bytes (Unit). An instruction is one that the target has, on
// registers of the input's choice or with a bit wrong, or it is eight bytes of the input as they are.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "emu/testing/image_sweep.h"
#include "emu/testing/vop_sweep.h"
#include "jit/liveness.h"
#include "jit/testing_twins.h"
#include "jit/vop_variants.h"

namespace wavetap::jit {
namespace {

using emu::Shape;
using emu::Swept;
using emu::TestMachine;

constexpr Shape kShapes[] = {{{9, 0, 6}, true},       {{9, 0, 8}, true},   {{9, 0, 10}, true, true},
                             {{9, 4, 2}, true, true}, {{10, 3, 0}, false}, {{10, 3, 0}, true},
                             {{11, 0, 0}, false},     {{11, 0, 0}, true}};

// Places that are compiled, the first instruction being one: compiling costs more than everything else here.
constexpr size_t kMostPlaces = 4;
constexpr size_t kMostInstructions = 48;
constexpr int64_t kMostPerformed = 600;

struct Header {
  uint8_t target, how, rows, mode, addresses, budget;
  uint16_t seed;
};
// Bits of Header::how.
constexpr uint8_t kKeepsLiveOnly = 1;  // results that nobody reads may be left out
constexpr uint8_t kVerifies = 2;       // handlers do compiled blocks as well
constexpr uint8_t kHasOthers = 4;      // the wave has company in its workgroup
constexpr uint8_t kAllLanes = 8;
constexpr uint8_t kOtherModes = 16;  // no bit from here on: Header::mode says how to round

enum class Shaping : uint8_t { kAsIs, kOtherRegisters, kWrongBit, kRaw };
// Few are raw, as most of those are no instruction at all.
Shaping shaping_of(uint8_t byte) {
  const int choice = byte % 16;
  return choice < 6    ? Shaping::kAsIs
         : choice < 13 ? Shaping::kOtherRegisters
         : choice < 15 ? Shaping::kWrongBit
                       : Shaping::kRaw;
}
struct Unit {
  uint16_t which;  // of the target's instructions
  uint8_t family;
  uint8_t shaping;
  uint32_t bits[2];
};
static_assert(sizeof(Header) == 8 && sizeof(Unit) == 12);

struct Known {
  std::vector<std::byte> code;
  bool is_jump;
};
using Family = std::vector<Known>;
Known known_as(const Swept& swept) { return {swept.code, isa::is_relative_jump(swept.inst.op)}; }

// What a target has, by family.
std::vector<Family> list_instructions(const Shape& shape) {
  std::vector<Family> families;
  const auto add = [&](const std::vector<std::vector<Swept>>& lists) {
    Family family;
    for (const std::vector<Swept>& list : lists)
      for (const Swept& swept : list) family.push_back(known_as(swept));
    if (!family.empty()) families.push_back(std::move(family));
  };
  for (const emu::VopEncoding encoding : emu::kVopEncodings) {
    Family plain;
    Family modified;
    for (const Variant& variant : variants_of(encoding)) {
      const bool is_plain = &variant == variants_of(encoding).data();
      for (const emu::VopSwept& vop : emu::sweep_vop(shape, encoding, variant.fields))
        (is_plain ? plain : modified).push_back(known_as(vop.swept));
    }
    if (!plain.empty()) families.push_back(std::move(plain));
    if (!modified.empty()) families.push_back(std::move(modified));
  }
  add({emu::sweep_scalar(shape), emu::sweep_smem(shape), emu::sweep_smem(shape, true)});
  add({emu::sweep_ds(shape, {}), emu::sweep_ds(shape, {.offset = 8, .offset1 = 3})});
  std::vector<std::vector<Swept>> flat;
  for (const auto segment :
       {emu::FlatSegment::kFlat, emu::FlatSegment::kScratch, emu::FlatSegment::kGlobal})
    for (const bool returns : {false, true}) {
      flat.push_back(emu::sweep_flat(shape, segment, {.returns = returns, .offset = 4}));
      flat.push_back(emu::sweep_flat(shape, segment, {.returns = returns, .saddr = true}));
    }
  add(flat);
  add({emu::sweep_buffer(shape, {.offen = true}), emu::sweep_buffer(shape, {.idxen = true}),
       emu::sweep_buffer(shape, {.returns = true, .offen = true, .offset = 12}),
       emu::sweep_buffer(shape, {.offen = true, .format = 22}, true), emu::sweep_image(shape, 1)});
  add({emu::sweep_vop3p(shape)});
  return families;
}

const std::vector<Family>& instructions_of(uint8_t shape) {
  static std::map<uint8_t, std::vector<Family>>* known = new std::map<uint8_t, std::vector<Family>>;
  const auto [found, is_new] = known->try_emplace(shape);
  if (is_new) found->second = list_instructions(kShapes[shape]);
  return found->second;
}

bool is_valid(const uint32_t (&words)[2], size_t size_bytes, const Shape& shape) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(words)).first(size_bytes);
  const isa::Program program = isa::decode(bytes, GpuAddr{0x1000}, shape.target, shape.wave64);
  for (int32_t i = 0; i < program.size(); ++i)
    if (program.insts()[i].op == isa::Op::kInvalid) return false;
  return true;
}

void append(std::vector<std::byte>& code, const Unit& unit, const Family& family,
            const Shape& shape) {
  uint32_t words[2] = {unit.bits[0], unit.bits[1]};
  size_t size_bytes = sizeof words;
  const Shaping shaping = shaping_of(unit.shaping);
  if (shaping != Shaping::kRaw) {
    const Known& known = family[unit.which % family.size()];
    size_bytes = known.code.size();
    std::memcpy(words, known.code.data(), size_bytes);
    uint32_t shaped[2] = {words[0], words[1]};
    // Where registers are in most encodings; elsewhere these are other bits, and the instruction another one.
    constexpr uint32_t kLow = 0xfu | 0xfu << 9 | 0xfu << 17;
    constexpr uint32_t kHigh = 0xfu | 0xfu << 9 | 0xfu << 18;
    if (shaping == Shaping::kOtherRegisters) {
      shaped[0] ^= unit.bits[0] & kLow;
      shaped[1] ^= unit.bits[1] & kHigh;
    } else if (shaping == Shaping::kWrongBit) {
      shaped[unit.bits[0] / 32 % 2] ^= 1u << unit.bits[0] % 32;
    }
    if (is_valid(shaped, size_bytes, shape)) std::copy(shaped, shaped + 2, words);
    // Jumps go a few dwords forth or back.
    if (known.is_jump) {
      const auto by = static_cast<int16_t>(static_cast<int8_t>(unit.bits[1]) / 4);
      words[0] = (words[0] & 0xffff0000) | static_cast<uint16_t>(by);
    }
  }
  const auto* bytes = reinterpret_cast<const std::byte*>(words);
  code.insert(code.end(), bytes, bytes + size_bytes);
}

bool has_different_each_time(const isa::Program& program) {
  for (int32_t i = 0; i < program.size(); ++i)
    if (is_different_each_time(isa::op_name(program.insts()[i].op))) return true;
  return false;
}

// The first instruction, and those that jumps lead to.
std::vector<int32_t> choose_places(const isa::Program& program) {
  std::vector<int32_t> places = {0};
  for (int32_t i = 0; i < program.size() && places.size() < kMostPlaces; ++i) {
    const int32_t target = program.insts()[i].target;
    if (target <= 0 || target >= program.size()) continue;
    if (std::find(places.begin(), places.end(), target) == places.end()) places.push_back(target);
  }
  return places;
}

void set_state(Twins& twins, const Header& header, const Shape& shape) {
  constexpr Bits kKinds[] = {Bits::kAny, Bits::kNans, Bits::kTame, Bits::kSmall};
  twins.fill(header.seed, kKinds[header.seed % std::size(kKinds)]);
  emu::Wave& wave = twins.plain.wave;
  if ((header.how & kAllLanes) != 0) twins.plain.set_exec(wave.full_exec());
  // Compiled code is for rounding to nearest and denormals that are kept; in other modes it does nothing.
  if (header.how / kOtherModes == 0) {
    wave.mode.round_f32 = header.mode & 3;
    wave.mode.round_f16_f64 = header.mode >> 2 & 3;
    wave.mode.denorm_f32 = (header.mode & 0x10) != 0 ? 0 : 3;
    wave.mode.denorm_f16_f64 = (header.mode & 0x20) != 0 ? 0 : 3;
  }
  wave.mode.ieee = (header.mode & 0x40) == 0;
  wave.mode.dx10_clamp = (header.mode & 0x80) == 0;
  wave.has_others = (header.how & kHasOthers) != 0;
  // Addresses that are good for something: v2 or v[2:3], s[8:9], and what begins in s8.
  if ((header.addresses & 1) == 0) {
    const uint32_t step = 1u << (header.addresses >> 2 & 7);
    const uint32_t base = (header.addresses & 2) != 0 ? 0 : TestMachine::kData;
    for (int lane = 0; lane < wave.lanes; ++lane) {
      twins.plain.set_v(2, lane, base + step * static_cast<uint32_t>(lane));
      twins.plain.set_v(3, lane, 0);
    }
  }
  if ((header.addresses & 0x20) == 0) {
    twins.plain.set_s64(8, TestMachine::kData);
    if ((header.addresses & 0x40) == 0) {
      twins.plain.set_s(10, 0x800);
      twins.plain.set_s(11, shape.target.major == 9 ? 0x00027000 : 0x31016000);
    }
  } else if ((header.addresses & 0x40) == 0) {
    emu::set_sound_image(twins.plain, shape);
  }
  if ((header.addresses & 0x80) == 0) twins.plain.set_s(isa::slot::kM0, ~0u);
  twins.copy_state();
  twins.fill_memory(header.seed);
}

// Where both waves go on: behind what has faulted, which must have changed nothing (`skips_faults`), or where the
// code was left to. Negative: they have ended.
int32_t find_next(const emu::Wave& wave, bool skips_faults) {
  int32_t next = wave.pc;
  if (wave.state == emu::WaveState::kFinished) return -1;
  if (wave.state == emu::WaveState::kLeftCode) next = wave.program->index_of({wave.jump_pc});
  if (wave.state == emu::WaveState::kFaulted)
    next = skips_faults ? wave.program->index_of(wave.fault.pc) + 1 : -1;
  return next < wave.program->size() ? next : -1;
}

void expect_same(Twins& twins, bool keeps_all, const char* when) {
  std::string what = twins.difference_outside();
  if (what.empty() && keeps_all) what = twins.difference_of_registers();
  if (what.empty() && twins.plain.wave.state == emu::WaveState::kLeftCode &&
      twins.plain.wave.jump_pc != twins.native.wave.jump_pc)
    what = "where the code is left to";
  if (what.empty()) return;
  std::fprintf(stderr, "compiled and interpreted code differ %s: %s\n", when, what.c_str());
  const isa::Program& program = *twins.plain.wave.program;
  for (int32_t i = 0; i < program.size(); ++i)
    std::fprintf(stderr, "%4d %s\n", i, std::string(isa::op_name(program.insts()[i].op)).c_str());
  if (twins.native.wave.fault.detail[0] != 0)
    std::fprintf(stderr, "fault: %s\n", twins.native.wave.fault.detail);
  std::abort();
}

std::vector<std::byte> compile_here(const BlockRequest& request, const Plan& plan) {
  static Host* host = new Host();
  return compile_plan(*host, request, plan);
}

void run_input(const Header& header, std::span<const uint8_t> rest) {
  const auto shape_at = static_cast<uint8_t>(header.target % std::size(kShapes));
  const Shape& shape = kShapes[shape_at];
  const std::vector<Family>& families = instructions_of(shape_at);
  std::vector<std::byte> code;
  Unit unit;
  for (size_t i = 0; i < kMostInstructions && rest.size() >= sizeof unit; ++i) {
    std::memcpy(&unit, rest.data(), sizeof unit);
    rest = rest.subspan(sizeof unit);
    append(code, unit, families[unit.family % families.size()], shape);
  }
  const std::vector<std::byte> end = emu::assemble("s_endpgm", shape.target, shape.wave64);
  code.insert(code.end(), end.begin(), end.end());

  const uint32_t rows = header.rows % 8 < 6 ? 256 : 32 << header.rows / 8 % 3;
  Twins twins({.target = shape.target,
               .wave64 = shape.wave64,
               .vgprs = rows,
               .agprs = shape.target.has_mfma() && header.rows < 128 ? rows : 0,
               .lds_bytes = 4096,
               .sram_ecc = shape.sram_ecc},
              compile_here);
  const emu::LoweredCode* plain = twins.plain.load_code(code);
  const emu::LoweredCode* native = twins.native.load_code(code);
  if (has_different_each_time(plain->program())) return;
  const bool verifies = (header.how & kVerifies) != 0;
  const bool keeps_all = verifies || (header.how & kKeepsLiveOnly) == 0;
  const Liveness liveness(native->program());
  const auto publish = [&](int32_t place) {
    if (verifies) twins.publish_verified(*native, place);
    else twins.publish(*native, place, keeps_all ? nullptr : &liveness);
  };
  const std::vector<int32_t> places = choose_places(native->program());
  for (const int32_t place : places) publish(place);
  set_state(twins, header, shape);
  int64_t budget = 1 + header.budget;
  twins.run_loaded(*plain, *native, budget);
  expect_same(twins, keeps_all, "in the first slice");
  size_t more = kMostPlaces - places.size();
  for (int64_t performed = budget; performed < kMostPerformed; performed += budget) {
    const int32_t next = find_next(twins.plain.wave, keeps_all);
    if (next < 0) return;
    for (emu::Wave* wave : {&twins.plain.wave, &twins.native.wave}) wave->pc = next;
    if (twins.plain.wave.state == emu::WaveState::kFaulted && more > 0) {
      publish(next);
      --more;
    }
    budget = 1 + (budget * 7 + header.seed) % 100;
    twins.go_on(budget);
    expect_same(twins, keeps_all, "later");
  }
}

}  // namespace
}  // namespace wavetap::jit

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  wavetap::jit::Header header;
  if (size < sizeof header) return 0;
  std::memcpy(&header, data, sizeof header);
  wavetap::jit::run_input(header, {data + sizeof header, size - sizeof header});
  return 0;
}
