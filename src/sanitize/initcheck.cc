#include "sanitize/initcheck.h"

#include <algorithm>

#include "emu/wave.h"
#include "emu/workgroup.h"
#include "isa/program.h"

namespace wavetap::sanitize {
namespace {

using emu::MemoryAccess;
using emu::Space;

// Calls f(word of the bitmap, its bits) for the bytes [address, + size); false when they are not all
// there.
template <class F>
bool for_each_bits(std::vector<uint64_t>& written, uint64_t address, uint32_t size_bytes, F&& f) {
  const uint64_t end = address + size_bytes;
  if (end > written.size() * 64) return false;
  while (address < end) {
    const uint64_t first = address % 64;
    const uint64_t count = std::min(64 - first, end - address);
    const uint64_t ones = count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
    f(written[address / 64], ones << first);
    address += count;
  }
  return true;
}

}  // namespace

emu::Wants Initcheck::wants(const isa::Program& program, int32_t index) noexcept {
  const isa::Inst& inst = program.insts()[index];
  switch (inst.family) {
    case isa::Family::kDs: return {.accessing = true};
    case isa::Family::kMubuf: return {.accessing = inst.lds};
    // Flat instructions reach LDS, and global_load … lds does.
    case isa::Family::kFlat: return {.accessing = true};
    default: return {};
  }
}

void Initcheck::workgroup_began(const emu::Workgroup& group, void*& state) noexcept {
  std::unique_ptr<Written> written;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      written = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (written == nullptr) written = std::make_unique<Written>();
  written->assign((group.lds_bytes + 63) / 64, 0);
  state = written.release();
}

void Initcheck::workgroup_ended(const emu::Workgroup&, void*& state) noexcept {
  std::unique_ptr<Written> written(static_cast<Written*>(state));
  state = nullptr;
  const std::lock_guard lock(mutex_);
  if (written != nullptr) idle_.push_back(std::move(written));
}

void Initcheck::accessing(const emu::WatchPoint& at,
                          std::span<const MemoryAccess> accesses) noexcept {
  Written& written = *static_cast<Written*>(at.state);
  // What is past the end that the dispatch asked for is memcheck's.
  const uint64_t limit = at.wave.dispatch->group_segment_bytes;
  for (const MemoryAccess& access : accesses) {
    if (access.space != Space::kLds || !access.reads()) continue;
    uint64_t wrong = 0;
    emu::for_each_lane(access.mask, [&](int lane) {
      uint64_t any = 0;
      const bool is_there =
          for_each_bits(written, access.address[lane], access.size_bytes,
                        [&](uint64_t& word, uint64_t bits) { any |= word & bits; });
      const bool is_inside = access.address[lane] + access.size_bytes <= limit;
      if (is_there && is_inside && any == 0) wrong |= uint64_t{1} << lane;
    });
    if (wrong == 0) continue;
    Finding finding = finding_at(Kind::kUninitialisedLds, at, wrong);
    set_access(finding, access);
    findings().add(finding);
  }
  for (const MemoryAccess& access : accesses) {
    if (access.space != Space::kLds || !access.writes()) continue;
    emu::for_each_lane(access.mask, [&](int lane) {
      for_each_bits(written, access.address[lane], access.size_bytes,
                    [](uint64_t& word, uint64_t bits) { word |= bits; });
    });
  }
}

}  // namespace wavetap::sanitize
