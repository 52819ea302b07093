// Where the parts of an image instruction's address are: offsets, bias, reference, gradients,
// coordinates, level, in this order, some of them two to a register.
//
// References: "RDNA 2 ISA" 8.2.4 and "RDNA 3 ISA" 9.4.4, "Image address VGPRs".
#pragma once

#include "isa/inst.h"

namespace wavetap::isa {

// Coordinates of one texel: 1 to 4, a slice or a sample number among them. 0 for kFromResource.
int coordinate_count(ImageDim dim);

// Each part by the number of its first register among the address registers; -1 when it is absent.
struct ImageAddress {
  int offset = -1;
  int bias = -1;
  int compare = -1;
  int gradients = -1;  // one direction, then the other
  int body = 0;        // coordinates, then the level or its limit
  int body_parts = 0;  // values in the body, of 16 bits when a16
  int registers = 0;   // all together
};

// `dim`: the instruction's, or the resource's where the instruction has none.
ImageAddress image_address(const Inst& inst, ImageDim dim);

// The register of address i, 0 being vaddr itself.
inline uint32_t address_register(const Inst& inst, int i) {
  return i == 0 || inst.nsa_count == 0 ? inst.vaddr.index + static_cast<uint32_t>(i)
                                       : inst.nsa[i - 1];
}

}  // namespace wavetap::isa
