#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "amd/gfx_target.h"
#include "base/gpu_addr.h"
#include "isa/inst.h"

namespace wavetap::isa {

// The code reachable from one kernel entry, decoded. Immutable once made; any thread may read it.
//
// Bytes that do not decode become an Inst with op kInvalid: executing one is an illegal-instruction
// fault, merely containing one is not (padding, tables and dead code are common).
class Program {
 public:
  struct Range {
    GpuAddr begin;
    uint64_t size_bytes = 0;
  };

  Program(GpuAddr begin, uint64_t size_bytes, amd::GfxTarget target, bool wave64);

  const Inst* insts() const { return insts_.data(); }
  int32_t size() const { return static_cast<int32_t>(insts_.size()); }
  GpuAddr begin() const { return begin_; }
  GpuAddr end() const { return begin_ + size_bytes_; }
  amd::GfxTarget target() const { return target_; }
  bool wave64() const { return wave64_; }

  // Address of instruction `index`; index == size() gives end().
  GpuAddr pc_of(int32_t index) const;
  // Instruction that starts at `pc`, or -1.
  int32_t index_of(GpuAddr pc) const;

  // What the tables below take.
  size_t memory_bytes() const {
    return insts_.capacity() * sizeof(Inst) + offsets_.capacity() * sizeof(uint32_t);
  }

  // For the decoder.
  std::vector<Inst>& mutable_insts() { return insts_; }
  std::vector<uint32_t>& mutable_offsets() { return offsets_; }
  void set_size_bytes(uint64_t size_bytes) { size_bytes_ = size_bytes; }

 private:
  GpuAddr begin_;
  uint64_t size_bytes_;
  amd::GfxTarget target_;
  bool wave64_;
  std::vector<Inst> insts_;
  std::vector<uint32_t> offsets_;  // byte offset of each instruction from begin_; sorted
};

// Decodes `code`, which the GPU sees at `begin`, as a straight sweep: every instruction of the
// range, in address order. Thread-safe. Never fails: undecodable dwords become kInvalid
// instructions.
Program decode(std::span<const std::byte> code, GpuAddr begin, amd::GfxTarget target, bool wave64);

// Decodes one function and no more: from its first instruction to the first place where flow ends
// (s_endpgm, s_setpc, an unconditional branch, bytes that are no instruction) and beyond which no
// jump before it leads. Data and functions behind it are not looked at. One thread.
//
//   FunctionDecoder decoder(begin, target, wave64);
//   while (!decoder.advance(first_bytes(more), is_all)) more *= 4;
//   Program program = decoder.take();
class FunctionDecoder {
 public:
  FunctionDecoder(GpuAddr begin, amd::GfxTarget target, bool wave64);

  // Goes on in `code`: the bytes from `begin` on, those of earlier calls among them. True when the
  // end was found, or the bytes ran out and `is_all` says that none follow. Else: again, with more.
  bool advance(std::span<const std::byte> code, bool is_all);

  // What has been decoded, whether its end was found or not.
  Program take();

 private:
  Program program_;
  uint64_t offset_ = 0;   // of the next instruction
  int64_t reached_ = -1;  // the furthest place that a jump leads to
};

// Assembler text of the instruction at the start of `code`; "<undecodable 0x…>" when it is none.
std::string disassemble(std::span<const std::byte> code, amd::GfxTarget target, bool wave64,
                        GpuAddr pc);

}  // namespace wavetap::isa
