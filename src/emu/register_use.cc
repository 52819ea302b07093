#include "emu/register_use.h"

#include <algorithm>
#include <bit>

#include "emu/exec/image_resource.h"
#include "emu/exec/operand_lanes.h"
#include "emu/exec/vop_row.h"
#include "emu/register_bytes.h"
#include "emu/wave.h"
#include "isa/image_address.h"

namespace wavetap::emu {
namespace {

using isa::Family;
using isa::Inst;
using isa::Op;
using isa::Operand;
using isa::OperandKind;
using isa::Sel;
namespace slot = isa::slot;
namespace implied = isa::implied;

class Finder {
 public:
  Finder(const Wave& wave, const Inst& inst, RegisterUses& uses)
      : wave_(wave), inst_(inst), uses_(uses), exec_(wave.exec()) {}

  void run() {
    implied_registers();
    switch (inst_.family) {
      case Family::kVop:
        if (!between_lanes() && !by_index()) vector_operation(inst_);
        break;
      case Family::kVopc: vector_operation(inst_); break;
      case Family::kVopd:
        vector_operation(inst_);
        if (inst_.vopd_first) vector_operation((&inst_)[1]);
        break;
      case Family::kMatrix: matrix(); break;
      case Family::kDs:
        if (!exchange()) memory();
        break;
      case Family::kFlat:
      case Family::kMubuf: memory(); break;
      case Family::kImage:
        if (!inst_.saddr.is(OperandKind::kNone)) image();
        break;
      default:
        if (!scalar_by_index()) scalar_operation();
        break;
    }
  }

 private:
  void add(RegisterFile file, bool is_write, uint32_t first, uint32_t count, uint8_t bytes,
           uint64_t lanes) {
    if (count == 0 || bytes == 0 || (file != RegisterFile::kScalar && lanes == 0)) return;
    uses_.add(
        {file, is_write, bytes, static_cast<uint8_t>(count), static_cast<uint16_t>(first), lanes});
  }
  void add_slots(bool is_write, uint32_t first, uint32_t count, uint8_t bytes = kAllBytes) {
    add(RegisterFile::kScalar, is_write, first, count, bytes, 0);
  }
  uint32_t mask_dwords() const { return wave_.lanes == 64 ? 2 : 1; }
  // Scalar operations on 64 bits (s_and_saveexec_b64) mean all of EXEC, also in a wave of 32.
  uint32_t exec_dwords() const {
    return inst_.family == Family::kSop && inst_.dst.dwords == 2 ? 2 : mask_dwords();
  }

  void implied_registers() {
    for (const bool is_write : {false, true}) {
      const uint8_t bits = is_write ? inst_.implied_writes : inst_.implied_reads;
      if ((bits & implied::kScc) != 0) add_slots(is_write, slot::kScc, 1);
      if ((bits & implied::kVcc) != 0) add_slots(is_write, slot::kVccLo, mask_dwords());
      if ((bits & implied::kExec) != 0) add_slots(is_write, slot::kExecLo, exec_dwords());
      if ((bits & implied::kM0) != 0)
        add_slots(is_write, slot::kM0, 1, is_write ? written_m0(inst_.op) : kAllBytes);
      if ((bits & implied::kFlatScratch) != 0) add_slots(is_write, slot::kFlatScratchLo, 2);
    }
  }

