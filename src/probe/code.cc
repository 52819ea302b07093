#include "probe/code.h"

#include <string_view>

#include "amd/gfx_target.h"
#include "emu/count.h"

namespace wavetap::probe {
namespace {

using emu::StepCount;
using isa::Inst;
using isa::Operand;
using std::string_view;

uint8_t category_of(StepCount::Class type) {
  switch (type) {
    case StepCount::kSalu: return WAVETAP_SALU;
    case StepCount::kSmem: return WAVETAP_SMEM;
    case StepCount::kValu: return WAVETAP_VALU;
    case StepCount::kMatrix: return WAVETAP_MATRIX;
    case StepCount::kVmemLoad: return WAVETAP_VMEM_LOAD;
    case StepCount::kVmemStore: return WAVETAP_VMEM_STORE;
    case StepCount::kVmemAtomic: return WAVETAP_VMEM_ATOMIC;
    case StepCount::kLds: return WAVETAP_LDS_OP;
    case StepCount::kBranch: return WAVETAP_BRANCH;
    case StepCount::kBarrier: return WAVETAP_BARRIER;
    case StepCount::kMessage: return WAVETAP_MESSAGE;
    case StepCount::kWait: return WAVETAP_WAIT;
    case StepCount::kNothing:
    case StepCount::kOther: return WAVETAP_OTHER;
  }
  return WAVETAP_OTHER;
}

bool writes_exec(const Operand& operand) {
  return operand.is(isa::OperandKind::kScalar) && operand.index <= isa::slot::kExecHi &&
         operand.index + operand.dwords > isa::slot::kExecLo;
}

uint8_t flags_of(const Inst& inst, string_view name) {
  unsigned flags = 0;
  if (writes_exec(inst.dst) || writes_exec(inst.dst2) ||
      (inst.implied_writes & isa::implied::kExec) != 0)
    flags |= WAVETAP_SITE_WRITES_EXEC;
  const bool conditional = name.starts_with("s_cbranch") || name.starts_with("s_subvector_loop");
  if (conditional) flags |= WAVETAP_SITE_CONDITIONAL;
  if (conditional || isa::is_relative_jump(inst.op) || name == "s_setpc_b64" ||
      name == "s_swappc_b64" || name.starts_with("s_rfe"))
    flags |= WAVETAP_SITE_JUMPS;
  if (name.starts_with("s_endpgm")) flags |= WAVETAP_SITE_ENDS;
  return static_cast<uint8_t>(flags);
}

}  // namespace

std::vector<wavetap_site> find_sites(const isa::Program& program) {
  const auto count = static_cast<size_t>(program.size());
  const emu::Shape shape{program.target(), program.wave64(), false};
  std::vector<wavetap_site> sites(count);
  std::vector<bool> first(count + 1, false);
  if (count != 0) first[0] = true;
  for (size_t i = 0; i < count; ++i) {
    const Inst& inst = program.insts()[i];
    wavetap_site& site = sites[i];
    site.offset =
        static_cast<uint32_t>(program.pc_of(static_cast<int32_t>(i)).value - program.begin().value);
    site.target = UINT32_MAX;
    site.mnemonic = isa::op_name(inst.op);
    site.size_bytes = inst.size_bytes;
    if (i > 0 && program.insts()[i - 1].vopd_first) {
      site.category = WAVETAP_VALU;
      site.flags = WAVETAP_SITE_SECOND_HALF;
      continue;
    }
    site.category = category_of(emu::classify(inst, shape).type);
    site.flags = flags_of(inst, site.mnemonic);
    if (inst.target >= 0 && static_cast<size_t>(inst.target) < count) {
      site.target = static_cast<uint32_t>(inst.target);
      first[site.target] = true;
    }
    const bool breaks =
        inst.op == isa::Op::kInvalid ||
        (site.flags & (WAVETAP_SITE_WRITES_EXEC | WAVETAP_SITE_JUMPS | WAVETAP_SITE_ENDS)) != 0;
    if (breaks) first[i + (inst.vopd_first ? 2u : 1u)] = true;
  }
  for (size_t begin = 0; begin < count;) {
    size_t end = begin + 1;
    while (end < count && !first[end]) ++end;
    for (size_t i = begin; i < end; ++i) {
      sites[i].block = static_cast<uint32_t>(begin);
      sites[i].block_end = static_cast<uint32_t>(end);
    }
    begin = end;
  }
  return sites;
}

std::unique_ptr<Code> make_code(const isa::Program& program, uint32_t id) {
  auto code = std::make_unique<Code>();
  code->sites = find_sites(program);
  code->target = amd::to_string(program.target());
  code->size_bytes = program.end().value - program.begin().value;
  code->described = {.size = sizeof(wavetap_code),
                     .id = id,
                     .site_count = static_cast<uint32_t>(code->sites.size()),
                     .sites = code->sites.data(),
                     .address = program.begin().value,
                     .target = code->target.c_str(),
                     .wave_size = program.wave64() ? 64u : 32u};
  code->tags.resize(code->sites.size());
  for (uint32_t i = 0; i < code->described.site_count; ++i) {
    const wavetap_site& site = code->sites[i];
    code->tags[i] = {code.get(), i, site.block == i, site.category == WAVETAP_MESSAGE};
  }
  return code;
}

uint64_t fingerprint_of(const isa::Program& program) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  const auto add = [&](uint64_t value) { hash = (hash ^ value) * 0x100000001b3; };
  add(program.begin().value);
  add(program.end().value);
  for (int32_t i = 0; i < program.size(); ++i) {
    const Inst& inst = program.insts()[i];
    add(static_cast<uint64_t>(inst.op) << 32 | inst.size_bytes);
    for (const Operand* operand : {&inst.dst, &inst.dst2, &inst.src[0], &inst.src[1], &inst.src[2],
                                   &inst.src[3], &inst.vaddr, &inst.saddr, &inst.soffset}) {
      add(static_cast<uint64_t>(operand->kind) << 16 | operand->index);
      add(operand->imm);
    }
    add(static_cast<uint64_t>(static_cast<uint32_t>(inst.offset)) ^
        static_cast<uint64_t>(static_cast<uint32_t>(inst.target)) << 32);
  }
  return hash;
}

}  // namespace wavetap::probe
