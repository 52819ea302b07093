// Random code and random descriptors. Whatever they are, the host must survive: no undefined
// behaviour, no access outside guest memory, an end within the watchdog's limit.
//
// Input: 1 byte target, 1 byte flags, 12 bytes of descriptor (rsrc1, rsrc2, properties, preload), 4
// bytes of sizes, then code. The random driver's inputs are used as they are; every second one has
// its code bytes shaped into plausible instructions by borrowing the encoding prefixes of real
// ones.
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "emu/engine.h"
#include "emu/testing/kernel.h"

namespace wavetap::emu {
namespace {

constexpr amd::GfxTarget kTargets[] = {{9, 0, 6}, {9, 0, 8},  {9, 0, 10},
                                       {9, 4, 2}, {10, 3, 0}, {11, 0, 0}};

struct Reader {
  const uint8_t* at;
  size_t left;
  template <class T>
  T take() {
    T value{};
    const size_t n = left < sizeof(T) ? left : sizeof(T);
    if (n != 0) std::memcpy(&value, at, n);  // an empty input has no address
    at += n;
    left -= n;
    return value;
  }
};

// First bytes (most significant of the first dword) of common encodings.
constexpr uint8_t kPrefixes[] = {0x7e, 0x02, 0x04, 0x20, 0x32, 0x38, 0x7c, 0x7d, 0xd1, 0xd2,
                                 0xd3, 0xd5, 0xd6, 0xcc, 0xcd, 0xd8, 0xd9, 0xda, 0xdb, 0xdc,
                                 0xdd, 0xe0, 0xe1, 0xc0, 0xc1, 0xf4, 0x80, 0x82, 0x86, 0x8f,
                                 0x90, 0xb0, 0xb8, 0xbe, 0xbf, 0xd0, 0xd4, 0xc8, 0xca};

}  // namespace
}  // namespace wavetap::emu

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace wavetap;
  using namespace wavetap::emu;
  static Engine* engine = new Engine({.threads = 1, .watchdog_instructions = 300});
  Reader in{data, size};
  const amd::GfxTarget target = kTargets[in.take<uint8_t>() % std::size(kTargets)];
  const auto flags = in.take<uint8_t>();

  TestMemory memory;
  memory.map(TestKernel::kObject, 0x2000, /*writable=*/true, /*executable=*/true);
  memory.map(TestKernel::kArguments, 0x1000);
  memory.map(TestKernel::kData, 0x2000, (flags & 1) == 0);
  amd::KernelDescriptor kernel{};
  kernel.entry_offset = 0x100;
  kernel.rsrc1 = in.take<uint32_t>();
  kernel.rsrc2 = in.take<uint32_t>();
  kernel.rsrc3 = kernel.rsrc2 >> 20;
  kernel.properties = in.take<uint16_t>();
  kernel.kernarg_preload = in.take<uint16_t>();
  if (!target.has_wave32()) kernel.properties &= static_cast<uint16_t>(~amd::kWavefrontSize32);
  memory.write(TestKernel::kObject, kernel);

  Dispatch dispatch;
  dispatch.target = target;
  dispatch.kernel_object = {TestKernel::kObject};
  dispatch.kernarg = {TestKernel::kArguments};
  dispatch.memory = &memory;
  dispatch.count = (flags & 2) != 0;
  const auto sizes = in.take<uint32_t>();
  dispatch.grid_size[0] = 1 + (sizes & 0xff);
  dispatch.workgroup_size[0] = static_cast<uint16_t>(1 + (sizes >> 8 & 0xff));
  dispatch.workgroup_size[1] = static_cast<uint16_t>(1 + (sizes >> 16 & 3));
  dispatch.group_segment_bytes = (sizes >> 18 & 0x3f) * 64;
  dispatch.private_segment_bytes = (sizes >> 24) * 4;
  // Pointers worth following: arguments, and the first bytes of data, hold valid addresses.
  for (uint32_t i = 0; i < 32; ++i)
    memory.write(TestKernel::kArguments + 8 * i, TestKernel::kData + 64 * i);

  std::vector<uint8_t> code(in.at, in.at + in.left);
  code.resize(code.size() / 4 * 4);
  if ((flags & 4) != 0)
    for (size_t i = 3; i < code.size(); i += 8) code[i] = kPrefixes[code[i] % std::size(kPrefixes)];
  for (size_t i = 0; i < code.size(); ++i) memory.write(TestKernel::kObject + 0x100 + i, code[i]);
  const std::vector<std::byte> end = {std::byte{0}, std::byte{0},
                                      std::byte{target.major >= 11 ? uint8_t{0xb0} : uint8_t{0x81}},
                                      std::byte{0xbf}};
  for (size_t i = 0; i < end.size(); ++i)
    memory.write(TestKernel::kObject + 0x100 + code.size() + i, end[i]);

  engine->run(dispatch);
  return 0;
}
