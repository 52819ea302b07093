#include "proof/captured_map.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "replay/host_services.h"

namespace wavetap::proof {
namespace {

const char* memory_name(const format::CaptureRegion& region) {
  switch (region.kind) {
    case format::CaptureMemoryKind::kVram: return "VRAM";
    case format::CaptureMemoryKind::kGtt: return "GTT";
    case format::CaptureMemoryKind::kUserptr: return "userptr";
    case format::CaptureMemoryKind::kSvm: return "SVM";
    default: return "";
  }
}

// How many bytes of the allocation the program asked for; 0: not known.
uint64_t requested_bytes(const replay::Capture& capture, const format::CaptureRegion& region) {
  const auto fact =
      capture.facts.find(format::kCaptureRequestedFact + std::to_string(region.allocation_address));
  if (fact == capture.facts.end() || region.address != region.allocation_address) return 0;
  const uint64_t bytes = std::strtoull(fact->second.c_str(), nullptr, 10);
  return bytes <= region.size_bytes ? bytes : 0;
}

}  // namespace

sanitize::FixedMap memory_map(const replay::Capture& capture) {
  std::vector<sanitize::FixedBlock> blocks;
  for (const replay::CapturedRegion& region : capture.regions) {
    if (!region.has_contents()) continue;
    const uint64_t requested = requested_bytes(capture, region.record);
    const uint64_t end = requested != 0 ? region.begin() + requested : region.end();
    const bool writable = (region.record.rights & format::kCaptureWritable) != 0;
    blocks.push_back({{region.begin(), end, writable}, memory_name(region.record), requested != 0});
  }
  // What the replay brings: for printf, and for the device's heap. It knows its own bounds.
  std::vector<replay::HostRange> own = replay::allocated_ranges(capture);
  own.push_back(replay::hostcall_range(capture));
  own.push_back(replay::fresh_heap_range(capture));
  for (const replay::HostRange& range : own)
    blocks.push_back(
        {{range.begin, range.begin + range.size_bytes, true}, "memory of the replay", false});
  return sanitize::FixedMap(std::move(blocks));
}

}  // namespace wavetap::proof
