// What image instructions share: their addresses lane by lane, their data in registers, and the
// resource with everything that can be wrong with it.
#pragma once

#include <cstdint>

#include "emu/exec/element.h"
#include "emu/exec/format_bits.h"
#include "emu/exec/image_resource.h"
#include "emu/wave.h"
#include "isa/image_address.h"

namespace wavetap::emu {

// The address operands of one instruction.
class ImageOperands {
 public:
  ImageOperands(Wave& wave, const isa::Inst& inst)
      : wave_(wave), inst_(inst), dim_(dim_of(wave, inst)), plan_(isa::image_address(inst, dim_)) {}

  isa::ImageDim dim() const { return dim_; }
  const isa::ImageAddress& plan() const { return plan_; }
  // False after raise(): gfx9 learns only now how many registers the instruction reads.
  bool fit() const;

  uint32_t dword(int number, int lane) const {
    return wave_.vrow(isa::address_register(inst_, number))[lane];
  }
  // Value `part` of the coordinates and the level behind them.
  uint32_t integer(int part, int lane) const {
    if (!inst_.a16) return dword(plan_.body + part, lane);
    return dword(plan_.body + part / 2, lane) >> (part % 2 * 16) & 0xffff;
  }
  float number(int part, int lane) const {
    const uint32_t bits = integer(part, lane);
    return inst_.a16 ? half_to_float(bits) : f32_of(bits);
  }

 private:
  Wave& wave_;
  const isa::Inst& inst_;
  isa::ImageDim dim_;
  isa::ImageAddress plan_;
};

// Which of the coordinates, in their order, is which; -1 when there is none.
struct CoordinateOrder {
  int y = -1;
  int z = -1;  // plane, slice or face
};
CoordinateOrder order_of(isa::ImageDim dim);

// Reads the resource; raises what is wrong with it and returns false.
bool open_image(Wave& wave, const isa::Inst& inst, ImageResource& image);

// The components that dmask names, one after the other, in `rows`, the lane's entry of the first
// register. With tfe a last register says
// that every texel was resident: 0.
void put_components(const Wave& wave, const isa::Inst& inst, uint32_t* rows, const uint32_t* values,
                    int count, bool is_integer);
uint32_t get_component(const Wave& wave, const isa::Inst& inst, const uint32_t* rows, int number,
                       const BufferFormat& format);

}  // namespace wavetap::emu