  // `bytes` of each register of the operand, in `lanes` when it is a vector register.
  void use(const Operand& operand, bool is_write, uint8_t bytes, uint64_t lanes) {
    use_dwords(operand, is_write, 0, operand.dwords, bytes, lanes);
  }
  void use_dwords(const Operand& operand, bool is_write, uint32_t skip, uint32_t count,
                  uint8_t bytes, uint64_t lanes) {
    const uint32_t first = operand.index + skip;
    switch (operand.kind) {
      case OperandKind::kNone:
      case OperandKind::kImm: return;
      case OperandKind::kVgpr:
        return add(RegisterFile::kVgpr, is_write, first, count, bytes, lanes);
      case OperandKind::kAgpr:
        return add(RegisterFile::kAgpr, is_write, first, count, bytes, lanes);
      case OperandKind::kScalar: break;
    }
    switch (operand.index) {
      case slot::kNull:
      case slot::kLdsDirect:
      case slot::kPopsExitingWaveId: return;
      case slot::kScc: return add_slots(is_write, slot::kScc, 1);
      case slot::kVccz: return add_slots(is_write, slot::kVccLo, mask_dwords());
      case slot::kExecz: return add_slots(is_write, slot::kExecLo, mask_dwords());
      default: return add_slots(is_write, first, count, bytes);
    }
  }
  void read(const Operand& operand, uint8_t bytes, uint64_t lanes) {
    use(operand, false, bytes, lanes);
  }
  void write(const Operand& operand, uint8_t bytes, uint64_t lanes) {
    use(operand, true, bytes, lanes);
  }

  // --- Scalar instructions.

  void scalar_operation() {
    for (const Operand& source : inst_.src) read(source, kAllBytes, 0);
    if (written_m0(inst_.op) != kAllBytes) add_slots(false, slot::kM0, 1);  // the other bits stay
    read(inst_.saddr, kAllBytes, 0);
    read(inst_.soffset, kAllBytes, 0);
    switch (inst_.op) {
      case Op::s_cmov_b32:
      case Op::s_cmov_b64:
      case Op::s_cmovk_i32:
        if (!wave_.scc) return;
        break;
      case Op::s_bitset0_b32:
      case Op::s_bitset0_b64:
      case Op::s_bitset1_b32:
      case Op::s_bitset1_b64: read(inst_.dst, kAllBytes, 0); break;
      case Op::s_subvector_loop_begin:
      case Op::s_subvector_loop_end: return subvector_loop();
      default: break;
    }
    write(inst_.dst, kAllBytes, 0);
    write(inst_.dst2, kAllBytes, 0);
  }

  // The halves of EXEC take turns; what is written depends on which are empty.
  void subvector_loop() {
    add_slots(false, slot::kExecLo, 2);
    const bool low = wave_.s[slot::kExecLo] != 0, high = wave_.s[slot::kExecHi] != 0;
    if (inst_.op == Op::s_subvector_loop_begin) {
      if (low || high) write(inst_.dst, kAllBytes, 0);
      if (low) add_slots(true, slot::kExecHi, 1);
    } else if (high) {
      add_slots(true, slot::kExecLo, 1);
    } else if (wave_.read_s32(inst_.dst) != 0) {
      write(inst_.dst, kAllBytes, 0);
      add_slots(true, slot::kExecLo, 2);
    }
  }

  // SGPRs by index: M0 is added to the register number. Leaving the SGPRs is illegal.
  bool scalar_by_index() {
    const uint32_t m0 = wave_.s[slot::kM0];
    uint32_t from = 0, to = 0;
    switch (inst_.op) {
      case Op::s_movrels_b32:
      case Op::s_movrels_b64: from = m0; break;
      case Op::s_movreld_b32:
      case Op::s_movreld_b64: to = m0; break;
      case Op::s_movrelsd_2_b32:
        from = m0 & 0x3ff;
        to = m0 >> 16 & 0x3ff;
        break;
      default: return false;
    }
    const auto indexed = [&](Operand operand, uint32_t offset, bool is_write) {
      if (operand.is(OperandKind::kScalar) && operand.index + uint64_t{offset} < slot::kCount)
        operand.index = static_cast<uint16_t>(operand.index + offset);
      use(operand, is_write, kAllBytes, 0);
    };
    add_slots(false, slot::kM0, 1);
    indexed(inst_.src[0], from, false);
    indexed(inst_.dst, to, true);
    return true;
  }

  // --- Vector operations.

