// AQL packets, signals and the queue structure, as the HSA ABI lays them out. Ours, so that the
// engine builds and runs where no ROCm headers exist.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wavetap::amd {

inline constexpr uint32_t kAqlPacketBytes = 64;

enum class PacketType : uint8_t {
  kVendorSpecific = 0,
  kInvalid = 1,
  kKernelDispatch = 2,
  kBarrierAnd = 3,
  kAgentDispatch = 4,
  kBarrierOr = 5,
};

// header: type:8 barrier:1 acquire:2 release:2
struct KernelDispatchPacket {
  uint16_t header;
  uint16_t setup;  // dimensions:2
  uint16_t workgroup_size[3];
  uint16_t reserved0;
  uint32_t grid_size[3];
  uint32_t private_segment_size;
  uint32_t group_segment_size;
  uint64_t kernel_object;
  uint64_t kernarg_address;
  uint64_t reserved2;
  uint64_t completion_signal;
};
static_assert(sizeof(KernelDispatchPacket) == 64 &&
              offsetof(KernelDispatchPacket, kernel_object) == 32 &&
              offsetof(KernelDispatchPacket, completion_signal) == 56);

struct BarrierPacket {  // AND and OR
  uint16_t header;
  uint16_t reserved0;
  uint32_t reserved1;
  uint64_t dep_signal[5];
  uint64_t reserved2;
  uint64_t completion_signal;
};
static_assert(sizeof(BarrierPacket) == 64);

// Vendor packets: byte 2 of the first dword names the format.
enum class VendorFormat : uint8_t { kPm4Ib = 1, kBarrierValue = 2 };

struct BarrierValuePacket {
  uint16_t header;
  uint8_t format;
  uint8_t reserved0;
  uint32_t reserved1;
  uint64_t signal;
  int64_t value;
  int64_t mask;
  uint32_t condition;  // 0 EQ, 1 NE, 2 LT, 3 GTE
  uint32_t reserved2;
  uint64_t reserved3[2];
  uint64_t completion_signal;
};
static_assert(sizeof(BarrierValuePacket) == 64 && offsetof(BarrierValuePacket, condition) == 32);

struct Pm4IbPacket {
  uint16_t header;
  uint8_t format;
  uint8_t reserved0;
  uint32_t ib_jump[4];  // one PM4 INDIRECT_BUFFER
  uint32_t dw_count_remain;
  uint32_t reserved1[8];
  uint64_t completion_signal;
};
static_assert(sizeof(Pm4IbPacket) == 64 && offsetof(Pm4IbPacket, completion_signal) == 56);

// amd_signal_t
struct Signal {
  int64_t kind;
  int64_t value;
  uint64_t event_mailbox_ptr;
  uint32_t event_id;
  uint32_t reserved1;
  uint64_t start_ts;
  uint64_t end_ts;
  uint64_t queue_ptr;
  uint32_t reserved3[2];
};
static_assert(sizeof(Signal) == 64 && offsetof(Signal, start_ts) == 32);

// Offsets inside amd_queue_t that the command processor uses.
inline constexpr uint32_t kQueueWriteDispatchId = 0x38;
inline constexpr uint32_t kQueueGroupApertureHi = 0x40;
inline constexpr uint32_t kQueuePrivateApertureHi = 0x44;
inline constexpr uint32_t kQueueReadDispatchId = 0x80;
// u32: offset of read_dispatch_id from the queue.
inline constexpr uint32_t kQueueReadDispatchIdOffsetField = 0x88;
inline constexpr uint32_t kQueueScratchResourceDescriptor = 0x90;  // 4 dwords
inline constexpr uint32_t kQueueScratchBackingLocation = 0xa0;     // u64
inline constexpr uint32_t kQueueScratchWave64LaneBytes = 0xb0;
inline constexpr uint32_t kQueueInactiveSignal = 0xc0;  // hsa_signal_t

}  // namespace wavetap::amd
