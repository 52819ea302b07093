#include "sanitize/device_heap.h"

#include <algorithm>
#include <utility>

#include "emu/wave.h"
#include "emu/workgroup.h"
#include "isa/program.h"
#include "sanitize/finding_line.h"

namespace wavetap::sanitize {
namespace {

constexpr uint64_t kSwappcBytes = 4;
constexpr uint32_t kReturnAddress = 30;  // s[30:31]
constexpr uint64_t kPageMask = 4095;
constexpr size_t kMostFreed = 1 << 16;

// Bits of a tag.
constexpr uintptr_t kReturns = 1 << 8;

uint64_t lane_value(emu::Wave& wave, int lane) {
  return wave.vrow(0)[lane] | uint64_t{wave.vrow(1)[lane]} << 32;
}

}  // namespace

HeapCode heap_code_of(std::string_view function) {
  if (function == "__ockl_dm_alloc") return HeapCode::kAllocate;
  if (function == "__ockl_dm_dealloc") return HeapCode::kFree;
  for (const char* name :
       {"malloc", "free", "_Znwm", "_Znam", "_ZdlPv", "_ZdaPv", "_ZdlPvm", "_ZdaPvm"})
    if (function == name) return HeapCode::kWraps;
  // Those without a name the linker calls so.
  if (function.starts_with("__ockl_") || function.starts_with("__unnamed_"))
    return HeapCode::kLibrary;
  return HeapCode::kNone;
}

void DeviceHeap::add_code(HeapCode what, uint64_t begin, uint64_t end) {
  const std::unique_lock lock(code_mutex_);
  code_[begin] = {what, end};
  if (what == HeapCode::kAllocate || what == HeapCode::kFree)
    is_used_.store(true, std::memory_order_release);
}

HeapCode DeviceHeap::entry_at(uint64_t pc) const {
  const std::shared_lock lock(code_mutex_);
  const auto known = code_.find(pc);
  return known == code_.end() ? HeapCode::kNone : known->second.what;
}

bool DeviceHeap::is_library(uint64_t pc) const {
  const std::shared_lock lock(code_mutex_);
  const auto above = code_.upper_bound(pc);
  if (above == code_.begin()) return false;
  const Code& code = std::prev(above)->second;
  return pc < code.end && code.what != HeapCode::kWraps;
}

void DeviceHeap::took(uint64_t address, uint64_t size_bytes, uint64_t kernel_object,
                      const Place& place) {
  {
    const std::lock_guard lock(mutex_);
    freed_.erase(address);
    blocks_[address] = {size_bytes, place.pc.value};
    Known& known = sites_[place.pc.value];
    if (known.site.kernel_object == 0) known.site = {kernel_object, place, 0, 0};
    ++known.site.blocks;
    known.site.bytes += size_bytes;
    known.is_changed = true;
  }
  if ((address & kPageMask) != 0 && !has_unseen_code())
    listener_.began(address & ~(kSlabBytes - 1), address, size_bytes);
}

DeviceHeap::Freed DeviceHeap::gave_back(uint64_t address) {
  {
    const std::lock_guard lock(mutex_);
    const auto block = blocks_.find(address);
    if (block == blocks_.end()) return freed_.count(address) != 0 ? Freed::kTwice : Freed::kNowhere;
    Known& known = sites_[block->second.site];
    --known.site.blocks;
    known.site.bytes -= block->second.size_bytes;
    known.is_changed = true;
    if (freed_.size() >= kMostFreed) freed_.erase(freed_.begin());
    freed_[address] = block->second.size_bytes;
    blocks_.erase(block);
  }
  if ((address & kPageMask) != 0) listener_.ended(address);
  return Freed::kRight;
}

std::vector<HeapSite> DeviceHeap::changed_sites() {
  std::vector<HeapSite> changed;
  const std::lock_guard lock(mutex_);
  for (auto& [pc, known] : sites_)
    if (std::exchange(known.is_changed, false)) changed.push_back(known.site);
  return changed;
}

// One that a wave has made and that has not come back; and the function around it.
struct HeapWatch::Call {
  uint64_t return_pc = 0;  // 0: none
  uint64_t wrapper_return_pc = 0;
  uint64_t site = 0;
  uint64_t lanes = 0;
  uint64_t size_bytes[64] = {};
};

emu::Wants HeapWatch::wants(const isa::Program& program, int32_t index) noexcept {
  if (heap_ == nullptr) return {};
  const HeapCode entry = heap_->entry_at(program.pc_of(index).value);
  uintptr_t tag = entry == HeapCode::kLibrary ? 0 : static_cast<uintptr_t>(entry);
  if (index > 0 && program.insts()[index - 1].op == isa::Op::s_swappc_b64) tag |= kReturns;
  return {.before = tag != 0, .tag = tag};
}

void HeapWatch::workgroup_began(const emu::Workgroup& group, void*& state) noexcept {
  state = new std::vector<Call>(group.waves.size());
}

void HeapWatch::workgroup_ended(const emu::Workgroup&, void*& state) noexcept {
  delete static_cast<std::vector<Call>*>(state);
  state = nullptr;
}

void HeapWatch::before(const emu::WatchPoint& at) noexcept {
  Call& call = (*static_cast<std::vector<Call>*>(at.state))[at.wave.wave_in_group];
  if ((at.tag & kReturns) != 0) leave(at, call);
  if (const uintptr_t entry = at.tag & ~kReturns) enter(at, static_cast<HeapCode>(entry), call);
}

void HeapWatch::enter(const emu::WatchPoint& at, HeapCode what, Call& call) {
  const uint64_t return_pc = at.wave.s64(kReturnAddress);
  if (what == HeapCode::kWraps) {
    if (call.wrapper_return_pc == 0) call.wrapper_return_pc = return_pc;
    return;
  }
  const uint64_t from = call.wrapper_return_pc != 0 ? call.wrapper_return_pc : return_pc;
  if (what == HeapCode::kFree) return free_blocks(at, from - kSwappcBytes);
  call.return_pc = return_pc;
  call.site = from - kSwappcBytes;
  call.lanes = at.wave.exec();
  emu::for_each_lane(call.lanes,
                     [&](int lane) { call.size_bytes[lane] = lane_value(at.wave, lane); });
}

void HeapWatch::leave(const emu::WatchPoint& at, Call& call) {
  if (call.return_pc == at.pc.value) {
    Finding here = finding_at(Kind::kLeak, at, call.lanes);
    here.place.pc = {call.site};
    emu::for_each_lane(call.lanes, [&](int lane) {
      const uint64_t address = lane_value(at.wave, lane);
      if (address != 0 && call.size_bytes[lane] != 0)
        heap_->took(address, call.size_bytes[lane], at.wave.dispatch->kernel_object.value,
                    here.place);
    });
    call.return_pc = 0;
  }
  if (call.wrapper_return_pc == at.pc.value) call.wrapper_return_pc = 0;
}

void HeapWatch::free_blocks(const emu::WatchPoint& at, uint64_t site) {
  uint64_t twice = 0;
  uint64_t nowhere = 0;
  const bool judges = !is_quiet_ && !heap_->has_unseen_code();
  emu::for_each_lane(at.wave.exec(), [&](int lane) {
    const uint64_t address = lane_value(at.wave, lane);
    if (address == 0) return;
    const DeviceHeap::Freed freed = heap_->gave_back(address);
    if (freed == DeviceHeap::Freed::kTwice) twice |= uint64_t{1} << lane;
    if (freed == DeviceHeap::Freed::kNowhere) nowhere |= uint64_t{1} << lane;
  });
  if (!judges) return;
  const auto note = [&](Kind kind, uint64_t lanes, const char* what) {
    if (lanes == 0) return;
    Finding finding = finding_at(kind, at, lanes);
    finding.place.pc = {site};
    finding.detail = hex_text(lane_value(at.wave, finding.place.lane)) + what;
    findings().add(finding);
  };
  note(Kind::kHeapDoubleFree, twice, " was freed before");
  note(Kind::kHeapInvalidFree, nowhere, " is not the begin of a block");
}

}  // namespace wavetap::sanitize
