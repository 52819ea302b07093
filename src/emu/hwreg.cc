// Numbers and fields are those of AMD's instruction set documents and of LLVM's hwreg() names.
//
// HW_ID and its successors tell a program where its wave runs. There is no such place here, so a
// workgroup is given one by a fixed rule: workgroups go round the XCCs, then round the compute
// units of each; the waves of a workgroup go round the SIMDs. Programs that use it to spread work
// keep working.
#include "emu/hwreg.h"

#include "emu/wave.h"
#include "emu/workgroup.h"

namespace wavetap::emu {
namespace {

constexpr uint32_t kMode = 1;
constexpr uint32_t kStatus = 2;
constexpr uint32_t kTrapStatus = 3;
constexpr uint32_t kHwId = 4;  // gfx9
constexpr uint32_t kGprAlloc = 5;
constexpr uint32_t kLdsAlloc = 6;
constexpr uint32_t kShMemBases = 15;
constexpr uint32_t kFlatScratchLo = 20;  // gfx10; XCC_ID on the gfx940 family
constexpr uint32_t kFlatScratchHi = 21;
constexpr uint32_t kHwId1 = 23;  // gfx10 and later
constexpr uint32_t kHwId2 = 24;
constexpr uint32_t kShaderCycles = 29;  // gfx10.3 and later

constexpr uint32_t kModeRound = 0xf;
constexpr uint32_t kModeDenorm = 0xf0;
constexpr uint32_t kModeDx10Clamp = 1u << 8;
constexpr uint32_t kModeIeee = 1u << 9;
constexpr uint32_t kModeFp16Overflow = 1u << 23;
constexpr uint32_t kModeGprIndex = 1u << 27;
constexpr uint32_t kModeOfFloatMode =
    kModeRound | kModeDenorm | kModeDx10Clamp | kModeIeee | kModeFp16Overflow | kModeGprIndex;

struct Place {
  uint32_t xcc, cu, simd, slot;
};

Place place_of(const Wave& wave) {
  const Dispatch& dispatch = *wave.dispatch;
  const uint32_t xccs = dispatch.xcc_count == 0 ? 1 : dispatch.xcc_count;
  const uint32_t cus = dispatch.cu_count / xccs == 0 ? 1 : dispatch.cu_count / xccs;
  const uint64_t group = wave.workgroup->linear_id;
  const uint32_t simds = dispatch.target.major == 9 ? 4 : 2;
  return {static_cast<uint32_t>(group % xccs), static_cast<uint32_t>(group / xccs % cus),
          wave.wave_in_group % simds, wave.wave_in_group / simds};
}

// gfx9: wave:4 simd:2 pipe:2 cu:4 sh:1 se:3(2) tg:4 vm:4 queue:3 state:3 me:2
uint32_t hw_id(const Wave& wave) {
  const Place place = place_of(wave);
  const uint32_t se = place.cu / 16 % 8;
  return place.slot % 16 | place.simd << 4 | (place.cu % 16) << 8 | se << 13;
}

// gfx10 and later: wave:5 …:3 simd:2 wgp:4 …:1 sa:1 se:4 dp_rate:3
uint32_t hw_id1(const Wave& wave) {
  const Place place = place_of(wave);
  const uint32_t wgp = place.cu / 2;
  return place.slot % 32 | place.simd << 8 | (wgp % 16) << 10 | (wgp / 16 % 2) << 16 |
         (wgp / 32 % 16) << 18;
}

// Sizes in the granules the target allocates; a register file base is not modelled.
uint32_t gpr_alloc(const Wave& wave) {
  const bool gfx9 = wave.dispatch->target.major == 9;
  const auto before_agprs =
      static_cast<uint32_t>(wave.a == nullptr ? wave.vgpr_count : (wave.a - wave.v) / wave.lanes);
  const uint32_t granules = (before_agprs + wave.agpr_count) / (gfx9 ? 4 : 8);
  return (granules == 0 ? 0 : granules - 1) << (gfx9 ? 8 : 12);
}

uint32_t lds_alloc(const Wave& wave) {
  return wave.lds_bytes / 512 << 12;  // size in 128-dword granules
}

uint32_t status(const Wave& wave) {
  const bool in_group = wave.workgroup->waves.size() > 1;
  return (wave.scc ? 1u : 0) | (wave.exec() == 0 ? 1u << 9 : 0) | (wave.vcc() == 0 ? 1u << 10 : 0) |
         (in_group ? 1u << 11 : 0) | 1u << 16;  // valid
}

}  // namespace

uint32_t mode_register(const Wave& wave) {
  const FloatMode& mode = wave.mode;
  return (wave.mode_rest & ~kModeOfFloatMode) | mode.round_f32 | uint32_t{mode.round_f16_f64} << 2 |
         uint32_t{mode.denorm_f32} << 4 | uint32_t{mode.denorm_f16_f64} << 6 |
         (mode.dx10_clamp ? kModeDx10Clamp : 0) | (mode.ieee ? kModeIeee : 0) |
         (mode.fp16_overflow ? kModeFp16Overflow : 0) | (wave.gpr_index_mode ? kModeGprIndex : 0);
}

void set_mode_register(Wave& wave, uint32_t value) {
  FloatMode& mode = wave.mode;
  mode.round_f32 = value & 3;
  mode.round_f16_f64 = value >> 2 & 3;
  mode.denorm_f32 = value >> 4 & 3;
  mode.denorm_f16_f64 = value >> 6 & 3;
  mode.dx10_clamp = (value & kModeDx10Clamp) != 0;
  mode.ieee = (value & kModeIeee) != 0;
  mode.fp16_overflow = (value & kModeFp16Overflow) != 0;
  set_gpr_index_mode(wave, wave.dispatch->target.major == 9 && (value & kModeGprIndex) != 0);
  wave.mode_rest = value & ~kModeOfFloatMode;
}

void set_gpr_index_mode(Wave& wave, bool on) {
  wave.gpr_index_mode = on;
  wave.vgpr_index = on ? wave.s[isa::slot::kM0] >> 12 & 15 : 0;
}

uint64_t core_clock(const Wave& wave) {
  Host* host = wave.dispatch->host;
  return host != nullptr ? host->clock_ticks() * 10 : wave.executed;
}

uint32_t read_hwreg(const Wave& wave, uint32_t id) {
  const amd::GfxTarget target = wave.dispatch->target;
  const bool gfx10 = target.major >= 10;
  switch (id) {
    case kMode: return mode_register(wave);
    case kStatus: return status(wave);
    case kTrapStatus: return wave.trap_status;
    case kHwId: return gfx10 ? 0 : hw_id(wave);
    case kGprAlloc: return gpr_alloc(wave);
    case kLdsAlloc: return lds_alloc(wave);
    case kShMemBases:
      return static_cast<uint32_t>(kSharedAperture >> 48 << 16 | kPrivateAperture >> 48);
    case kFlatScratchLo:
      if (target.is_gfx940_family()) return place_of(wave).xcc;
      return gfx10 ? wave.s[isa::slot::kFlatScratchLo] : 0;
    case kFlatScratchHi: return gfx10 ? wave.s[isa::slot::kFlatScratchHi] : 0;
    case kHwId1: return gfx10 ? hw_id1(wave) : 0;
    case kHwId2: return 0;  // queue 0 of pipe 0 of micro engine 0
    case kShaderCycles:
      return target >= amd::GfxTarget{10, 3, 0} ? static_cast<uint32_t>(core_clock(wave)) & 0xfffff
                                                : 0;
    default: return 0;
  }
}

void write_hwreg(Wave& wave, uint32_t id, uint32_t value, uint32_t mask) {
  const auto merged = [&](uint32_t old) { return (old & ~mask) | (value & mask); };
  const bool gfx10 = wave.dispatch->target.major >= 10;
  switch (id) {
    case kMode: set_mode_register(wave, merged(mode_register(wave))); break;
    case kTrapStatus: wave.trap_status = merged(wave.trap_status); break;
    case kFlatScratchLo:
      if (gfx10) wave.s[isa::slot::kFlatScratchLo] = merged(wave.s[isa::slot::kFlatScratchLo]);
      break;
    case kFlatScratchHi:
      if (gfx10) wave.s[isa::slot::kFlatScratchHi] = merged(wave.s[isa::slot::kFlatScratchHi]);
      break;
    default: break;
  }
}

}  // namespace wavetap::emu