  void vector_operation(const Inst& named) {
    Inst inst = named;
    bool writes = true;
    const VopFacts* facts = find_vop_facts(inst);
    if (wave_.vgpr_index != 0 && facts != nullptr) {
      add_slots(false, slot::kM0, 1);
      writes = index_registers(wave_, inst);
    }
    uint64_t written = exec_;
    uint64_t first_source = exec_;
    if (inst.dpp != isa::Dpp::kNone) find_dpp_lanes(inst, written, first_source);
    for (size_t k = 0; k < 4; ++k) {
      VopFacts::Source source;
      if (facts != nullptr && k < facts->sources) source = facts->source[k];
      Operand operand = source.is_old ? inst.dst : inst.src[k];
      if (source.is_old && inst.sdwa) operand.sel = Sel::kDword;
      read_source(inst.op, source, operand, k == 0 ? first_source : written);
    }
    if (!writes) return;
    write(inst.dst, inst.dst_preserve ? bytes_of(inst.dst.sel, kAllBytes) : kAllBytes, written);
    write(inst.dst2, kAllBytes, written);
  }

  void read_source(Op op, const VopFacts::Source& source, const Operand& operand, uint64_t lanes) {
    if (source.pack == Pack::kDwords) {  // each result takes either dword of the pair
      const bool low = !operand.op_sel || !operand.op_sel_hi;
      const bool high = operand.op_sel || operand.op_sel_hi;
      if (low) use_dwords(operand, false, 0, 1, kAllBytes, lanes);
      if (high && operand.dwords > 1) use_dwords(operand, false, 1, 1, kAllBytes, lanes);
      return;
    }
    const bool is_wide = operand.dwords > 1;
    read(operand, is_wide ? kAllBytes : source_bytes(op, source, operand), lanes);
  }

  // Narrows `written` to the lanes that DPP lets be written, and makes `sources` the lanes they read.
  void find_dpp_lanes(const Inst& inst, uint64_t& written, uint64_t& sources) const {
    const bool is_dpp8 = inst.dpp == isa::Dpp::kDpp8;
    const DppLanes lanes = is_dpp8 ? dpp8_lanes(inst.dpp8) : dpp16_lanes(inst.dpp_ctrl);
    uint64_t valid = lanes.exists;
    for (int lane = 0; lane < wave_.lanes && !inst.fetch_inactive; ++lane)
      if ((exec_ >> lanes.from[lane] & 1) == 0) valid &= ~(uint64_t{1} << lane);
    if (!is_dpp8) {
      written &= dpp_write_mask(inst);
      if (!inst.bound_ctrl) written &= valid;
    }
    sources = 0;
    for_each_lane(written & valid, [&](int lane) { sources |= uint64_t{1} << lanes.from[lane]; });
  }

  // Moves between lanes, or between lanes and scalars.
  bool between_lanes() {
    const uint64_t one = 1;
    switch (inst_.op) {
      case Op::v_readfirstlane_b32:
        read(inst_.src[0], kAllBytes, one << (exec_ == 0 ? 0 : std::countr_zero(exec_)));
        break;
      case Op::v_readlane_b32: read(inst_.src[0], kAllBytes, one << selected_lane()); break;
      case Op::v_writelane_b32:
        read(inst_.src[0], kAllBytes, 0);
        read(inst_.src[1], kAllBytes, 0);
        write(inst_.dst, kAllBytes, one << selected_lane());
        return true;
      case Op::v_permlane16_b32:
      case Op::v_permlanex16_b32: permlane16(); return true;
      case Op::v_permlane64_b32: {
        const uint64_t swapped = wave_.lanes == 64 ? std::rotl(exec_, 32) : exec_;
        read(inst_.src[0], kAllBytes, swapped);
        write(inst_.dst, kAllBytes, exec_);
        return true;
      }
      default: return false;
    }
    read(inst_.src[1], kAllBytes, 0);
    write(inst_.dst, kAllBytes, 0);
    return true;
  }
  int selected_lane() const {
    return static_cast<int>(wave_.read_s32(inst_.src[1]) & (wave_.lanes - 1u));
  }

