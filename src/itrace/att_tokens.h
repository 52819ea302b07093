// The tokens of a gfx9 thread trace, as numbers.
#pragma once

#include <cstdint>

namespace wavetap::itrace::att {

enum TokenType : uint8_t {
  kMisc,
  kTime,
  kReg,
  kWaveStart,
  kWaveAlloc,
  kRegCs,
  kWaveEnd,
  kEvent,
  kEventCs,
  kEventGfx1,
  kInst,
  kInstPc,
  kShaderData,
  kIssue,
  kPerf,
  kRegCsPriv,
};
inline constexpr uint8_t kTokenBytes[16] = {2, 8, 8, 4, 2, 6, 2, 2, 2, 2, 2, 8, 6, 4, 8, 6};

enum MiscType : uint8_t { kMiscTime, kMiscTimeReset, kMiscPacketLost };

// What ISSUE says of a wave.
enum IssueState : uint8_t { kNothing, kStalled, kIssued, kImmediate };

enum InstType : uint8_t {
  kSmemRead = 0,
  kSalu32 = 1,
  kVmemRead = 2,
  kVmemWrite = 3,
  kFlatWrite = 4,
  kValu32 = 5,
  kLds = 6,
  kPc = 7,
  kJump = 12,
  kNext = 13,
  kFlatRead = 14,
  kMessage = 15,
  kSmemWrite = 16,
  kSalu64 = 17,
  kValu64 = 18,
  kMatrix = 28,
};

// Compute registers of REG_CS, and where REG writes go.
inline constexpr uint32_t kPgmLo = 0xc;
inline constexpr uint32_t kPgmHi = 0xd;
inline constexpr uint32_t kUserData0 = 0xc340;
inline constexpr uint32_t kUserData2 = 0xc342;

// Written to USERDATA2: a mark, then pairs of a header (opcode, field) and a value.
inline constexpr uint32_t kEnableMark =
    uint32_t{'R'} << 8 | uint32_t{'O'} << 16 | uint32_t{'C'} << 24;
inline constexpr uint32_t kCodeObjectOpcode = 4;
enum CodeObjectField : uint8_t { kTail, kSizeLo, kAddressLo, kAddressHi, kSizeHi, kIdLo, kIdHi };
inline constexpr uint32_t kLoadedBefore = 2;  // in the tail
inline constexpr uint32_t kUnloads = 1;

// Written to USERDATA0, which nobody else uses: the times behind it are modelled.
inline constexpr uint32_t kModelledMark = 0x4d505457;  // "WTPM"

inline constexpr uint32_t kSlots = 10;
inline constexpr uint32_t kSimds = 4;
inline constexpr int64_t kStep = 4;  // cycles of a delta

constexpr uint64_t field(uint64_t token, int low, int high) {
  return token >> low & ((uint64_t{1} << (high - low + 1)) - 1);
}

}  // namespace wavetap::itrace::att
