#include "replay/hostcall.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "amd/aql.h"
#include "base/result.h"

namespace wavetap::replay {
namespace {

constexpr uint32_t kFewestPackets = 64;
// More waves than any GPU holds at once.
constexpr uint32_t kMostPackets = 16 * 1024;
// Of one printf; a kernel that never ends its message does not take all memory.
constexpr size_t kMostMessageWords = 1u << 20;
constexpr size_t kMostMessages = 1u << 16;

enum Service : uint32_t { kFunctionCall = 1, kPrintf = 2, kDeviceMemory = 3 };

constexpr uint64_t kSignalOffset = 128;
constexpr uint64_t kMailboxOffset = 192;
constexpr uint64_t kHeadersOffset = 256;
constexpr uint64_t kPayloadBytes = 64 * 8 * sizeof(uint64_t);

struct Buffer {
  uint64_t headers, payloads, signal;
  uint64_t free_stack, ready_stack, index_mask;
};
struct Header {
  uint64_t next, lanes;
  uint32_t service, control;
};
static_assert(sizeof(Buffer) == 48 && sizeof(Header) == 24);

uint64_t payloads_offset(uint32_t packets) {
  return (kHeadersOffset + packets * sizeof(Header) + 4095) / 4096 * 4096;
}

// Parts of the first word of a message.
constexpr uint64_t kBegins = 1 << 0;
constexpr uint64_t kEnds = 1 << 1;
constexpr int kLengthShift = 5;
constexpr int kNumberShift = 8;

}  // namespace

uint64_t HostcallServer::bytes_for(uint32_t packets) {
  return payloads_offset(packets) + packets * kPayloadBytes;
}

uint32_t HostcallServer::packets_for(uint64_t waves) {
  return std::bit_ceil(
      static_cast<uint32_t>(std::clamp<uint64_t>(waves, kFewestPackets, kMostPackets)));
}

HostcallServer::HostcallServer(std::span<std::byte> memory, uint64_t address, uint32_t packets,
                               bool interrupts, HostServices services)
    : memory_(memory),
      address_(address),
      packets_(packets),
      interrupts_(interrupts),
      services_(std::move(services)) {
  reset();
}

void HostcallServer::reset() {
  const std::lock_guard lock(mutex_);
  messages_.clear();
  next_message_ = 0;
  refusal_.clear();
  std::memset(memory_.data(), 0, payloads_offset(packets_));
  Buffer buffer{};
  buffer.headers = address_ + kHeadersOffset;
  buffer.payloads = address_ + payloads_offset(packets_);
  buffer.signal = address_ + kSignalOffset;
  buffer.index_mask = packets_ - 1;
  // 0 is the end of a stack, so packet 0 has a tag from the start.
  uint64_t below = 0;
  for (uint32_t i = 0; i < packets_; ++i) {
    const Header header{below, 0, 0, 0};
    std::memcpy(memory_.data() + kHeadersOffset + i * sizeof header, &header, sizeof header);
    below = i == 0 ? packets_ : i;
  }
  buffer.free_stack = below;
  std::memcpy(memory_.data(), &buffer, sizeof buffer);
  amd::Signal signal{};
  signal.kind = 1;
  signal.event_mailbox_ptr = interrupts_ ? address_ + kMailboxOffset : 0;
  signal.event_id = interrupts_ ? 1 : 0;
  std::memcpy(memory_.data() + kSignalOffset, &signal, sizeof signal);
}

bool HostcallServer::serve() {
  const std::lock_guard lock(mutex_);
  auto* ready = reinterpret_cast<uint64_t*>(memory_.data() + offsetof(Buffer, ready_stack));
  // Pairs with the wave's release when it pushes: what it wrote into the packet is visible.
  uint64_t at = __atomic_exchange_n(ready, 0, __ATOMIC_ACQUIRE);
  // Each packet once, whatever a kernel made of the links.
  for (uint32_t seen = 0; at != 0 && seen < packets_ && refusal_.empty(); ++seen) {
    const uint64_t index = at & (packets_ - 1);
    std::byte* place = memory_.data() + kHeadersOffset + index * sizeof(Header);
    Header header;
    std::memcpy(&header, place, sizeof header);
    std::byte* payload = memory_.data() + payloads_offset(packets_) + index * kPayloadBytes;
    for (uint64_t lanes = header.lanes; lanes != 0; lanes &= lanes - 1) {
      std::byte* lane = payload + static_cast<uint64_t>(std::countr_zero(lanes)) * 64;
      uint64_t words[8];
      std::memcpy(words, lane, sizeof words);
      if (!answer(header.service, words)) return false;
      std::memcpy(lane, words, 2 * sizeof words[0]);
    }
    at = header.next;
    // Pairs with the wave's acquire when it sees the bit clear: the answer is there.
    __atomic_store_n(reinterpret_cast<uint32_t*>(place + offsetof(Header, control)),
                     header.control & ~1u, __ATOMIC_RELEASE);
  }
  return refusal_.empty();
}

std::string HostcallServer::refusal() const {
  const std::lock_guard lock(mutex_);
  return refusal_;
}

bool HostcallServer::answer(uint32_t service, uint64_t* words) {
  switch (service) {
    case kPrintf: return take_message(words);
    case kDeviceMemory:
      if (words[0] != 0) services_.release(words[0]);
      else words[0] = services_.allocate(words[1]);
      return true;
    case kFunctionCall:
      refusal_ = "calls a function of the program on the host, and the program is not here";
      return false;
    default:
      refusal_ =
          errorf("asks the host for service %u, which a replay does not have", service).message;
      return false;
  }
}

bool HostcallServer::take_message(uint64_t* words) {
  uint64_t number = words[0] >> kNumberShift;
  if ((words[0] & kBegins) != 0) {
    number = next_message_++;
    messages_[number];
    words[0] = (words[0] & 0xff & ~kBegins) | number << kNumberShift;
  }
  const auto message = messages_.find(number);
  const uint64_t length = words[0] >> kLengthShift & 7;
  if (message == messages_.end() || messages_.size() > kMostMessages ||
      message->second.size() + length > kMostMessageWords) {
    refusal_ = "prints in a way that makes no sense";
    return false;
  }
  message->second.insert(message->second.end(), words + 1, words + 1 + length);
  if ((words[0] & kEnds) == 0) return true;
  const std::vector<uint64_t>& all = message->second;
  const std::string text =
      all.empty() ? "" : format_printf(std::span<const uint64_t>(all).subspan(1));
  if (services_.print && !text.empty()) services_.print(text, (all[0] & 1) != 0);
  words[0] = text.size();
  messages_.erase(message);
  return true;
}

}  // namespace wavetap::replay
