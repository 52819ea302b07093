#include "cli/instruction_trace.h"

#include <fmt/format.h>

#include <bit>
#include <string>

#include "emu/wave.h"
#include "emu/workgroup.h"
#include "isa/dump.h"
#include "isa/program.h"

namespace wavetap::cli {
namespace {

constexpr int kShownLanes = 4;

// "s4=0x10", "v[2:3]=[0x1 0x2 0x3 0x4 …]"; nothing for a missing operand.
std::string result_text(const emu::Wave& wave, const isa::Operand& operand) {
  using isa::OperandKind;
  if (operand.is(OperandKind::kNone) || operand.is(OperandKind::kImm)) return "";
  const auto words = [&](auto word_at) {
    uint64_t value = word_at(0);
    if (operand.dwords > 1) value |= uint64_t{word_at(1)} << 32;
    return fmt::format("0x{:x}{}", value, operand.dwords > 2 ? "…" : "");
  };
  if (operand.is(OperandKind::kScalar)) {
    if (operand.index == isa::slot::kNull || operand.index + operand.dwords > isa::slot::kCount)
      return "";
    return fmt::format(" {}={}", isa::dump(operand),
                       words([&](int i) { return wave.s[operand.index + i]; }));
  }
  const bool is_agpr = operand.is(OperandKind::kAgpr);
  const uint32_t* rows = is_agpr ? wave.a : wave.v;
  if (operand.index + operand.dwords > (is_agpr ? wave.agpr_count : wave.vgpr_count)) return "";
  std::string text;
  int shown = 0;
  emu::for_each_lane(wave.exec(), [&](int lane) {
    if (shown++ >= kShownLanes) return;
    text += (text.empty() ? "" : " ") + words([&](int i) {
              return rows[size_t{operand.index + uint32_t(i)} * wave.lanes + uint32_t(lane)];
            });
  });
  return fmt::format(" {}=[{}{}]", isa::dump(operand), text, shown > kShownLanes ? " …" : "");
}

}  // namespace

void InstructionTrace::after(const emu::WatchPoint& at) noexcept {
  const emu::Wave& wave = at.wave;
  if (printed_ >= limit_) return;
  if (++printed_ == limit_) {
    fmt::print("… (raise --trace for more)\n");
    return;
  }
  const uint64_t exec = wave.exec();
  if (&wave != last_wave_) {
    fmt::print("workgroup {},{},{} wave {}\n", wave.workgroup->id[0], wave.workgroup->id[1],
               wave.workgroup->id[2], wave.wave_in_group);
    last_exec_ = exec;
  }
  last_wave_ = &wave;

  const GpuAddr pc = at.pc;
  const emu::MappedRange range = memory_.lookup(pc);
  std::string text = "?";
  if (range.contains(pc.value, at.inst.size_bytes)) {
    text = isa::disassemble({range.host + (pc.value - range.begin), at.inst.size_bytes},
                            wave.program->target(), wave.lanes == 64, pc);
  }
  std::string results = result_text(wave, at.inst.dst) + result_text(wave, at.inst.dst2);
  if (exec != last_exec_) results += fmt::format(" exec=0x{:x}", exec);
  last_exec_ = exec;
  fmt::print("  {:06x}  {}\n", pc.value - image_.value,
             results.empty() ? text : fmt::format("{:<48} ;{}", text, results));
}

}  // namespace wavetap::cli