  void permlane16() {
    const uint64_t select = wave_.read_s32(inst_.src[1]) | uint64_t{wave_.read_s32(inst_.src[2])}
                                                               << 32;
    const int flip = inst_.op == Op::v_permlanex16_b32 ? 16 : 0;
    uint64_t sources = 0, written = 0;
    for_each_lane(exec_, [&](int lane) {
      const int source = ((lane ^ flip) & ~15) + static_cast<int>(select >> 4 * (lane % 16) & 15);
      const bool is_read = inst_.fetch_inactive || (exec_ >> source & 1) != 0;
      if (is_read) sources |= uint64_t{1} << source;
      if (is_read || inst_.bound_ctrl) written |= uint64_t{1} << lane;
    });
    read(inst_.src[0], kAllBytes, sources);
    read(inst_.src[1], kAllBytes, 0);
    read(inst_.src[2], kAllBytes, 0);
    write(inst_.dst, kAllBytes, written);
  }

  // VGPRs chosen by M0, and swaps.
  bool by_index() {
    const uint32_t m0 = wave_.s[slot::kM0];
    const uint32_t from = m0 & 0x3ff, to = m0 >> 16 & 0x3ff;
    switch (inst_.op) {
      case Op::v_movreld_b32: return move(0, m0);
      case Op::v_movrels_b32: return move(m0, 0);
      case Op::v_movrelsd_b32: return move(m0, m0);
      case Op::v_movrelsd_2_b32: return move(from, to);
      case Op::v_swap_b32: return swap(0, 0);
      case Op::v_swaprel_b32: add_slots(false, slot::kM0, 1); return swap(to, from);
      default: return false;
    }
  }
  bool move(uint32_t from, uint32_t to) {
    add_slots(false, slot::kM0, 1);
    Operand source = inst_.src[0];
    if (source.is(OperandKind::kVgpr)) {
      const uint32_t index = source.index + from;
      source.index = static_cast<uint16_t>(index < wave_.vgpr_count ? index : 0);
    }
    read(source, kAllBytes, exec_);
    const uint32_t index = inst_.dst.index + to;
    if (index < wave_.vgpr_count) add(RegisterFile::kVgpr, true, index, 1, kAllBytes, exec_);
    return true;
  }
  bool swap(uint32_t first_offset, uint32_t second_offset) {
    const uint32_t first = inst_.dst.index + first_offset;
    const uint32_t second = inst_.dst2.index + second_offset;
    if (first >= wave_.vgpr_count || second >= wave_.vgpr_count) return true;
    for (const bool is_write : {false, true})
      for (const uint32_t index : {first, second})
        add(RegisterFile::kVgpr, is_write, index, 1, kAllBytes, exec_);
    return true;
  }

  // --- Matrix instructions: all lanes, whatever EXEC says.
  void matrix() {
    const uint64_t all = wave_.full_exec();
    // 16-bit results: the half of the accumulator that op_sel names, the other half stays.
    const bool is_half =
        inst_.op == Op::v_wmma_f16_16x16x16_f16 || inst_.op == Op::v_wmma_bf16_16x16x16_bf16;
    const uint8_t bytes = is_half ? half_bytes(inst_.src[2].op_sel) : kAllBytes;
    for (size_t k = 0; k < 4; ++k) read(inst_.src[k], k == 2 ? bytes : kAllBytes, all);
    write(inst_.dst, bytes, all);
  }

  // --- Memory instructions.
  void memory() {
    const bool is_sync = inst_.family == Family::kDs && inst_.gds;
    const uint64_t lanes = is_sync ? exec_ & (~exec_ + 1) : exec_;  // ds_gws: the lowest lane
    read(inst_.vaddr, kAllBytes, lanes);
    read(inst_.saddr, kAllBytes, 0);
    read(inst_.soffset, kAllBytes, 0);
    for (const Operand& data : inst_.src) use_data(data, false, stored_bytes(inst_.op), lanes);
    const bool writes_whole = wave_.dispatch->sram_ecc;
    Operand loaded = inst_.dst;
    if (inst_.tfe && loaded.dwords > 1)
      use_dwords(inst_.dst, true, --loaded.dwords, 1, kAllBytes, lanes);
    use_data(loaded, true, writes_whole ? kAllBytes : loaded_bytes(inst_.op), lanes, writes_whole);
  }
  void use_data(const Operand& data, bool is_write, uint8_t bytes, uint64_t lanes,
                bool writes_whole = false) {
    if (!has_odd_component(inst_.op) || writes_whole) return use(data, is_write, bytes, lanes);
    if (data.dwords == 0) return;
    use_dwords(data, is_write, 0, data.dwords - 1u, kAllBytes, lanes);
    use_dwords(data, is_write, data.dwords - 1u, 1, kLowBytes, lanes);
  }

