#include "emu/access.h"

#include <algorithm>
#include <cstring>

#include "emu/memory.h"
#include "emu/wave.h"

namespace wavetap::emu {
namespace {

bool read_global(const Wave& wave, uint64_t address, std::byte* out, uint32_t size_bytes) {
  for (uint32_t done = 0; done < size_bytes;) {
    const MappedRange range = wave.dispatch->memory->lookup({address + done});
    if (!range.contains(address + done, 1) || !range.readable) return false;
    const auto part =
        static_cast<uint32_t>(std::min<uint64_t>(size_bytes - done, range.end - (address + done)));
    std::memcpy(out + done, range.host + (address + done - range.begin), part);
    done += part;
  }
  return true;
}

bool read_scratch(const Wave& wave, const MemoryAccess& access, int lane, std::byte* out) {
  const uint64_t offset = access.address[lane];
  const uint64_t size = uint64_t{wave.scratch_bytes_per_lane} * (access.is_scalar ? wave.lanes : 1);
  if (offset > size || size - offset < access.size_bytes) return false;
  for (uint32_t i = 0; i < access.size_bytes; ++i) {
    const uint64_t at = access.is_scalar
                            ? offset + i
                            : wave.scratch_offset(static_cast<uint32_t>(offset) + i, lane);
    out[i] = wave.scratch[at];
  }
  return true;
}

}  // namespace

AddressSpan MemoryAccess::span() const {
  AddressSpan span{~uint64_t{0}, 0};
  const auto add = [&](uint64_t at) {
    span.first = std::min(span.first, at);
    span.last = std::max(span.last, at);
  };
  if (relation != Relation::kNone) {
    for (int i = 0, count = groups(); i < count; ++i) add(address[i * kGroupLanes]);
    if (relation == Relation::kConsecutive) span.last += (kGroupLanes - 1) * uint64_t{size_bytes};
  } else {
    for_each_lane(mask, [&](int lane) { add(address[lane]); });
  }
  return span;
}

WholeAccess::WholeAccess(const MemoryAccess& access) : access_(access) {
  if (access.relation == Relation::kNone) return;
  const uint64_t step = access.relation == Relation::kConsecutive ? access.size_bytes : 0;
  for_each_lane(access.mask, [&](int lane) {
    const int in_group = lane % kGroupLanes;
    address_[lane] = access.address[lane - in_group] + static_cast<uint64_t>(in_group) * step;
  });
  access_.address = address_;
}

bool read_memory(const Wave& wave, const MemoryAccess& access, int lane, std::byte* out) {
  switch (access.space) {
    case Space::kGlobal: return read_global(wave, access.address[lane], out, access.size_bytes);
    case Space::kScratch: return read_scratch(wave, access, lane, out);
    case Space::kLds: break;
  }
  const uint64_t at = access.address[lane];
  if (at > wave.lds_bytes || wave.lds_bytes - at < access.size_bytes) return false;
  std::memcpy(out, wave.lds + at, access.size_bytes);
  return true;
}

bool read_registers(const Wave& wave, const MemoryAccess& access, int lane, std::byte* out) {
  if (access.data == nullptr) return false;
  const isa::Operand& data = *access.data;
  for (uint32_t i = 0; i < access.size_bytes; ++i) {
    const uint32_t byte = access.data_byte + i;
    const uint32_t index = data.index + byte / 4;
    uint32_t word = 0;
    switch (data.kind) {
      case isa::OperandKind::kScalar: word = index < isa::slot::kCount ? wave.s[index] : 0; break;
      case isa::OperandKind::kVgpr:
        word = wave.v[size_t{index} * wave.lanes + uint32_t(lane)];
        break;
      case isa::OperandKind::kAgpr:
        word = wave.a[size_t{index} * wave.lanes + uint32_t(lane)];
        break;
      default: return false;
    }
    out[i] = static_cast<std::byte>(word >> byte % 4 * 8);
  }
  return true;
}

}  // namespace wavetap::emu
