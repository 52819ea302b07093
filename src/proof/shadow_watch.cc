#include "proof/shadow_watch.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <string_view>

#include "emu/workgroup.h"
#include "proof/shadow_matrix.h"
#include "proof/shadow_operation.h"

namespace wavetap::proof {

using emu::MemoryAccess;
using emu::RegisterFile;
using emu::RegisterUse;
using emu::Space;
using emu::WatchPoint;
using isa::Family;
using isa::Op;

struct ShadowWatch::Group {
  std::vector<std::unique_ptr<ShadowRegisters>> waves;  // by number in the group
  ShadowMemory lds;
  std::array<ShadowOperation, kMostOperations> operations;
  size_t count = 0;
  ShadowMatrix matrix;
  std::vector<RegisterUse> writes;
  bool is_finished = true;
  bool takes_bits = false;  // of a number that something is known of
  // The words that an atomic changes, as they were, by lane.
  struct Before {
    WordCells cells;  // of an f32, whether something was known or not
    uint32_t bits = 0;
    bool is_known = false;
  };
  std::array<Before, 64> before;

  ShadowRegisters& of(const emu::Wave& wave) {
    if (waves.size() <= wave.wave_in_group) waves.resize(wave.wave_in_group + 1u);
    auto& one = waves[wave.wave_in_group];
    if (one == nullptr) one = std::make_unique<ShadowRegisters>(wave);
    return *one;
  }
};

namespace {

bool is_memory(Family family) {
  return family == Family::kSmem || family == Family::kDs || family == Family::kFlat ||
         family == Family::kMubuf || family == Family::kImage;
}

// A lane's place in a space: scratch has one for each lane.
uint64_t key_of(const MemoryAccess& access, int lane) {
  const uint64_t address = access.address[lane];
  return access.space == Space::kScratch ? address | static_cast<uint64_t>(lane) << 40 : address;
}

// The register that holds dword `i` of an access; false where there is none of that form.
bool holder(const isa::Operand* data, uint8_t byte, uint32_t i, RegisterFile& file, uint32_t& reg) {
  if (data == nullptr) return false;
  if (data->is(isa::OperandKind::kVgpr)) file = RegisterFile::kVgpr;
  else if (data->is(isa::OperandKind::kAgpr)) file = RegisterFile::kAgpr;
  else if (data->is(isa::OperandKind::kScalar)) file = RegisterFile::kScalar;
  else return false;
  reg = data->index + byte / 4u + i;
  return true;
}

WordCells cells_in(const emu::Wave& wave, const ShadowRegisters& registers, RegisterFile file,
                   uint32_t reg, int lane) {
  return file == RegisterFile::kScalar ? registers.scalar(wave, reg)
                                       : registers.vector(file, reg, lane);
}

bool is_words(const MemoryAccess& access, int lane) {
  return access.size_bytes % 4 == 0 && access.size_bytes <= 64 && access.address[lane] % 4 == 0;
}
bool is_half(const MemoryAccess& access, int lane) {
  return access.size_bytes == 2 && access.address[lane] % 2 == 0 && access.data_byte % 2 == 0;
}

// Whether the first lane of an operation on bits has numbers among its sources.
bool takes_numbers(const emu::Wave& wave, const ShadowRegisters& registers, const isa::Inst& inst) {
  if (inst.family != Family::kVop || wave.exec() == 0 || !is_of_bits(inst.op)) return false;
  const int lane = std::countr_zero(wave.exec());
  for (const isa::Operand& source : inst.src) {
    const bool is_agpr = source.is(isa::OperandKind::kAgpr);
    if (!is_agpr && !source.is(isa::OperandKind::kVgpr)) continue;
    const RegisterFile file = is_agpr ? RegisterFile::kAgpr : RegisterFile::kVgpr;
    if (!registers.vector(file, source.index, lane).is_exact()) return true;
  }
  return false;
}

template <class F>
void for_lanes(uint64_t mask, F&& f) {
  for (; mask != 0; mask &= mask - 1) f(std::countr_zero(mask));
}

}  // namespace

emu::Wants ShadowWatch::wants(const isa::Program& program, int32_t index) noexcept {
  const isa::Inst& inst = program.insts()[index];
  emu::Wants wants;
  const bool is_move = inst.op == Op::s_mov_b32 || inst.op == Op::s_mov_b64;
  const bool is_vector =
      inst.family == Family::kVop || inst.family == Family::kMatrix || inst.family == Family::kVopd;
  if (!is_move && !is_vector && !is_memory(inst.family)) return wants;
  wants.uses_registers = wants.after = true;
  wants.accessing = wants.accessed = is_memory(inst.family);
  return wants;
}

void ShadowWatch::workgroup_began(const emu::Workgroup&, void*& state) noexcept {
  state = new Group;
}

void ShadowWatch::workgroup_ended(const emu::Workgroup&, void*& state) noexcept {
  delete static_cast<Group*>(state);
  state = nullptr;
}

void ShadowWatch::uses_registers(const WatchPoint& at, std::span<const RegisterUse> uses) noexcept {
  Group& group = *static_cast<Group*>(at.state);
  group.writes.clear();
  for (const RegisterUse& use : uses)
    if (use.is_write) group.writes.push_back(use);
  const ShadowRegisters& registers = group.of(at.wave);
  group.matrix.clear();
  group.count = 0;
  group.is_finished = false;
  group.takes_bits = takes_numbers(at.wave, registers, at.inst);
  if (at.inst.family == Family::kMatrix && group.matrix.find(at.wave, registers, at.inst)) return;
  group.count = find_operations(at.wave, registers, at.inst, group.operations.data());
  for (size_t i = 0; i < group.count; ++i)
    if (group.operations[i].row.rule == Rule::kUnknown) {
      ++not_followed_[isa::op_name(at.inst.op)];
      break;
    }
}

// What an instruction wrote has the shadow of its operation, or none. Bytes that it left alone keep theirs.
void ShadowWatch::finish(const WatchPoint& at, Group& group) {
  if (group.is_finished) return;
  group.is_finished = true;
  ShadowRegisters& registers = group.of(at.wave);
  constexpr uint8_t kLowBytes = 3, kHighBytes = 12;
  for (const RegisterUse& use : group.writes) {
    for (uint32_t reg = use.first; reg < use.first + uint32_t{use.count}; ++reg) {
      const auto find = [&](int lane) -> WordCells {
        if (group.matrix.has(use.file, reg)) return group.matrix.result(at.wave, reg, lane);
        WordCells found;
        for (size_t i = 0; i < group.count; ++i) {
          const ShadowOperation& one = group.operations[i];
          const uint32_t size = one.row.rule == Rule::kUnknown
                                    ? std::max<uint32_t>(one.dst.dwords, 1)
                                    : std::max(one.row.result_bits / 32u, 1u);
          if (one.file() != use.file || reg < one.reg || reg >= one.reg + size) continue;
          const WordCells cells = one.result(at.wave, lane);
          if (one.is_half() && one.row.rule != Rule::kUnknown)
            found.set_half(one.is_high, cells.half(one.is_high));
          else found = cells;
          if (reg != one.reg && found.low.kind == CellKind::kF64)
            found.low.kind = CellKind::kF64High;
        }
        return found;
      };
      if (use.file == RegisterFile::kScalar) {
        registers.set_scalar(at.wave, reg, find(0));
        continue;
      }
      for_lanes(use.lanes, [&](int lane) {
        WordCells cells = find(lane);
        const WordCells old = registers.vector(use.file, reg, lane);
        if ((use.bytes & kLowBytes) == 0) cells.set_half(false, old.half(false));
        if ((use.bytes & kHighBytes) == 0) cells.set_half(true, old.half(true));
        registers.set_vector(use.file, reg, lane, cells);
        if (group.takes_bits && cells.is_exact()) {
          ++taken_apart_[isa::op_name(at.inst.op)];
          group.takes_bits = false;
        }
      });
    }
  }
}

ShadowMemory& ShadowWatch::memory_of(Group& group, const WatchPoint& at, Space space) {
  if (space == Space::kGlobal) return memory_;
  return space == Space::kLds ? group.lds : group.of(at.wave).scratch;
}

void ShadowWatch::lose(const WatchPoint& at, const MemoryAccess& access, ShadowMemory& memory) {
  ++not_followed_[isa::op_name(at.inst.op)];
  for_lanes(access.mask,
            [&](int lane) { memory.lose(key_of(access, lane), std::max(access.size_bytes, 1u)); });
}

void ShadowWatch::store(Group& group, const WatchPoint& at, const MemoryAccess& access) {
  ShadowMemory& memory = memory_of(group, at, access.space);
  const ShadowRegisters& registers = group.of(at.wave);
  bool is_lost = false;
  for_lanes(access.mask, [&](int lane) {
    const uint64_t key = key_of(access, lane);
    std::byte bytes[64];
    RegisterFile file{};
    uint32_t reg = 0;
    const bool is_held = holder(access.data, access.data_byte, 0, file, reg) &&
                         access.size_bytes <= sizeof bytes &&
                         emu::read_registers(at.wave, access, lane, bytes);
    if (is_held && is_half(access, lane)) {
      uint16_t bits = 0;
      std::memcpy(&bits, bytes, sizeof bits);
      const WordCells cells = cells_in(at.wave, registers, file, reg, lane);
      return memory.set_half(key, bits, cells.half(access.data_byte % 4 != 0));
    }
    if (!is_held || !is_words(access, lane) || access.data_byte % 4 != 0) {
      // Parts of numbers, or numbers across words.
      for (uint32_t i = 0; is_held && i < (access.size_bytes + 3) / 4; ++i)
        is_lost = is_lost || !cells_in(at.wave, registers, file, reg + i, lane).is_exact();
      return memory.forget(key, std::max(access.size_bytes, 1u));
    }
    for (uint32_t i = 0; i < access.size_bytes / 4; ++i) {
      uint32_t bits = 0;
      std::memcpy(&bits, bytes + 4 * size_t{i}, sizeof bits);
      memory.set(key + 4 * uint64_t{i}, bits, cells_in(at.wave, registers, file, reg + i, lane));
    }
  });
  if (is_lost) lose(at, access, memory);
}

void ShadowWatch::load(Group& group, const WatchPoint& at, const MemoryAccess& access) {
  const ShadowMemory& memory = memory_of(group, at, access.space);
  ShadowRegisters& registers = group.of(at.wave);
  for_lanes(access.mask, [&](int lane) {
    std::byte bytes[64];
    RegisterFile file{};
    uint32_t reg = 0;
    if (access.size_bytes > sizeof bytes || !holder(access.data, access.data_byte, 0, file, reg) ||
        !emu::read_registers(at.wave, access, lane, bytes))
      return;
    if (is_half(access, lane) && file != RegisterFile::kScalar) {
      uint16_t bits = 0;
      std::memcpy(&bits, bytes, sizeof bits);
      WordCells cells = registers.vector(file, reg, lane);
      cells.set_half(access.data_byte % 4 != 0, memory.find_half(key_of(access, lane), bits));
      return registers.set_vector(file, reg, lane, cells);
    }
    if (!is_words(access, lane) || access.data_byte % 4 != 0) return;
    for (uint32_t i = 0; i < access.size_bytes / 4; ++i) {
      uint32_t bits = 0;
      std::memcpy(&bits, bytes + 4 * size_t{i}, sizeof bits);
      const WordCells cells = memory.find(key_of(access, lane) + 4 * uint64_t{i}, bits);
      if (file == RegisterFile::kScalar) registers.set_scalar(at.wave, reg + i, cells);
      else registers.set_vector(file, reg + i, lane, cells);
    }
  });
}

// Atomics: sums of f32 go on in fp64, what is exchanged or chosen is known as it was; other sums are lost.
void ShadowWatch::update(Group& group, const WatchPoint& at, const MemoryAccess& access) {
  ShadowMemory& memory = memory_of(group, at, access.space);
  ShadowRegisters& registers = group.of(at.wave);
  const std::string_view name = isa::op_name(at.inst.op);
  const auto has = [&](const char* text) { return name.find(text) != std::string_view::npos; };
  const bool is_sum = has("add_f32") || has("add_rtn_f32");
  if (!is_sum && has("add") && (has("f16") || has("f64"))) return lose(at, access, memory);
  RegisterFile file{};
  uint32_t reg = 0;
  const bool has_data = (access.size_bytes == 4 || access.size_bytes == 8) &&
                        holder(&at.inst.src[0], 0, 0, file, reg) && file != RegisterFile::kScalar;
  const auto data_bits = [&](uint32_t i, int lane) {
    return (file == RegisterFile::kAgpr ? at.wave.arow(reg + i) : at.wave.vrow(reg + i))[lane];
  };
  std::array<std::array<uint32_t, 2>, 64> now{};
  for_lanes(access.mask, [&](int lane) {
    std::byte bytes[64];
    if (has_data && emu::read_memory(at.wave, access, lane, bytes))
      std::memcpy(now[static_cast<size_t>(lane)].data(), bytes, access.size_bytes);
  });
  // Sums first: several lanes may add to one word.
  for_lanes(access.mask, [&](int lane) {
    const uint64_t key = key_of(access, lane);
    const auto& bits = now[static_cast<size_t>(lane)];
    if (!has_data || !is_words(access, lane))
      return memory.forget(key, std::max(access.size_bytes, 1u));
    if (!is_sum) {
      // What is not this lane's is as it was, if it is; else nothing that is known fits the new bits.
      bool is_own = true;
      for (uint32_t i = 0; i < access.size_bytes / 4; ++i)
        is_own = is_own && bits[i] == data_bits(i, lane);
      for (uint32_t i = 0; is_own && i < access.size_bytes / 4; ++i)
        memory.set(key + 4 * uint64_t{i}, bits[i],
                   cells_in(at.wave, registers, file, reg + i, lane));
      return;
    }
    const Cell data = cells_in(at.wave, registers, file, reg, lane).whole();
    const WordCells known = memory.find(key, bits[0]);
    Cell sum =
        known.is_exact() ? group.before[static_cast<size_t>(lane)].cells.whole() : known.whole();
    if (data.is_lost() && !sum.is_lost()) sum.kind = data.kind;
    const double value = data.kind == CellKind::kF32
                             ? data.value
                             : static_cast<double>(std::bit_cast<float>(data_bits(0, lane)));
    sum.value += value;
    sum.bound += data.bound + 0x1p-24 * std::fabs(sum.value) + 0x1p-126;
    memory.set(key, bits[0], WordCells::of(sum));
  });
  give_back(group, at, access);
}

// What an atomic found there, in the register that it returns it in.
void ShadowWatch::give_back(Group& group, const WatchPoint& at, const MemoryAccess& access) {
  RegisterFile file{};
  uint32_t reg = 0;
  if (access.access != emu::Access::kAtomicReturn || access.size_bytes != 4 ||
      !holder(access.data, access.data_byte, 0, file, reg) || file == RegisterFile::kScalar)
    return;
  for_lanes(access.mask, [&](int lane) {
    const Group::Before& old = group.before[static_cast<size_t>(lane)];
    if (!old.is_known) return;
    std::byte bytes[64];
    uint32_t bits = 0;
    if (emu::read_registers(at.wave, access, lane, bytes)) std::memcpy(&bits, bytes, sizeof bits);
    // Another lane came first: which, is not known.
    group.of(at.wave).set_vector(file, reg, lane,
                                 bits == old.bits ? old.cells : WordCells::of(kUnknownCell));
  });
}

void ShadowWatch::accessing(const WatchPoint& at, std::span<const MemoryAccess> accesses) noexcept {
  Group& group = *static_cast<Group*>(at.state);
  for (const MemoryAccess& access : accesses) {
    if (!access.writes() || !access.reads() || access.size_bytes != 4) continue;
    const ShadowMemory& memory = memory_of(group, at, access.space);
    for_lanes(access.mask, [&](int lane) {
      std::byte bytes[4];
      uint32_t bits = 0;
      if (emu::read_memory(at.wave, access, lane, bytes)) std::memcpy(&bits, bytes, sizeof bits);
      WordCells cells = memory.find(key_of(access, lane), bits);
      const bool is_known = !cells.is_exact();
      if (!is_known)
        cells.low = {static_cast<double>(std::bit_cast<float>(bits)), 0, CellKind::kF32};
      group.before[static_cast<size_t>(lane)] = {cells, bits, is_known};
    });
  }
}

void ShadowWatch::accessed(const WatchPoint& at, std::span<const MemoryAccess> accesses) noexcept {
  Group& group = *static_cast<Group*>(at.state);
  finish(at, group);
  for (const MemoryAccess& access : accesses) {
    if (access.writes() && access.reads()) update(group, at, access);
    else if (access.writes()) store(group, at, access);
    else load(group, at, access);
  }
}

void ShadowWatch::after(const WatchPoint& at) noexcept {
  finish(at, *static_cast<Group*>(at.state));
}

}  // namespace wavetap::proof