  // The last of an odd number of 16-bit values takes half a register.
  void image() {
    const isa::ImageAddress plan = isa::image_address(inst_, dim_of(wave_, inst_));
    for (int i = 0; i < plan.registers; ++i) {
      const bool is_half = inst_.a16 && plan.body_parts % 2 == 1 && i + 1 == plan.registers;
      add(RegisterFile::kVgpr, false, isa::address_register(inst_, i), 1,
          is_half ? kLowBytes : kAllBytes, exec_);
    }
    read(inst_.saddr, kAllBytes, 0);
    read(inst_.soffset, kAllBytes, 0);
    image_data(inst_.src[0], false);
    image_data(inst_.dst, true);
  }
  void image_data(const Operand& data, bool is_write) {
    const bool gathers = (inst_.image & isa::image::kGathers) != 0;
    const bool is_half = inst_.d16 && !gathers && std::popcount(inst_.dmask) % 2 == 1 &&
                         !(is_write && wave_.dispatch->sram_ecc);
    if (!is_half || data.dwords == 0) return use(data, is_write, kAllBytes, exec_);
    const uint32_t half = data.dwords - (inst_.tfe ? 2u : 1u);
    use_dwords(data, is_write, 0, half, kAllBytes, exec_);
    use_dwords(data, is_write, half, 1, kLowBytes, exec_);
    if (inst_.tfe) use_dwords(data, is_write, half + 1, 1, kAllBytes, exec_);
  }

  // The DS crossbar. A disabled source lane is not read.
  bool exchange() {
    switch (inst_.op) {
      case Op::ds_bpermute_b32:
      case Op::ds_swizzle_b32:
      case Op::ds_permute_b32: break;
      default: return false;
    }
    const bool is_swizzle = inst_.op == Op::ds_swizzle_b32;
    const Operand& data =
        is_swizzle && !inst_.vaddr.is(OperandKind::kNone) ? inst_.vaddr : inst_.src[0];
    if (!is_swizzle) read(inst_.vaddr, kAllBytes, exec_);
    uint64_t sources = 0;
    for_each_lane(exec_, [&](int lane) { sources |= uint64_t{1} << exchanged_lane(lane); });
    read(data, kAllBytes, sources & exec_);
    write(inst_.dst, kAllBytes, exec_);
    return true;
  }
  // The lane whose data `lane` gets, or gives away: ds_permute sends.
  int exchanged_lane(int lane) const {
    const auto offset = static_cast<uint32_t>(inst_.offset);
    if (inst_.op == Op::ds_permute_b32) return lane;
    if (inst_.op == Op::ds_swizzle_b32)
      return (lane & 32) |
             static_cast<int>(swizzle_source(static_cast<uint32_t>(lane) & 31, offset & 0xffff));
    const int group = wave_.lanes == 64 && wave_.dispatch->target.major >= 10 ? 32 : wave_.lanes;
    const uint32_t address = wave_.v[size_t{inst_.vaddr.index} * wave_.lanes + uint32_t(lane)];
    return (lane & ~(group - 1)) +
           static_cast<int>((address + offset) / 4 % static_cast<uint32_t>(group));
  }

  const Wave& wave_;
  const Inst& inst_;
  RegisterUses& uses_;
  const uint64_t exec_;
};

}  // namespace

void find_register_uses(const Wave& wave, const isa::Inst& inst, RegisterUses& uses) {
  Finder(wave, inst, uses).run();
}

}  // namespace wavetap::emu
