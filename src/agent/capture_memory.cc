#include "agent/capture_memory.h"

#include <algorithm>
#include <cstring>

#include "agent/allocations.h"
#include "agent/captured_code.h"
#include "agent/hsa_facts.h"
#include "agent/hsa_table.h"
#include "record/layout.h"

namespace wavetap::agent {
namespace {

using format::CaptureMemoryKind;
using format::CaptureMemoryOrigin;
using format::MemoryKind;

constexpr uint64_t kPage = format::kCapturePageBytes;
constexpr uint64_t kChunkBytes = 4u << 20;
constexpr uint32_t kReadWrite = format::kCaptureReadable | format::kCaptureWritable;

void add(std::vector<ReachableRange>& ranges, ReachableRange range, uint64_t address,
         uint64_t bytes) {
  if (address == 0 || bytes == 0) return;
  range.data = address;
  range.data_bytes = bytes;
  range.address = address / kPage * kPage;
  range.bytes = (address + bytes + kPage - 1) / kPage * kPage - range.address;
  if (range.allocation == 0) {
    range.allocation = address;
    range.allocation_bytes = bytes;
  }
  ranges.push_back(range);
}

void add_allocation(std::vector<ReachableRange>& ranges, const LiveAllocation& allocation) {
  ReachableRange range;
  range.rights = kReadWrite;
  range.origin = CaptureMemoryOrigin::kDriver;
  switch (allocation.source) {
    case MemorySource::kLocked: range.kind = CaptureMemoryKind::kUserptr; break;
    case MemorySource::kShared:
      range.kind = CaptureMemoryKind::kSvm;
      range.origin = CaptureMemoryOrigin::kSvm;
      break;
    case MemorySource::kImported:
      range.kind = CaptureMemoryKind::kVram;
      range.origin = CaptureMemoryOrigin::kImported;
      break;
    case MemorySource::kMapped:
      range.kind = CaptureMemoryKind::kVram;
      range.origin = CaptureMemoryOrigin::kBound;
      break;
    case MemorySource::kReserved: return;
    default: {
      const bool on_host = allocation.kind == MemoryKind::kHost ||
                           allocation.kind == MemoryKind::kKernarg ||
                           allocation.agent == host_agent();
      range.kind = on_host ? CaptureMemoryKind::kGtt : CaptureMemoryKind::kVram;
    }
  }
  if (allocation.kind == MemoryKind::kFineGrained || allocation.kind == MemoryKind::kKernarg)
    range.flags |= format::kCaptureFineGrained;
  if (range.kind != CaptureMemoryKind::kVram) range.host = allocation.address;
  range.allocation = allocation.gpu_address;
  range.allocation_bytes = allocation.bytes;
  add(ranges, range, allocation.gpu_address, allocation.bytes);
}

// The packet and the queue's own structure: what a kernel is given pointers to.
void add_queue(std::vector<ReachableRange>& ranges, const DispatchView& dispatch) {
  ReachableRange range;
  range.rights = kReadWrite;
  range.kind = CaptureMemoryKind::kGtt;
  range.origin = CaptureMemoryOrigin::kDriver;
  for (const auto& [address, bytes] :
       {std::pair{dispatch.packet_address, uint64_t{amd::kAqlPacketBytes}},
        std::pair{reinterpret_cast<uint64_t>(dispatch.real_queue), uint64_t{kAmdQueueBytes}}}) {
    range.host = address;
    add(ranges, range, address, bytes);
  }
}

// Where ranges share a page, the first one has it.
void make_disjoint(std::vector<ReachableRange>& ranges) {
  std::stable_sort(
      ranges.begin(), ranges.end(),
      [](const ReachableRange& a, const ReachableRange& b) { return a.address < b.address; });
  std::vector<ReachableRange> kept;
  for (ReachableRange range : ranges) {
    if (!kept.empty()) {
      const uint64_t taken = kept.back().address + kept.back().bytes;
      if (range.address + range.bytes <= taken) continue;
      if (range.address < taken) {
        range.bytes -= taken - range.address;
        range.address = taken;
        const uint64_t skipped = range.data < taken ? taken - range.data : 0;
        if (range.host != 0) range.host += skipped;
        range.data += skipped;
        range.data_bytes -= std::min(skipped, range.data_bytes);
      }
    }
    kept.push_back(range);
  }
  ranges = std::move(kept);
}

}  // namespace

std::vector<ReachableRange> reachable_ranges(const DispatchView& dispatch) {
  std::vector<ReachableRange> ranges;
  allocations(MemoryLayer::kRuntime).each([&](const LiveAllocation& allocation) {
    add_allocation(ranges, allocation);
  });
  // ROCr 6 does not know whose memory lies in a reserved range, and would read it with the processor.
  for (ReachableRange& range : ranges)
    if (range.origin == CaptureMemoryOrigin::kBound) range.agent = dispatch.agent;
  for_each_code(dispatch.agent, [&](const CodeInMemory& code) {
    ReachableRange range;
    range.rights = kReadWrite | format::kCaptureExecutable;
    range.kind = CaptureMemoryKind::kVram;
    range.origin = CaptureMemoryOrigin::kDriver;
    add(ranges, range, code.load_base, code.load_bytes);
  });
  add_queue(ranges, dispatch);
  make_disjoint(ranges);
  return ranges;
}

RangeReader::RangeReader() {
  void* memory = nullptr;
  if (shared_pool() != 0 &&
      hsa().hsa_amd_memory_pool_allocate(shared_pool(), kChunkBytes, 0, &memory) == kHsaSuccess) {
    is_runtimes_ = true;
    // Memory of another GPU is copied by that one.
    std::vector<uint64_t> gpus;
    for (uint32_t i = 0; gpu_agent(i) != 0; ++i) gpus.push_back(gpu_agent(i));
    hsa().hsa_amd_agents_allow_access(static_cast<uint32_t>(gpus.size()), gpus.data(), nullptr,
                                      memory);
    buffer_ = static_cast<std::byte*>(memory);
    return;
  }
  own_.resize(kChunkBytes);
  buffer_ = own_.data();
}

RangeReader::~RangeReader() {
  if (is_runtimes_) hsa().hsa_amd_memory_pool_free(buffer_);
}

bool RangeReader::copy_by(uint64_t agent, const void* from, uint64_t bytes, std::byte* to) {
  constexpr uint32_t kLess = 2;
  constexpr uint32_t kBlocked = 0;
  uint64_t done = 0;
  if (!is_runtimes_ || hsa().hsa_signal_create(1, 0, nullptr, &done) != kHsaSuccess) return false;
  bool is_copied = hsa().hsa_amd_memory_async_copy(to, host_agent_handle(), from, agent, bytes, 0,
                                                   nullptr, done) == kHsaSuccess;
  if (is_copied)
    is_copied = hsa().hsa_signal_wait_scacquire(done, kLess, 1, UINT64_MAX, kBlocked) >= 0;
  hsa().hsa_signal_destroy(done);
  return is_copied;
}

bool RangeReader::copy(const ReachableRange& range, uint64_t offset, uint64_t bytes,
                       std::byte* to) {
  if (range.agent != 0)
    return copy_by(range.agent, reinterpret_cast<const void*>(range.data + offset), bytes, to);
  if (range.host == 0)
    return hsa().hsa_memory_copy(to, reinterpret_cast<const void*>(range.data + offset), bytes) ==
           kHsaSuccess;
  return record::copy_from_unsure(to, reinterpret_cast<const void*>(range.host + offset), bytes) ==
         bytes;
}

bool RangeReader::read(const ReachableRange& range,
                       const std::function<void(uint32_t, const std::byte*)>& visit) {
  bool all_read = true;
  for (uint64_t chunk = 0; chunk < range.bytes; chunk += kChunkBytes) {
    const uint64_t bytes = std::min(kChunkBytes, range.bytes - chunk);
    const uint64_t begin = std::max(range.address + chunk, range.data);
    const uint64_t end = std::min(range.address + chunk + bytes, range.data + range.data_bytes);
    if (begin >= end) continue;
    std::byte* const data = buffer_ + (begin - (range.address + chunk));
    std::memset(buffer_, 0, static_cast<size_t>(data - buffer_));
    std::memset(data + (end - begin), 0, buffer_ + bytes - (data + (end - begin)));
    if (!copy(range, begin - range.data, end - begin, data)) {
      all_read = false;
      continue;
    }
    for (uint64_t at = 0; at < bytes; at += kPage)
      visit(static_cast<uint32_t>((chunk + at) / kPage), buffer_ + at);
  }
  return all_read;
}

}  // namespace wavetap::agent
