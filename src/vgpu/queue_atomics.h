// The L2 cache's atomic operations, which SDMA and PM4 packets ask for by number.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>

#include "amd/sdma.h"
#include "base/gpu_addr.h"
#include "vgpu/queue_memory.h"

namespace wavetap::vgpu {

constexpr bool is_known_atomic(amd::TcAtomic operation) {
  switch (operation) {
    case amd::TcAtomic::kSwap:
    case amd::TcAtomic::kCompareSwap:
    case amd::TcAtomic::kAdd:
    case amd::TcAtomic::kSub:
    case amd::TcAtomic::kSignedMin:
    case amd::TcAtomic::kUnsignedMin:
    case amd::TcAtomic::kSignedMax:
    case amd::TcAtomic::kUnsignedMax:
    case amd::TcAtomic::kAnd:
    case amd::TcAtomic::kOr:
    case amd::TcAtomic::kXor:
    case amd::TcAtomic::kIncrementWrap:
    case amd::TcAtomic::kDecrementWrap: return true;
  }
  return false;
}

// The value memory holds afterwards. T is unsigned.
template <class T>
constexpr T apply_atomic(amd::TcAtomic operation, T memory, T operand, T comparand) {
  using Signed = std::make_signed_t<T>;
  switch (operation) {
    case amd::TcAtomic::kSwap: return operand;
    case amd::TcAtomic::kCompareSwap: return memory == comparand ? operand : memory;
    case amd::TcAtomic::kAdd: return memory + operand;
    case amd::TcAtomic::kSub: return memory - operand;
    case amd::TcAtomic::kSignedMin:
      return static_cast<Signed>(operand) < static_cast<Signed>(memory) ? operand : memory;
    case amd::TcAtomic::kUnsignedMin: return operand < memory ? operand : memory;
    case amd::TcAtomic::kSignedMax:
      return static_cast<Signed>(operand) > static_cast<Signed>(memory) ? operand : memory;
    case amd::TcAtomic::kUnsignedMax: return operand > memory ? operand : memory;
    case amd::TcAtomic::kAnd: return memory & operand;
    case amd::TcAtomic::kOr: return memory | operand;
    case amd::TcAtomic::kXor: return memory ^ operand;
    case amd::TcAtomic::kIncrementWrap: return memory >= operand ? 0 : memory + 1;
    case amd::TcAtomic::kDecrementWrap:
      return memory == 0 || memory > operand ? operand : memory - 1;
  }
  return memory;
}

struct AtomicRequest {
  uint32_t operation = 0;  // as encoded
  GpuAddr address;
  uint64_t operand = 0;
  uint64_t comparand = 0;
};

// Executes a known operation; *old is the value before. False: memory.fault().
inline bool execute_atomic(GuestMemory& memory, const AtomicRequest& request, uint64_t* old) {
  const amd::TcAtomic operation = amd::tc_atomic(request.operation);
  if (request.operation & amd::kTcAtomic64) {
    return memory.modify<uint64_t>(request.address, old, [&](uint64_t value) {
      return apply_atomic<uint64_t>(operation, value, request.operand, request.comparand);
    });
  }
  uint32_t old32 = 0;
  const bool done = memory.modify<uint32_t>(request.address, &old32, [&](uint32_t value) {
    return apply_atomic<uint32_t>(operation, value, static_cast<uint32_t>(request.operand),
                                  static_cast<uint32_t>(request.comparand));
  });
  *old = old32;
  return done;
}

// Whether a repeated compare-and-swap has got through, given the value before.
constexpr bool compare_succeeded(const AtomicRequest& request, uint64_t old) {
  if (amd::tc_atomic(request.operation) != amd::TcAtomic::kCompareSwap) return true;
  const uint64_t mask = request.operation & amd::kTcAtomic64 ? ~uint64_t{0} : 0xffffffffu;
  return (old & mask) == (request.comparand & mask);
}

}  // namespace wavetap::vgpu
