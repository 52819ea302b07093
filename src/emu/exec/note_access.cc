#include "emu/exec/note_access.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "emu/exec/lds_access.h"

namespace wavetap::emu {

using isa::Inst;

MemoryAccess& AccessNote::add(Space space, Access access, const Element& element, uint64_t mask) {
  MemoryAccess* const added = new (&access_[count_]) MemoryAccess{.space = space,
                                                                  .access = access,
                                                                  .is_dma = inst_.lds,
                                                                  .size_bytes = element.size_bytes,
                                                                  .mask = mask,
                                                                  .address = address_[count_],
                                                                  .data = element.data,
                                                                  .data_byte = element.data_byte};
  ++count_;
  return *added;
}

void AccessNote::add_lds(Access access, const uint32_t* at, const Element& element, uint64_t mask) {
  MemoryAccess& added = add(Space::kLds, access, element, mask);
  for_each_lane(mask, [&](int lane) {
    addresses()[lane] = at[lane];
    if (!in_lds(wave_, at[lane], element.size_bytes)) added.outside |= uint64_t{1} << lane;
  });
  added.mask &= ~added.outside;
}

// Every active lane's dword moves, also that of a lane which reads zero because its element is
// outside the buffer.
void AccessNote::add_dma_side() {
  uint32_t at[64];
  if (wave_.lanes == 64) dma_addresses<64>(wave_, inst_, at);
  else dma_addresses<32>(wave_, inst_, at);
  const bool to_lds = access_[0].access == Access::kLoad;
  add_lds(to_lds ? Access::kStore : Access::kLoad, at, {.size_bytes = 4}, wave_.exec());
}

void AccessNote::tell() {
  if (inst_.lds) {
    for (size_t i = 0; i < count_; ++i) access_[i].data = nullptr;
    add_dma_side();
  }
  size_t kept = 0;
  for (size_t i = 0; i < count_; ++i)
    if ((access_[i].mask | access_[i].outside) != 0) access_[kept++] = access_[i];
  if (kept != 0) note_access(wave_, inst_, {access_, kept});
}

void note_global(Wave& wave, const Inst& inst, Access access, const uint64_t* at, uint64_t mask,
                 const Element& element, Relation relation) {
  if (!inst.lds) {  // nearly all: no room for many accesses needed
    if (mask == 0) return;
    const MemoryAccess one{.space = Space::kGlobal,
                           .access = access,
                           .relation = relation,
                           .size_bytes = element.size_bytes,
                           .mask = mask,
                           .address = at,
                           .data = element.data,
                           .data_byte = element.data_byte};
    note_access(wave, inst, {&one, 1});
    return;
  }
  AccessNote note(wave, inst);
  note.add(Space::kGlobal, access, element, mask).address = at;
  note.tell();
}

void note_scratch(Wave& wave, const Inst& inst, Access access, const uint32_t* at, uint64_t mask,
                  const Element& element) {
  AccessNote note(wave, inst);
  note.add(Space::kScratch, access, element, mask);
  for_each_lane(mask, [&](int lane) { note.addresses()[lane] = at[lane]; });
  note.tell();
}

void note_lds(Wave& wave, const Inst& inst, Access access, const uint32_t* at, uint64_t mask,
              const Element& element) {
  if (inst.lds) {
    AccessNote note(wave, inst);
    note.add_lds(access, at, element, mask);
    note.tell();
    return;
  }
  if (mask == 0) return;
  uint64_t address[64];
  MemoryAccess one{.space = Space::kLds,
                   .access = access,
                   .size_bytes = element.size_bytes,
                   .mask = mask,
                   .address = address,
                   .data = element.data,
                   .data_byte = element.data_byte};
  if (mask == wave.full_exec()) {
    uint32_t most = 0;
    for (int lane = 0; lane < wave.lanes; ++lane) {
      address[lane] = at[lane];
      most = std::max(most, at[lane]);
    }
    if (in_lds(wave, most, element.size_bytes)) return note_access(wave, inst, {&one, 1});
  }
  for_each_lane(mask, [&](int lane) {
    address[lane] = at[lane];
    if (!in_lds(wave, at[lane], element.size_bytes)) one.outside |= uint64_t{1} << lane;
  });
  one.mask &= ~one.outside;
  note_access(wave, inst, {&one, 1});
}

namespace {

// The addresses of rows from those of the groups' first lanes on: of all lanes when somebody needs them.
void fill_rows(const Wave& wave, uint64_t* address, uint64_t step) {
  if (!wave.watch->needs_all_addresses()) return;
  for (int group = 0; group < wave.lanes; group += kGroupLanes) {
    // A vector of the language, since compilers make scalars of loops this short.
    typedef uint64_t Pair __attribute__((vector_size(16)));
    Pair pair = {address[group], address[group] + step};
    for (int lane = 0; lane < kGroupLanes; lane += 2, pair += 2 * step)
      std::memcpy(address + group + lane, &pair, sizeof pair);
  }
}

}  // namespace

void note_lds_groups(Wave& wave, const Inst& inst, Access access, Relation relation,
                     const uint32_t* first, const OffsetElement& one, const OffsetElement& second) {
  const bool has_second = second.element.data != nullptr;
  const uint32_t size_bytes = one.element.size_bytes;
  const uint64_t step = relation == Relation::kConsecutive ? size_bytes : 0;
  uint64_t address[2][64];
  MemoryAccess accesses[2];
  for (int i = 0; i < (has_second ? 2 : 1); ++i) {
    const OffsetElement& each = i == 0 ? one : second;
    for (int group = 0; group < wave.lanes / kGroupLanes; ++group)
      address[i][group * kGroupLanes] = first[group] + each.offset;
    fill_rows(wave, address[i], step);
    accesses[i] = {.space = Space::kLds,
                   .access = access,
                   .relation = relation,
                   .size_bytes = size_bytes,
                   .mask = wave.full_exec(),
                   .address = address[i],
                   .data = each.element.data,
                   .data_byte = each.element.data_byte};
  }
  note_access(wave, inst, {accesses, has_second ? 2u : 1u});
}

void note_global_groups(Wave& wave, const Inst& inst, Access access, Relation relation,
                        const uint64_t* first, const Element& element) {
  uint64_t address[64];
  for (int group = 0; group < wave.lanes / kGroupLanes; ++group)
    address[group * kGroupLanes] = first[group];
  fill_rows(wave, address, relation == Relation::kConsecutive ? element.size_bytes : 0);
  const MemoryAccess one{.space = Space::kGlobal,
                         .access = access,
                         .relation = relation,
                         .size_bytes = element.size_bytes,
                         .mask = wave.full_exec(),
                         .address = address,
                         .data = element.data,
                         .data_byte = element.data_byte};
  note_access(wave, inst, {&one, 1});
}

void note_lds_pair(Wave& wave, const Inst& inst, Access access, const uint32_t* first,
                   const uint32_t* second, uint64_t mask, const Element& first_element,
                   const Element& second_element) {
  AccessNote note(wave, inst);
  note.add_lds(access, first, first_element, mask);
  note.add_lds(access, second, second_element, mask);
  note.tell();
}

void note_flat(Wave& wave, const Inst& inst, Access access, const uint64_t* at,
               const uint32_t* offset, const FlatLanes& lanes, const Element& element) {
  AccessNote note(wave, inst);
  if (lanes.global != 0) note.add(Space::kGlobal, access, element, lanes.global).address = at;
  // Unlike a DS instruction's, an address past the end of LDS faults.
  for (const auto& [space, mask] :
       {std::pair(Space::kLds, lanes.lds), {Space::kScratch, lanes.scratch}}) {
    if (mask == 0) continue;
    note.add(space, access, element, mask);
    for_each_lane(mask, [&](int lane) { note.addresses()[lane] = offset[lane]; });
  }
  note.tell();
}

void note_scalar(Wave& wave, const Inst& inst, Access access, uint64_t address, uint32_t size_bytes,
                 uint32_t inside_bytes, const isa::Operand& data) {
  const bool in_scratch = address >= kScratchVa &&
                          address - kScratchVa < uint64_t{wave.scratch_bytes_per_lane} * wave.lanes;
  const Space space = in_scratch ? Space::kScratch : Space::kGlobal;
  AccessNote note(wave, inst);
  const auto add = [&](uint32_t skip_bytes, uint32_t bytes) -> MemoryAccess& {
    MemoryAccess& added =
        note.add(space, access, {bytes, &data, static_cast<uint8_t>(skip_bytes)}, 1);
    added.is_scalar = true;
    note.addresses()[0] = address - (in_scratch ? kScratchVa : 0) + skip_bytes;
    return added;
  };
  if (inside_bytes != 0) add(0, inside_bytes);
  if (inside_bytes != size_bytes) {
    MemoryAccess& outside = add(inside_bytes, size_bytes - inside_bytes);
    outside.mask = 0;
    outside.outside = 1;
  }
  note.tell();
}

}  // namespace wavetap::emu
