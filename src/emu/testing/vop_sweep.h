// sweep_vop(): every vector operation of an encoding that a target has, by trying all opcode
// numbers. Layouts: "AMD Instinct MI200 ISA", "RDNA 2 ISA" and "RDNA 3 ISA", chapter "Microcode
// formats".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "emu/testing/sweep.h"

namespace wavetap::emu {

enum class VopEncoding : uint8_t { kVop1, kVop2, kVopc, kVop3, kVop3p };

// Registers of every swept instruction: sources v4, v8, v12, result v16, masks s[24:25] and
// s[16:17] (VOPC) or s[0:1] (carry out).
inline constexpr uint32_t kSweepSource = 4;
inline constexpr uint32_t kSweepResult = 16;
inline constexpr uint32_t kSweepLiteral = 0x3fc12345;

// Bits to add: modifiers of VOP3 and VOP3P, or the second dword of SDWA and DPP.
struct VopFields {
  uint32_t low = 0;
  uint32_t high = 0;
  // SDWA 0xf9, DPP16 0xfa, DPP8 0xe9 or 0xea in the source field of a short encoding; 0 none.
  uint32_t extension = 0;
};

inline std::optional<Swept> encode_vop(const Shape& shape, VopEncoding encoding, uint32_t op,
                                       const VopFields& fields) {
  const bool old = shape.target.major == 9;
  const uint32_t src0 = fields.extension != 0 ? fields.extension : 256 + kSweepSource;
  Swept swept;
  const auto attempt = [&](uint32_t low, uint32_t high) {
    return try_decode(low, high, shape, swept);
  };
  const auto attempt_short = [&](uint32_t low) {
    if (fields.extension != 0) return attempt(low, fields.high);
    // Four bytes, or eight with a literal.
    swept.code.resize(4);
    std::memcpy(swept.code.data(), &low, 4);
    const isa::Program program =
        isa::decode(swept.code, GpuAddr{0x1000}, shape.target, shape.wave64);
    if (program.size() == 1 && program.insts()[0].op != isa::Op::kInvalid) {
      swept.inst = program.insts()[0];
      swept.name = isa::op_name(swept.inst.op);
      return true;
    }
    return attempt(low, kSweepLiteral);
  };
  switch (encoding) {
    case VopEncoding::kVop1:
      if (attempt_short(0x3fu << 25 | kSweepResult << 17 | op << 9 | src0)) return swept;
      return std::nullopt;
    case VopEncoding::kVop2:
      if (attempt_short(op << 25 | kSweepResult << 17 | 8u << 9 | src0)) return swept;
      return std::nullopt;
    case VopEncoding::kVopc:
      if (attempt_short(0x3eu << 25 | op << 17 | 8u << 9 | src0)) return swept;
      return std::nullopt;
    case VopEncoding::kVop3:
    case VopEncoding::kVop3p: {
      const uint32_t prefix = encoding == VopEncoding::kVop3p ? (old ? 0x1a7u << 23 : 0xccu << 24)
                                                              : (old ? 0x34u : 0x35u) << 26;
      const uint32_t low = prefix | op << 16 | kSweepResult | fields.low;
      // The third source is a VGPR, a mask or missing; so may be the second.
      for (const uint32_t src2 : {256u + 12, 24u, 0u})
        for (const uint32_t src1 : {256u + 8, 0u})
          for (const uint32_t first : {256u + kSweepSource, 0u})
            if (attempt(low, first | src1 << 9 | src2 << 18 | fields.high)) return swept;
      return std::nullopt;
    }
  }
  return std::nullopt;
}

inline uint32_t opcode_count(VopEncoding encoding) {
  switch (encoding) {
    case VopEncoding::kVop1:
    case VopEncoding::kVopc: return 256;
    case VopEncoding::kVop2: return 62;  // 62 and 63 are VOPC and VOP1
    case VopEncoding::kVop3: return 1024;
    case VopEncoding::kVop3p: return 128;
  }
  return 0;
}

struct VopSwept {
  Swept swept;
  VopEncoding encoding;
  uint32_t op;  // opcode number
};

// Tests ask for the same again and again; one thread.
inline const std::vector<VopSwept>& sweep_vop(const Shape& shape, VopEncoding encoding,
                                              const VopFields& fields = {}) {
  using Key = std::tuple<amd::GfxTarget, bool, bool, VopEncoding, uint32_t, uint32_t, uint32_t>;
  static std::map<Key, std::vector<VopSwept>> known;
  const auto [at, is_new] = known.try_emplace({shape.target, shape.wave64, shape.sram_ecc, encoding,
                                               fields.low, fields.high, fields.extension});
  std::vector<VopSwept>& found = at->second;
  for (uint32_t op = 0; is_new && op < opcode_count(encoding); ++op)
    if (std::optional<Swept> swept = encode_vop(shape, encoding, op, fields))
      found.push_back({std::move(*swept), encoding, op});
  return found;
}

inline constexpr VopEncoding kVopEncodings[] = {VopEncoding::kVop1, VopEncoding::kVop2,
                                                VopEncoding::kVopc, VopEncoding::kVop3,
                                                VopEncoding::kVop3p};

}  // namespace wavetap::emu
