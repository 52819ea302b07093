#include "proof/shadow_watch.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <string_view>

#include "emu/workgroup.h"
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
  std::vector<RegisterUse> writes;
  bool is_finished = true;
  // The words that an atomic changes, as they were, by lane.
  struct Before {
    Cell cell;  // of an f32, whether something was known or not
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
  if (data == nullptr || byte % 4 != 0) return false;
  if (data->is(isa::OperandKind::kVgpr)) file = RegisterFile::kVgpr;
  else if (data->is(isa::OperandKind::kAgpr)) file = RegisterFile::kAgpr;
  else if (data->is(isa::OperandKind::kScalar)) file = RegisterFile::kScalar;
  else return false;
  reg = data->index + byte / 4u + i;
  return true;
}

Cell cell_in(const emu::Wave& wave, const ShadowRegisters& registers, RegisterFile file,
             uint32_t reg, int lane) {
  return file == RegisterFile::kScalar ? registers.scalar(wave, reg)
                                       : registers.vector(file, reg, lane);
}

bool is_words(const MemoryAccess& access, int lane) {
  return access.size_bytes % 4 == 0 && access.size_bytes <= 64 && access.address[lane] % 4 == 0;
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
  group.count = find_operations(at.wave, group.of(at.wave), at.inst, group.operations.data());
  for (size_t i = 0; i < group.count; ++i)
    if (group.operations[i].row.rule == Rule::kUnknown && not_followed_.empty())
      not_followed_ = isa::op_name(at.inst.op);
  group.is_finished = false;
}

// What an instruction wrote has the shadow of its operation, or none.
void ShadowWatch::finish(const WatchPoint& at, Group& group) {
  if (group.is_finished) return;
  group.is_finished = true;
  ShadowRegisters& registers = group.of(at.wave);
  for (const RegisterUse& use : group.writes) {
    for (uint32_t reg = use.first; reg < use.first + uint32_t{use.count}; ++reg) {
      const ShadowOperation* operation = nullptr;
      uint32_t part = 0;
      for (size_t i = 0; i < group.count; ++i) {
        const ShadowOperation& one = group.operations[i];
        const uint32_t size = one.row.rule == Rule::kUnknown ? std::max<uint32_t>(one.dst.dwords, 1)
                                                             : one.row.result_bits / 32u;
        if (one.file() != use.file || reg < one.reg || reg >= one.reg + size) continue;
        operation = &one;
        part = reg - one.reg;
      }
      const auto cell = [&](int lane) -> Cell {
        if (operation == nullptr) return {};
        Cell found = operation->result(at.wave, lane);
        if (part != 0 && found.kind == CellKind::kF64) found.kind = CellKind::kF64High;
        return found;
      };
      if (use.file == RegisterFile::kScalar) registers.set_scalar(at.wave, reg, cell(0));
      else
        for_lanes(use.lanes,
                  [&](int lane) { registers.set_vector(use.file, reg, lane, cell(lane)); });
    }
  }
}

ShadowMemory& ShadowWatch::memory_of(Group& group, const WatchPoint& at, Space space) {
  if (space == Space::kGlobal) return memory_;
  return space == Space::kLds ? group.lds : group.of(at.wave).scratch;
}

void ShadowWatch::store(Group& group, const WatchPoint& at, const MemoryAccess& access) {
  ShadowMemory& memory = memory_of(group, at, access.space);
  const ShadowRegisters& registers = group.of(at.wave);
  for_lanes(access.mask, [&](int lane) {
    const uint64_t key = key_of(access, lane);
    std::byte bytes[64];
    RegisterFile file{};
    uint32_t reg = 0;
    if (!is_words(access, lane) || !holder(access.data, access.data_byte, 0, file, reg) ||
        !emu::read_registers(at.wave, access, lane, bytes))
      return memory.forget(key, std::max(access.size_bytes, 1u));
    for (uint32_t i = 0; i < access.size_bytes / 4; ++i) {
      uint32_t bits = 0;
      std::memcpy(&bits, bytes + 4 * size_t{i}, sizeof bits);
      memory.set(key + 4 * uint64_t{i}, bits, cell_in(at.wave, registers, file, reg + i, lane));
    }
  });
}

