// PM4 packets of the compute micro-engine, as far as user-mode queues carry them: inside AQL vendor
// packets (an indirect buffer that ROCr fills) and in PM4 compute queues.
//
//   31 30 29       16 15      8 7      0
//   │type│  count    │ opcode  │  flags │     type 3; count + 1 dwords follow
//
// Field positions are those of the Linux driver (soc15d.h, nvd.h, kfd_pm4_headers_ai.h).
#pragma once

#include <cstdint>

namespace wavetap::amd {

enum class Pm4Op : uint8_t {
  kNop = 0x10,
  kAtomicMem = 0x1e,
  kPredExec = 0x23,
  kWriteData = 0x37,
  kWaitRegMem = 0x3c,
  kIndirectBuffer = 0x3f,
  kCopyData = 0x40,
  kPfpSyncMe = 0x42,
  kSurfaceSync = 0x43,
  kEventWrite = 0x46,
  kReleaseMem = 0x49,
  kDmaData = 0x50,
  kAcquireMem = 0x58,
  kWaitRegMem64 = 0x93,
};

constexpr uint32_t pm4_type(uint32_t header) { return header >> 30; }
constexpr Pm4Op pm4_op(uint32_t header) { return static_cast<Pm4Op>((header >> 8) & 0xff); }
constexpr uint32_t pm4_count(uint32_t header) { return (header >> 16) & 0x3fff; }
// A NOP with the largest count is a single dword of padding.
inline constexpr uint32_t kPm4NopSingle = 0x3fff;
constexpr uint32_t pm4_header(Pm4Op op, uint32_t packet_dwords) {
  return (3u << 30) | ((packet_dwords - 2) << 16) | (static_cast<uint32_t>(op) << 8);
}

// WRITE_DATA: 1 control, 2-3 address, then data. COPY_DATA: 1 control, 2-3 source, 4-5 destination.
inline constexpr uint32_t kPm4WriteOneAddress = 1u << 16;  // do not increment
constexpr uint32_t pm4_destination_select(uint32_t control) { return (control >> 8) & 0xf; }
constexpr bool pm4_destination_is_memory(uint32_t control) {
  const uint32_t select = pm4_destination_select(control);
  return select == 1 || select == 2 || select == 5;  // memory (sync), L2, memory (async)
}
enum class Pm4CopySource : uint8_t {
  kRegister = 0,
  kMemory = 1,
  kL2 = 2,
  kImmediate = 5,
  kAtomicReturn = 6,
  kGpuClock = 9,
};
constexpr Pm4CopySource pm4_copy_source(uint32_t control) {
  return static_cast<Pm4CopySource>(control & 0xf);
}
inline constexpr uint32_t kPm4Copy64 = 1u << 16;

// WAIT_REG_MEM: 1 control (function 2:0, memory space 5:4), 2-3 address, 4 reference, 5 mask, 6
// interval. WAIT_REG_MEM64: reference in 4-5, mask in 6-7.
constexpr bool pm4_wait_is_memory(uint32_t control) { return ((control >> 4) & 3) == 1; }

// ATOMIC_MEM: 1 control (operation 6:0, command 11:8 with 1 = repeat until the compare succeeds),
// 2-3 address, 4-5 operand, 6-7 comparand.
constexpr uint32_t pm4_atomic_operation(uint32_t control) { return control & 0x7f; }
constexpr bool pm4_atomic_loops(uint32_t control) { return ((control >> 8) & 0xf) == 1; }

// RELEASE_MEM: 1 event, 2 data_sel 31:29 and int_sel 26:24, 3-4 address, 5-6 data, 7 interrupt
// context.
enum class Pm4ReleaseData : uint8_t { kNone = 0, kLow32 = 1, k64 = 2, kGpuClock = 3 };
constexpr Pm4ReleaseData pm4_release_data(uint32_t select) {
  return static_cast<Pm4ReleaseData>(select >> 29);
}
constexpr bool pm4_release_interrupts(uint32_t select) { return ((select >> 24) & 7) != 0; }

// ACQUIRE_MEM: 7 dwords up to gfx9 (control in 1), 8 from gfx10 (control in 7). 2-3 size, 4-5 base,
// both in units of 256 bytes.
inline constexpr uint32_t kPm4AcquireInstructionCache = 1u << 29;  // gfx9, dword 1
inline constexpr uint32_t kPm4AcquireGliMask = 3;                  // gfx10+, dword 7

// INDIRECT_BUFFER: 1-2 address, 3 size in dwords (19:0).
inline constexpr uint32_t kPm4IbSizeMask = 0xfffff;

// DMA_DATA: 1 control (dst_sel 21:20, src_sel 30:29), 2-3 source, 4-5 destination, 6 byte count.
// 0, 3 memory; 2 data.
constexpr uint32_t pm4_dma_source(uint32_t control) { return (control >> 29) & 3; }
// 0, 3 memory.
constexpr uint32_t pm4_dma_destination(uint32_t control) { return (control >> 20) & 3; }
inline constexpr uint32_t kPm4DmaCountMask = 0x3ffffff;

// PRED_EXEC: 1 count of dwords to run (13:0) when the XCC is selected (31:24).
inline constexpr uint32_t kPm4PredCountMask = 0x3fff;

}  // namespace wavetap::amd
