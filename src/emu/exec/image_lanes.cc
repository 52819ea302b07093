#include "emu/exec/image_lanes.h"

namespace wavetap::emu {

using isa::ImageDim;
using isa::Inst;

bool ImageOperands::fit() const {
  for (int i = 0; i < plan_.registers; ++i) {
    if (isa::address_register(inst_, i) < wave_.vgpr_count) continue;
    wave_.raise(FaultKind::kBadDescriptor, "image: address register out of range");
    return false;
  }
  return true;
}

CoordinateOrder order_of(ImageDim dim) {
  switch (dim) {
    case ImageDim::k1DArray: return {.y = -1, .z = 1};
    case ImageDim::k2D:
    case ImageDim::k2DMsaa: return {.y = 1, .z = -1};
    case ImageDim::k3D:
    case ImageDim::kCube:
    case ImageDim::k2DArray:
    case ImageDim::k2DMsaaArray: return {.y = 1, .z = 2};
    case ImageDim::k1D:
    case ImageDim::kFromResource: break;
  }
  return {};
}

bool open_image(Wave& wave, const Inst& inst, ImageResource& image) {
  image = read_image_resource(wave, inst);
  if (image.trouble == nullptr) return true;
  wave.raise(FaultKind::kUnimplemented, image.trouble);
  return false;
}

void put_components(const Wave& wave, const Inst& inst, uint32_t* rows, const uint32_t* values,
                    int count, bool is_integer) {
  const size_t lanes = wave.lanes;
  for (int i = 0; i < count; ++i) {
    if (!inst.d16) {
      rows[static_cast<size_t>(i) * lanes] = values[i];
      continue;
    }
    uint32_t& word = rows[static_cast<size_t>(i / 2) * lanes];
    const uint32_t half = to_d16(values[i], is_integer);
    if (i % 2 == 1) word = (word & 0xffff) | half << 16;
    else word = (wave.dispatch->sram_ecc ? 0 : word & 0xffff0000u) | half;
  }
  if (inst.tfe) rows[(inst.dst.dwords - 1u) * lanes] = 0;
}

uint32_t get_component(const Wave& wave, const Inst& inst, const uint32_t* rows, int number,
                       const BufferFormat& format) {
  const size_t lanes = wave.lanes;
  if (!inst.d16) return rows[static_cast<size_t>(number) * lanes];
  const uint32_t word = rows[static_cast<size_t>(number / 2) * lanes];
  return from_d16(number % 2 == 1 ? word >> 16 : word & 0xffff, format);
}

}  // namespace wavetap::emu
