// SDMA packets, as far as user-mode copy queues carry them (SDMA 4.x to 7.x). A packet is a run of
// little-endian dwords; the first names operation and sub-operation:
//
//   31          16 15     8 7      0
//   │ per packet  │ sub_op │  op   │
//
// Addresses take two dwords, low first. Counts are stored minus one unless said otherwise. Layouts
// follow the packet descriptions of the Linux driver (vega10_sdma_pkt_open.h,
// navi10_sdma_pkt_open.h) and what ROCr emits.
#pragma once

#include <cstdint>

namespace wavetap::amd {

enum class SdmaOp : uint8_t {
  kNop = 0,
  kCopy = 1,
  kWrite = 2,
  kFence = 5,
  kTrap = 6,
  kPollRegMem = 8,
  kAtomic = 10,
  kConstFill = 11,
  kTimestamp = 13,
  kSrbmWrite = 14,
  kGcr = 17,
};

enum class SdmaCopySub : uint8_t { kLinear = 0, kLinearSubWindow = 4 };
enum class SdmaTimestampSub : uint8_t { kSetLocal = 0, kGetLocal = 1, kGetGlobal = 2 };

constexpr SdmaOp sdma_op(uint32_t header) { return static_cast<SdmaOp>(header & 0xff); }
constexpr uint8_t sdma_sub_op(uint32_t header) { return static_cast<uint8_t>(header >> 8); }

inline constexpr uint32_t kSdmaMaxPacketDwords = 13;  // the longest of fixed length

// NOP: header bits 29:16 count the dwords that follow and are skipped.
constexpr uint32_t sdma_nop_payload_dwords(uint32_t header) { return (header >> 16) & 0x3fff; }

// COPY linear, 7 dwords: 1 count, 2 swap and cache policy, 3-4 source, 5-6 destination. With header
// bit 27 (broadcast) a second destination follows in 7-8.
inline constexpr uint32_t kSdmaCopyLinearDwords = 7;
inline constexpr uint32_t kSdmaCopyBroadcastDwords = 9;
inline constexpr uint32_t kSdmaCopyBroadcast = 1u << 27;
// 22 bits up to SDMA 4.2, 30 from 4.4 and 5.2; the rest reads as zero, so one mask serves.
inline constexpr uint32_t kSdmaCopyCountMask = 0x3fffffff;

// COPY linear sub-window, 13 dwords: 1-2 source, 3 x | y << 16, 4 z | pitch << 13, 5 slice pitch,
// 6-10 the same of the destination, 11 width | height << 16, 12 depth. Header bits 31:29 are log2
// of the element size; x, width and the pitches are in elements. SDMA 7 (gfx12) widens the fields.
inline constexpr uint32_t kSdmaCopySubWindowDwords = 13;
struct SdmaSubWindowLayout {
  uint32_t xy_mask;  // of x, y, width, height
  uint32_t z_mask;
  uint32_t pitch_shift;  // in the dword it shares with z
  uint32_t slice_mask;
};
inline constexpr SdmaSubWindowLayout kSdmaSubWindow{0x3fff, 0x7ff, 13, 0x0fffffff};
inline constexpr SdmaSubWindowLayout kSdmaSubWindowGfx12{0xffff, 0x3fff, 16, 0xffffffff};
constexpr uint32_t sdma_element_log2(uint32_t header) { return header >> 29; }

// WRITE untiled: 1-2 destination, 3 count of dwords, then the data.
inline constexpr uint32_t kSdmaWriteHeaderDwords = 4;
inline constexpr uint32_t kSdmaWriteCountMask = 0xfffff;

// FENCE, 4 dwords: 1-2 address, 3 data.
inline constexpr uint32_t kSdmaFenceDwords = 4;
// TRAP, 2 dwords: 1 interrupt context (28 bits): the event's id.
inline constexpr uint32_t kSdmaTrapDwords = 2;
inline constexpr uint32_t kSdmaTrapContextMask = 0x0fffffff;

// POLL_REGMEM, 6 dwords: 1-2 address, 3 reference, 4 mask, 5 interval and retries. Without
// kSdmaPollMemory it polls a register; ROCr uses that form only to flush the host data path.
inline constexpr uint32_t kSdmaPollDwords = 6;
inline constexpr uint32_t kSdmaPollMemory = 1u << 31;
constexpr uint32_t sdma_poll_function(uint32_t header) { return (header >> 28) & 7; }

// ATOMIC, 8 dwords: 1-2 address, 3-4 operand, 5-6 comparand, 7 loop interval. Header bits 31:25
// hold the operation, bit 16 asks to repeat a compare-and-swap until it succeeds.
inline constexpr uint32_t kSdmaAtomicDwords = 8;
inline constexpr uint32_t kSdmaAtomicLoop = 1u << 16;
constexpr uint32_t sdma_atomic_operation(uint32_t header) { return (header >> 25) & 0x7f; }

// CONST_FILL, 5 dwords: 1-2 destination, 3 pattern, 4 byte count minus one (emitters round it down
// to a whole element). Header bits 31:30 are log2 of the element size.
inline constexpr uint32_t kSdmaFillDwords = 5;
inline constexpr uint32_t kSdmaFillCountMask = 0x3fffffff;
constexpr uint32_t sdma_fill_element_log2(uint32_t header) { return header >> 30; }

// TIMESTAMP, 3 dwords: 1-2 address of the 64-bit result.
inline constexpr uint32_t kSdmaTimestampDwords = 3;
// SRBM_WRITE, 3 dwords: a register write.
inline constexpr uint32_t kSdmaSrbmWriteDwords = 3;
// GCR, 5 dwords: cache control.
inline constexpr uint32_t kSdmaGcrDwords = 5;

// POLL_REGMEM of SDMA and WAIT_REG_MEM of PM4 share the comparison codes.
enum class PollFunction : uint8_t {
  kAlways = 0,
  kLess = 1,
  kLessEqual = 2,
  kEqual = 3,
  kNotEqual = 4,
  kGreaterEqual = 5,
  kGreater = 6,
};

constexpr bool poll_passes(PollFunction function, uint64_t value, uint64_t reference) {
  switch (function) {
    case PollFunction::kAlways: return true;
    case PollFunction::kLess: return value < reference;
    case PollFunction::kLessEqual: return value <= reference;
    case PollFunction::kEqual: return value == reference;
    case PollFunction::kNotEqual: return value != reference;
    case PollFunction::kGreaterEqual: return value >= reference;
    case PollFunction::kGreater: return value > reference;
  }
  return true;  // 7 is reserved and does not wait
}

// Atomic operations of the L2 cache, as ATOMIC of SDMA and ATOMIC_MEM of PM4 encode them:
// bits 4:0 the operation, bit 5 64-bit operands, bit 6 no value returned.
enum class TcAtomic : uint8_t {
  kSwap = 7,
  kCompareSwap = 8,
  kAdd = 15,
  kSub = 16,
  kSignedMin = 17,
  kUnsignedMin = 18,
  kSignedMax = 19,
  kUnsignedMax = 20,
  kAnd = 21,
  kOr = 22,
  kXor = 23,
  kIncrementWrap = 24,
  kDecrementWrap = 25,
};
inline constexpr uint32_t kTcAtomic64 = 1u << 5;
constexpr TcAtomic tc_atomic(uint32_t operation) { return static_cast<TcAtomic>(operation & 0x1f); }

}  // namespace wavetap::amd
