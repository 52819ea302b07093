// How attributes of .debug_info and fields of .debug_line are stored: DWARF 5 section 7.5.6.
#pragma once

#include <cstdint>

namespace wavetap::codeobj::dwarf {

// clang-format off
enum Form : uint16_t {
  kAddr = 0x01, kBlock2 = 0x03, kBlock4 = 0x04, kData2 = 0x05, kData4 = 0x06, kData8 = 0x07,
  kString = 0x08, kBlock = 0x09, kBlock1 = 0x0a, kData1 = 0x0b, kFlag = 0x0c, kSdata = 0x0d,
  kStrp = 0x0e, kUdata = 0x0f, kRefAddr = 0x10, kRef1 = 0x11, kRef2 = 0x12, kRef4 = 0x13,
  kRef8 = 0x14, kRefUdata = 0x15, kIndirect = 0x16, kSecOffset = 0x17, kExprloc = 0x18,
  kFlagPresent = 0x19, kStrx = 0x1a, kAddrx = 0x1b, kRefSup4 = 0x1c, kStrpSup = 0x1d,
  kData16 = 0x1e, kLineStrp = 0x1f, kRefSig8 = 0x20, kImplicitConst = 0x21, kLoclistx = 0x22,
  kRnglistx = 0x23, kRefSup8 = 0x24, kStrx1 = 0x25, kStrx2 = 0x26, kStrx3 = 0x27, kStrx4 = 0x28,
  kAddrx1 = 0x29, kAddrx2 = 0x2a, kAddrx3 = 0x2b, kAddrx4 = 0x2c,
};
// clang-format on

}  // namespace wavetap::codeobj::dwarf
