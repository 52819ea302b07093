// sweep(): every instruction of an encoding family that a target has, by trying all opcode numbers.
//
// Tests of whole families start here instead of from a list of mnemonics: an instruction that a
// target has cannot be forgotten, and no assembler spelling is needed. The decoder says what each
// encoding is.
//
// Layouts: "AMD Instinct MI200 ISA", "RDNA 2 ISA" and "RDNA 3 ISA", chapter "Microcode formats".
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "amd/gfx_target.h"
#include "emu/exec.h"
#include "isa/inst.h"
#include "isa/program.h"

namespace wavetap::emu {

// The targets and wave sizes that tests of whole families run on.
inline const std::vector<Shape>& test_shapes() {
  static const std::vector<Shape> shapes = {
      {{9, 0, 8}, true},  {{9, 0, 10}, true, true}, {{9, 4, 2}, true, true}, {{10, 3, 0}, false},
      {{10, 3, 0}, true}, {{11, 0, 0}, false},      {{11, 0, 0}, true},
  };
  return shapes;
}

inline std::string shape_name(const Shape& shape) {
  return amd::to_string(shape.target) + (shape.wave64 ? " wave64" : " wave32");
}

struct Swept {
  std::vector<std::byte> code;
  isa::Inst inst;
  std::string name;  // canonical
};

// The instruction of two dwords, if it is one.
inline bool try_decode(uint32_t low, uint32_t high, const Shape& shape, Swept& out) {
  out.code.resize(8);
  std::memcpy(out.code.data(), &low, 4);
  std::memcpy(out.code.data() + 4, &high, 4);
  const isa::Program program = isa::decode(out.code, GpuAddr{0x1000}, shape.target, shape.wave64);
  if (program.size() != 1 || program.insts()[0].op == isa::Op::kInvalid) return false;
  out.inst = program.insts()[0];
  out.name = isa::op_name(out.inst.op);
  return true;
}

// Fields that the memory families share. Registers: address v2 (v[2:3]), data v4…v7, second data
// v8…v11, result v12…v15; SGPRs s[8:11].
struct SweepFields {
  bool returns = false;   // atomics: give back the old value (glc, sc0)
  bool saddr = false;     // flat: s[8:9] instead of a 64-bit v[2:3]
  bool no_vaddr = false;  // scratch with saddr only, or with neither
  bool lds = false;       // LDS-DMA
  bool bare = false;      // buffer: no operands at all, as cache control has
  bool offen = false, idxen = false;
  bool accumulator = false;  // gfx90a: data and result in a4… instead of v4…
  bool tfe = false;          // buffer: a register for the fault status; gfx90a has none
  int32_t offset = 0;
  uint8_t offset1 = 0;  // ds: second 8-bit offset, when not 0
  uint8_t vdst = 12;
  uint8_t vaddr = 2;
  uint8_t format = 0;  // mtbuf
};

inline std::vector<Swept> sweep_ds(const Shape& shape, const SweepFields& fields,
                                   bool gds = false) {
  std::vector<Swept> found;
  const bool old = shape.target.major == 9;
  for (uint32_t op = 0; op < 256; ++op) {
    const uint32_t offset =
        (static_cast<uint32_t>(fields.offset) & 0xffff) | uint32_t{fields.offset1} << 8;
    uint32_t low = 0x36u << 26 | op << (old ? 17 : 18) | offset;
    if (gds) low |= 1u << (old ? 16 : 17);
    if (fields.accumulator) low |= 1u << 25;
    // Fields that an instruction does not use must be zero. Starting with all of them, the first
    // that decodes names every register it uses.
    for (int unused = 0; unused < 16; ++unused) {
      const uint32_t high = ((unused & 8) != 0 ? 0 : uint32_t{fields.vaddr}) |
                            ((unused & 4) != 0 ? 0 : 4u << 8) | ((unused & 1) != 0 ? 0 : 8u << 16) |
                            ((unused & 2) != 0 ? 0 : uint32_t{fields.vdst} << 24);
      Swept swept;
      if (!try_decode(low, high, shape, swept)) continue;
      found.push_back(std::move(swept));
      break;
    }
  }
  return found;
}

enum class FlatSegment : uint8_t { kFlat = 0, kScratch = 1, kGlobal = 2 };

inline std::vector<Swept> sweep_flat(const Shape& shape, FlatSegment segment,
                                     const SweepFields& fields) {
  std::vector<Swept> found;
  const int major = shape.target.major;
  const auto segment_bits = static_cast<uint32_t>(segment);
  for (uint32_t op = 0; op < 128; ++op) {
    uint32_t low = 0x37u << 26 | op << 18;
    uint32_t off = 0x7f;
    if (major == 11) {
      low |= segment_bits << 16 | (fields.returns ? 1u << 14 : 0) |
             (static_cast<uint32_t>(fields.offset) & 0x1fff);
      off = 0x7c;
    } else {
      low |= segment_bits << 14 | (fields.returns ? 1u << 16 : 0) | (fields.lds ? 1u << 13 : 0);
      low |= static_cast<uint32_t>(fields.offset) & (major == 10 ? 0xfffu : 0x1fffu);
      off = major == 10 ? 0x7d : 0x7f;
    }
    if (segment == FlatSegment::kFlat && major == 9) off = 0;
    if (major == 10 && segment == FlatSegment::kScratch && fields.no_vaddr) off = 0x7f;
    uint32_t high = uint32_t{fields.vaddr} | 4u << 8 | (fields.saddr ? 8u : off) << 16 |
                    uint32_t{fields.vdst} << 24;
    // Vaddr is used.
    if (major == 11 && segment == FlatSegment::kScratch && !fields.no_vaddr) high |= 1u << 23;
    if (shape.target.is_gfx940_family() && segment == FlatSegment::kScratch && !fields.no_vaddr)
      low |= 1u << 13;
    if (fields.accumulator) high |= 1u << 23;
    Swept swept;
    if (try_decode(low, high, shape, swept)) found.push_back(std::move(swept));
  }
  return found;
}

// `typed`: tbuffer_*.
inline std::vector<Swept> sweep_buffer(const Shape& shape, const SweepFields& fields,
                                       bool typed = false, uint8_t soffset = 0x80) {
  std::vector<Swept> found;
  const int major = shape.target.major;
  for (uint32_t op = 0; op < (typed ? 16u : 256u); ++op) {
    uint32_t low = (typed ? 0x3au : 0x38u) << 26 | (static_cast<uint32_t>(fields.offset) & 0xfff);
    uint32_t high =
        fields.bare ? 0 : uint32_t{fields.vaddr} | 4u << 8 | 2u << 16 | uint32_t{soffset} << 24;
    low |= fields.returns ? 1u << 14 : 0;
    if (major == 11) {
      low |= op << (typed ? 15 : 18) | uint32_t{fields.format} << 19;
      high |= (fields.offen ? 1u << 22 : 0) | (fields.idxen ? 1u << 23 : 0) |
              (fields.tfe ? 1u << 21 : 0);
    } else {
      low |= (fields.offen ? 1u << 12 : 0) | (fields.idxen ? 1u << 13 : 0);
      if (typed) {
        low |= (op & (major == 9 ? 15 : 7)) << (major == 9 ? 15 : 16) | uint32_t{fields.format}
                                                                            << 19;
        if (major == 10) high |= op >> 3 << 21;
      } else {
        low |= (op & 0x7f) << 18 | (fields.lds ? 1u << 16 : 0);
        if (major == 10) low |= op >> 7 << 25;
        if (major == 9 && op >= 128) continue;
      }
      if (fields.accumulator || fields.tfe) high |= 1u << 23;
    }
    Swept swept;
    if (try_decode(low, high, shape, swept)) found.push_back(std::move(swept));
  }
  return found;
}

// SOP2, SOPK, SOP1, SOPC, SOPP and SMEM: opcode fields of one dword, operands small registers.
inline std::vector<Swept> sweep_scalar(const Shape& shape) {
  struct Format {
    uint32_t fixed;
    int opcode_bits, shift;
  };
  const uint32_t smem = shape.target.major == 9 ? 0x30u << 26 : 0x3du << 26;
  const Format kFormats[] = {
      {0x2u << 30, 7, 23},   {0xbu << 28, 5, 23},   {0x17du << 23, 8, 8},
      {0x17eu << 23, 7, 16}, {0x17fu << 23, 7, 16}, {smem, 8, 18},
  };
  std::vector<Swept> found;
  for (const Format& format : kFormats)
    for (uint32_t op = 0; op < 1u << format.opcode_bits; ++op) {
      // Which fields an instruction uses differs; those it does not use must be zero. SMEM takes
      // pairs of dwords.
      for (const uint32_t fields :
           {0x00100404u, 0x00100004u, 0x00100000u, 0x00000004u, 0u, 0x00000282u, 0x00000100u}) {
        for (const uint32_t high : {0u, 0xfa000000u}) {
          const uint32_t opcode = op << format.shift;
          const uint32_t opcode_mask = ((1u << format.opcode_bits) - 1) << format.shift;
          Swept swept;
          if (try_decode(format.fixed | opcode | (fields & ~opcode_mask), high, shape, swept))
            found.push_back(std::move(swept));
          // A one-dword instruction in front of something that decodes as well.
          swept.code.resize(4);
          const uint32_t low = format.fixed | opcode | (fields & ~opcode_mask);
          std::memcpy(swept.code.data(), &low, 4);
          const isa::Program program =
              isa::decode(swept.code, GpuAddr{0x1000}, shape.target, shape.wave64);
          if (program.size() != 1 || program.insts()[0].op == isa::Op::kInvalid) continue;
          swept.inst = program.insts()[0];
          swept.name = isa::op_name(swept.inst.op);
          found.push_back(std::move(swept));
        }
      }
    }
  return found;
}

// Scalar memory. Data s[16:…], base s[8:9] or s[8:11], offset 16.
inline std::vector<Swept> sweep_smem(const Shape& shape, bool returns = false) {
  std::vector<Swept> found;
  const int major = shape.target.major;
  for (uint32_t op = 0; op < 256; ++op) {
    // Registers that an instruction does not use must be zero.
    for (const uint32_t fields : {16u << 6 | 4u, 4u, 16u << 6, 0u}) {
      const bool has_address = (fields & 0x3f) != 0;
      uint32_t low = (major == 9 ? 0x30u : 0x3du) << 26 | op << 18 | fields;
      uint32_t high = has_address ? 16 : 0;
      if (major == 9 && has_address) low |= 1u << 17;  // the offset is an immediate
      if (major >= 10 && has_address) high |= (major == 10 ? 0x7du : 0x7cu) << 25;  // no SGPR
      if (returns) low |= 1u << (major == 11 ? 14 : 16);
      Swept swept;
      if (!try_decode(low, high, shape, swept)) continue;
      found.push_back(std::move(swept));
      break;
    }
  }
  return found;
}

// Matrix and packed instructions. Result v[32:…], sources v[64:…], v[128:…] and v[192:…]; where a
// target keeps accumulators only in accumulation registers the result and the last source are
// those.
inline std::vector<Swept> sweep_vop3p(const Shape& shape) {
  std::vector<Swept> found;
  for (uint32_t op = 0; op < 256; ++op) {
    if (shape.target.major != 9 && op >= 128) break;
    const uint32_t low = (shape.target.major == 9 ? 0xd3u : 0xccu) << 24 | op << 16 | 32;
    // Sources that an instruction does not use must be zero.
    constexpr uint32_t kFirst = 256 + 64, kSecond = (256 + 128) << 9, kThird = (256u + 192) << 18,
                       kAccumulator = 1u << 27;
    for (const uint32_t high :
         {kFirst | kSecond | kThird, kFirst | kSecond, kFirst, kFirst | kAccumulator}) {
      Swept swept;
      if (!try_decode(low, high, shape, swept)) continue;
      found.push_back(std::move(swept));
      break;
    }
  }
  return found;
}

}  // namespace wavetap::emu