void ShadowWatch::load(Group& group, const WatchPoint& at, const MemoryAccess& access) {
  const ShadowMemory& memory = memory_of(group, at, access.space);
  ShadowRegisters& registers = group.of(at.wave);
  for_lanes(access.mask, [&](int lane) {
    std::byte bytes[64];
    RegisterFile file{};
    uint32_t reg = 0;
    if (!is_words(access, lane) || !holder(access.data, access.data_byte, 0, file, reg) ||
        !emu::read_registers(at.wave, access, lane, bytes))
      return;
    for (uint32_t i = 0; i < access.size_bytes / 4; ++i) {
      uint32_t bits = 0;
      std::memcpy(&bits, bytes + 4 * size_t{i}, sizeof bits);
      const Cell cell = memory.find(key_of(access, lane) + 4 * uint64_t{i}, bits);
      if (file == RegisterFile::kScalar) registers.set_scalar(at.wave, reg + i, cell);
      else registers.set_vector(file, reg + i, lane, cell);
    }
  });
}

// Atomics: sums of f32 go on in fp64, exchanges move what is known, others lose it.
void ShadowWatch::update(Group& group, const WatchPoint& at, const MemoryAccess& access) {
  ShadowMemory& memory = memory_of(group, at, access.space);
  ShadowRegisters& registers = group.of(at.wave);
  const std::string_view name = isa::op_name(at.inst.op);
  const bool is_sum = name.find("add_f32") != std::string_view::npos ||
                      name.find("add_rtn_f32") != std::string_view::npos;
  RegisterFile file{};
  uint32_t reg = 0;
  const bool has_data = access.size_bytes == 4 && holder(&at.inst.src[0], 0, 0, file, reg) &&
                        file != RegisterFile::kScalar;
  std::array<uint32_t, 64> now{};
  for_lanes(access.mask, [&](int lane) {
    std::byte bytes[64];
    if (access.size_bytes == 4 && emu::read_memory(at.wave, access, lane, bytes))
      std::memcpy(&now[static_cast<size_t>(lane)], bytes, 4);
  });
  // Sums first: several lanes may add to one word.
  for_lanes(access.mask, [&](int lane) {
    const uint64_t key = key_of(access, lane);
    const uint32_t bits = now[static_cast<size_t>(lane)];
    const Cell old = group.before[static_cast<size_t>(lane)].cell;
    if (!has_data || !is_words(access, lane))
      return memory.forget(key, std::max(access.size_bytes, 1u));
    const Cell data = cell_in(at.wave, registers, file, reg, lane);
    const uint32_t data_bits =
        (file == RegisterFile::kAgpr ? at.wave.arow(reg) : at.wave.vrow(reg))[lane];
    if (!is_sum) {
      // An exchange that took place; else nothing that is known fits the new bits.
      memory.set(key, bits, bits == data_bits ? data : Cell{});
      return;
    }
    Cell sum = memory.find(key, bits);
    if (sum.kind == CellKind::kExact) sum = old;
    const double value = data.kind == CellKind::kF32
                             ? data.value
                             : static_cast<double>(std::bit_cast<float>(data_bits));
    if (data.kind == CellKind::kUnknown) sum.kind = CellKind::kUnknown;
    sum.value += value;
    sum.bound += data.bound + 0x1p-24 * std::fabs(sum.value) + 0x1p-126;
    memory.set(key, bits, sum);
  });
  if (access.access == emu::Access::kAtomicReturn && access.size_bytes == 4 &&
      holder(access.data, access.data_byte, 0, file, reg) && file != RegisterFile::kScalar)
    for_lanes(access.mask, [&](int lane) {
      const Group::Before& old = group.before[static_cast<size_t>(lane)];
      if (!old.is_known) return;
      std::byte bytes[64];
      uint32_t bits = 0;
      if (emu::read_registers(at.wave, access, lane, bytes)) std::memcpy(&bits, bytes, sizeof bits);
      // Another lane came first: which, is not known.
      const Cell lost{0, 0, CellKind::kUnknown};
      registers.set_vector(file, reg, lane, bits == old.bits ? old.cell : lost);
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
      Cell cell = memory.find(key_of(access, lane), bits);
      const bool is_known = cell.kind != CellKind::kExact;
      if (!is_known) cell = {static_cast<double>(std::bit_cast<float>(bits)), 0, CellKind::kF32};
      group.before[static_cast<size_t>(lane)] = {cell, bits, is_known};
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
