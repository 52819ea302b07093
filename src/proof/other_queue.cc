#include "proof/other_queue.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "amd/aql.h"
#include "proof/moved_memory.h"

namespace wavetap::proof {
namespace {

constexpr uint64_t kCopyBytes = format::kCapturePageBytes;
constexpr uint64_t kQueueIdOffset = 32;  // of hsa_queue_t

}  // namespace

bool OtherQueue::prepare(uint64_t seed) {
  if (base_.value != 0) return true;
  const Result<GpuAddr> base = add_anywhere(memory_, 3 * kCopyBytes, seed);
  if (!base.ok()) return false;
  base_ = *base;
  return true;
}

// A page at most, as far as there is memory. How much it was.
uint64_t OtherQueue::copy(GpuAddr from, GpuAddr to) {
  const replay::CapturedRegion* const region = capture_.region_at(from.value);
  if (region == nullptr) return 0;
  // The page behind it may not have been kept.
  for (const uint64_t most : {kCopyBytes, kCopyBytes - from.value % kCopyBytes}) {
    const uint64_t size = std::min(most, region->end() - from.value);
    const std::span<const std::byte> old = std::as_const(memory_).bytes(from, size);
    const std::span<std::byte> place = memory_.bytes(to, size);
    if (old.empty() || place.empty()) continue;
    std::memcpy(place.data(), old.data(), size);
    return size;
  }
  return 0;
}

void OtherQueue::change(emu::Dispatch& dispatch) {
  const GpuAddr arguments = base_, packet = base_ + kCopyBytes, queue = base_ + 2 * kCopyBytes;
  dispatch.dispatch_id += 12345;
  if (copy(dispatch.queue, queue) > kQueueIdOffset + sizeof(uint64_t)) {
    memory_.bytes(queue + kQueueIdOffset, 1)[0] ^= std::byte{0x2a};
    dispatch.queue = queue;
  }
  const uint64_t argument_bytes = copy(dispatch.kernarg, arguments);
  if (argument_bytes != 0) dispatch.kernarg = arguments;
  for (const replay::CapturedArgument& argument : kernel_.arguments)
    if (argument.arg.value_kind == "hidden_queue_ptr" &&
        argument.arg.offset + sizeof dispatch.queue.value <= argument_bytes)
      std::memcpy(
          memory_.bytes(arguments + argument.arg.offset, sizeof dispatch.queue.value).data(),
          &dispatch.queue.value, sizeof dispatch.queue.value);
  if (copy(dispatch.packet, packet) < sizeof(amd::KernelDispatchPacket)) return;
  auto* const place = memory_.bytes(packet, sizeof(amd::KernelDispatchPacket)).data();
  amd::KernelDispatchPacket words{};
  std::memcpy(&words, place, sizeof words);
  words.kernarg_address = dispatch.kernarg.value;
  words.kernel_object = dispatch.kernel_object.value;
  words.completion_signal ^= 0x5a5a40;
  std::memcpy(place, &words, sizeof words);
  dispatch.packet = packet;
}

}  // namespace wavetap::proof
