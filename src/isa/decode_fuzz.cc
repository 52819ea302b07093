// First byte: target and wave size. The rest: code.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "isa/dump.h"
#include "isa/program.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace wavetap;
  constexpr amd::GfxTarget kTargets[] = {{9, 0, 6}, {9, 0, 8},  {9, 0, 10},
                                         {9, 4, 2}, {10, 3, 0}, {11, 0, 0}};
  if (size < 1) return 0;
  const amd::GfxTarget target = kTargets[(data[0] >> 1) % 6];
  const bool wave64 = (data[0] & 1) != 0;
  const std::span<const std::byte> code(reinterpret_cast<const std::byte*>(data + 1), size - 1);
  const isa::Program program = isa::decode(code, GpuAddr{0x1000}, target, wave64);
  uint64_t total = 0;
  for (int32_t i = 0; i < program.size(); ++i) {
    const isa::Inst& inst = program.insts()[i];
    total += inst.size_bytes;
    const uint64_t offset = program.pc_of(i).value - 0x1000;
    if (inst.size_bytes != 0)
      isa::disassemble(code.subspan(offset), target, wave64, program.pc_of(i));
    if (isa::dump(inst).empty() || inst.target >= program.size()) std::abort();
  }
  if (total != code.size()) std::abort();
  return 0;
}
