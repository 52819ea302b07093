// TestKernel: an assembled kernel with its descriptor in a TestMemory, ready to be dispatched.
//
// Unless told otherwise a wave starts with s[0:1] = kernel arguments, s2, s3, s4 = workgroup id,
// and work-item ids in v0, v1, v2 or packed in v0.
#pragma once

#include <cstring>
#include <span>
#include <string>

#include "amd/kernel_descriptor.h"
#include "emu/engine.h"
#include "emu/testing/assembler.h"
#include "emu/testing/machine.h"

namespace wavetap::emu {

class TestKernel {
 public:
  struct Options {
    amd::GfxTarget target{9, 0, 10};
    bool wave64 = true;
    uint32_t vgpr_granules = 8;
    uint16_t properties = amd::kKernargSegmentPtr;
    uint32_t user_sgprs = 2;
    bool private_segment = false;
    uint32_t rsrc3 = 7;  // gfx90a: accum offset 32
  };
  static constexpr uint64_t kObject = 0x200000;
  static constexpr uint64_t kEntryOffset = 0x100;
  static constexpr size_t kCodeBytes = 0x10000;
  static constexpr uint64_t kArguments = 0x300000;
  static constexpr uint64_t kData = 0x400000;
  static constexpr size_t kDataBytes = 0x100000;

  TestKernel(const Options& options, const std::string& text) : options_(options) {
    memory.map(kObject, kCodeBytes, /*writable=*/true, /*executable=*/true);
    memory.map(kArguments, 0x1000);
    memory.map(kData, kDataBytes);
    amd::KernelDescriptor kernel{};
    kernel.entry_offset = kEntryOffset;
    // Round to nearest even, denormals kept, DX10_CLAMP and IEEE on.
    kernel.rsrc1 = (options.vgpr_granules - 1) | 0xf0u << 12 | 1u << 21 | 1u << 23;
    kernel.rsrc2 =
        (options.private_segment ? 1u : 0) | options.user_sgprs << 1 | 7u << 7 | 2u << 11;
    kernel.rsrc3 = options.rsrc3;
    kernel.properties = options.properties;
    if (!options.wave64) kernel.properties |= amd::kWavefrontSize32;
    memory.write(kObject, kernel);
    set_code(text);
    dispatch.target = options.target;
    dispatch.kernel_object = {kObject};
    dispatch.kernarg = {kArguments};
    dispatch.memory = &memory;
  }

  // Replaces the code. False when it does not assemble.
  bool set_code(const std::string& text, uint64_t at = kObject + kEntryOffset) {
    const std::vector<std::byte> code = assemble(text, options_.target, options_.wave64);
    if (code.empty() || at + code.size() > kObject + kCodeBytes) return false;
    const MappedRange range = memory.lookup({at});
    std::memcpy(range.host + (at - range.begin), code.data(), code.size());
    return true;
  }

  amd::KernelDescriptor descriptor() { return memory.read<amd::KernelDescriptor>(kObject); }
  void set_descriptor(const amd::KernelDescriptor& kernel) { memory.write(kObject, kernel); }
  void set_size(uint32_t grid_x, uint16_t group_x) {
    dispatch.grid_size[0] = grid_x;
    dispatch.workgroup_size[0] = group_x;
  }
  void set_argument(uint32_t offset, uint32_t value) { memory.write(kArguments + offset, value); }
  void set_argument64(uint32_t offset, uint64_t value) { memory.write(kArguments + offset, value); }
  uint32_t data(uint32_t index) { return memory.read<uint32_t>(kData + uint64_t{index} * 4); }

  TestMemory memory;
  Dispatch dispatch;

 private:
  Options options_;
};

}  // namespace wavetap::emu
