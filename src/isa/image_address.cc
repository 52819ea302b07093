#include "isa/image_address.h"

namespace wavetap::isa {
namespace {

// Directions in which an image has derivatives.
int gradient_directions(ImageDim dim) {
  switch (dim) {
    case ImageDim::k1D:
    case ImageDim::k1DArray: return 1;
    case ImageDim::k3D: return 3;
    default: return 2;
  }
}

}  // namespace

int coordinate_count(ImageDim dim) {
  switch (dim) {
    case ImageDim::k1D: return 1;
    case ImageDim::k2D:
    case ImageDim::k1DArray: return 2;
    case ImageDim::k3D:
    case ImageDim::kCube:
    case ImageDim::k2DArray:
    case ImageDim::k2DMsaa: return 3;
    case ImageDim::k2DMsaaArray: return 4;
    case ImageDim::kFromResource: break;
  }
  return 0;
}

ImageAddress image_address(const Inst& inst, ImageDim dim) {
  const auto has = [&](uint16_t part) { return (inst.image & part) != 0; };
  ImageAddress address;
  int next = 0;
  if (has(image::kOffset)) address.offset = next++;
  if (has(image::kBias)) address.bias = next++;
  if (has(image::kCompare)) address.compare = next++;
  if (has(image::kGradients)) {
    const int directions = gradient_directions(dim);
    address.gradients = next;
    next += 2 * (has(image::kHalfGradients) ? (directions + 1) / 2 : directions);
  }
  address.body = next;
  if (has(image::kNoCoordinates)) address.body_parts = 1;
  else
    address.body_parts =
        coordinate_count(dim) + (has(image::kLevel) ? 1 : 0) + (has(image::kLevelClamp) ? 1 : 0);
  address.registers = next + (inst.a16 ? (address.body_parts + 1) / 2 : address.body_parts);
  return address;
}

}  // namespace wavetap::isa
