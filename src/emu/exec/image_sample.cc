// image_sample_* and image_gather4_*: an image through a sampler.
//
// A coordinate becomes a position in texels, a fixed-point number with 8 fraction bits: it is rounded
// to nearest, or cut when the sampler says so (TRUNC_COORD, nearest filter only). Nearest takes the
// texel the position is in. Linear takes the two texels whose centres are around it, per axis, with
// the fraction f as weights: (256 - f) / 256 and f / 256. That is the precision of the hardware; a
// result may differ from exact interpolation by half of 1/256 of the texels' difference per axis. The
// weighted sum itself is made in double and rounded once, so that it does not depend on an order;
// hardware may differ in the last bits.
//
// Integers are not filtered. Images have one level, so that bias, gradients and levels of detail are
// read and change nothing. Cube maps are sampled inside a face; edges between faces are not blended.
//
// References: "RDNA 2 ISA" 8.2.3 "Image sampling", "RDNA 3 ISA" 9.4.2.
#include <algorithm>
#include <bit>
#include <cmath>

#include "emu/exec.h"
#include "emu/exec/image_lanes.h"
#include "emu/exec/mem_access.h"

namespace wavetap::emu {
namespace {

using isa::ImageDim;
using isa::Inst;
namespace parts = isa::image;

constexpr int64_t kUnit = 256;  // of a position: one texel
constexpr int kMaxTaps = 8;

// One axis of a footprint. An index of -1 is the border.
struct AxisTaps {
  int64_t index[2] = {0, 0};
  int64_t weight = 0;  // of index[1]; index[0] has the rest of kUnit
};

int64_t wrap_index(int64_t i, int64_t size, Clamp clamp) {
  switch (clamp) {
    case Clamp::kWrap: return ((i % size) + size) % size;
    case Clamp::kMirror: {
      const int64_t inside = ((i % (2 * size)) + 2 * size) % (2 * size);
      return inside < size ? inside : 2 * size - 1 - inside;
    }
    case Clamp::kLastTexel: return std::clamp<int64_t>(i, 0, size - 1);
    case Clamp::kMirrorOnceLastTexel: return std::min(i < 0 ? -1 - i : i, size - 1);
    case Clamp::kMirrorOnceHalfBorder:
    case Clamp::kMirrorOnceBorder: i = i < 0 ? -1 - i : i; [[fallthrough]];
    case Clamp::kHalfBorder:
    case Clamp::kBorder: break;
  }
  return i >= 0 && i < size ? i : -1;
}

// Position in texels, as if there were no end.
double position_of(double coordinate, double size, Clamp clamp, bool is_normalized) {
  if (coordinate != coordinate) coordinate = 0;
  if (clamp == Clamp::kMirrorOnceLastTexel || clamp == Clamp::kMirrorOnceHalfBorder ||
      clamp == Clamp::kMirrorOnceBorder)
    coordinate = std::fabs(coordinate);
  if (is_normalized) {
    // Keeps the fraction of large coordinates; the index is wrapped again below.
    if (clamp == Clamp::kWrap) coordinate -= std::floor(coordinate);
    if (clamp == Clamp::kMirror) coordinate -= 2 * std::floor(coordinate / 2);
    if (coordinate != coordinate) coordinate = 0;  // it was infinite
    coordinate *= size;
  }
  if (clamp == Clamp::kHalfBorder || clamp == Clamp::kMirrorOnceHalfBorder)
    coordinate = std::clamp(coordinate, 0.0, size);
  constexpr double kFar = 1 << 24;
  return std::clamp(coordinate, -kFar, kFar);
}

struct Footprint {
  bool is_linear = false;
  bool truncates = false;
};

AxisTaps taps_of(double position, int64_t size, Clamp clamp, Footprint footprint, int64_t offset) {
  int64_t fixed = static_cast<int64_t>(
      std::floor(position * kUnit + (footprint.truncates && !footprint.is_linear ? 0 : 0.5)));
  if (footprint.is_linear) fixed -= kUnit / 2;
  const int64_t first = (fixed >> 8) + offset;
  AxisTaps taps;
  taps.index[0] = wrap_index(first, size, clamp);
  if (!footprint.is_linear) return taps;
  taps.index[1] = wrap_index(first + 1, size, clamp);
  taps.weight = fixed & (kUnit - 1);
  return taps;
}

// Everything that is the same for all lanes.
struct Sampling {
  const Inst& inst;
  const ImageResource& image;
  const ImageSampler& sampler;
  const ImageOperands& operands;
  CoordinateOrder order;
  bool is_linear = false;
  bool is_linear_z = false;
};

struct LaneTaps {
  int count = 0;
  uint64_t address[kMaxTaps] = {};
  bool is_border[kMaxTaps] = {};
  double weight[kMaxTaps] = {};
};

// Signed texel offsets of 6 bits, one per byte.
int64_t texel_offset(uint32_t packed, int axis) {
  return static_cast<int32_t>(packed << (26 - 8 * axis)) >> 26;
}

AxisTaps axis_taps(const Sampling& s, int axis, int part, uint32_t size, int lane) {
  const ImageDim dim = s.operands.dim();
  double coordinate = s.operands.number(part, lane);
  Clamp clamp = s.sampler.clamp[axis];
  bool is_linear = axis == 2 ? s.is_linear_z : s.is_linear;
  if (dim == ImageDim::kCube) {  // faces have coordinates from 1 to 2
    coordinate -= 1;
    clamp = Clamp::kLastTexel;
  }
  const uint32_t packed =
      s.operands.plan().offset < 0 ? 0 : s.operands.dword(s.operands.plan().offset, lane);
  return taps_of(position_of(coordinate, size, clamp, !s.sampler.unnormalized), size, clamp,
                 {is_linear, s.sampler.truncates}, texel_offset(packed, axis));
}

// Slices and faces are chosen, not filtered.
int64_t slice_of(const Sampling& s, int lane) {
  const double slice = std::nearbyint(double{s.operands.number(s.order.z, lane)});
  if (!(slice > 0)) return 0;
  return static_cast<int64_t>(std::min(slice, double(s.image.depth) - 1));
}

LaneTaps lane_taps(const Sampling& s, int lane) {
  const bool is_volume = s.operands.dim() == ImageDim::k3D;
  AxisTaps x = axis_taps(s, 0, 0, s.image.width, lane), y, z;
  if (s.order.y >= 0) y = axis_taps(s, 1, s.order.y, s.image.height, lane);
  if (is_volume) z = axis_taps(s, 2, s.order.z, s.image.depth, lane);
  else if (s.order.z >= 0 && s.image.has_slices()) z.index[0] = slice_of(s, lane);
  const bool gathers = (s.inst.image & parts::kGathers) != 0;
  LaneTaps taps;
  for (int k = 0; k < 8; ++k) {
    const int ix = k & 1, iy = k >> 1 & 1, iz = k >> 2;
    const auto share = [](const AxisTaps& axis, int which) {
      return which == 0 ? kUnit - axis.weight : axis.weight;
    };
    const double weight = double(share(x, ix)) * double(share(y, iy)) * double(share(z, iz)) /
                          double(kUnit * kUnit * kUnit);
    if (gathers ? iz != 0 : weight == 0) continue;
    const int64_t at[3] = {x.index[ix], y.index[iy], z.index[iz]};
    taps.is_border[taps.count] = !s.image.contains(at[0], at[1], at[2]);
    if (!taps.is_border[taps.count])
      taps.address[taps.count] = s.image.address(
          static_cast<uint32_t>(at[0]), static_cast<uint32_t>(at[1]), static_cast<uint32_t>(at[2]));
    taps.weight[taps.count++] = weight;
  }
  return taps;
}

// An access per tap; border texels are not in memory.
void note_taps(Wave& wave, const Inst& inst, const LaneTaps* taps, uint32_t size_bytes) {
  AccessNote note(wave, inst);
  for (int k = 0; k < kMaxTaps; ++k) {
    MemoryAccess& access = note.add(Space::kGlobal, Access::kLoad, {.size_bytes = size_bytes}, 0);
    for_each_lane(wave.exec(), [&](int lane) {
      if (k >= taps[lane].count || taps[lane].is_border[k]) return;
      access.mask |= uint64_t{1} << lane;
      note.addresses()[lane] = taps[lane].address[k];
    });
  }
  note.tell();
}

bool compare(uint8_t function, float reference, float value) {
  switch (function) {
    case 0: return false;
    case 1: return reference < value;
    case 2: return reference == value;
    case 3: return reference <= value;
    case 4: return reference > value;
    case 5: return reference != value;
    case 6: return reference >= value;
    default: return true;
  }
}

// The texel of one tap, compared when the instruction compares.
bool fetch_tap(Wave& wave, const Sampling& s, const LaneTaps& taps, int k, int lane, Texel& texel) {
  if (taps.is_border[k]) {
    texel = border_texel(s.image, s.sampler);
  } else {
    std::byte element[kElementBytes] = {};
    if (!copy_global(wave, taps.address[k], element, s.image.layout.bytes, false, lane))
      return false;
    texel = decode_texel(s.image, element);
  }
  if ((s.inst.image & parts::kCompare) == 0) return true;
  const float reference = f32_of(s.operands.dword(s.operands.plan().compare, lane));
  const bool passes = compare(s.sampler.compare, reference, f32_of(texel.component[0]));
  for (uint32_t& component : texel.component) component = bits_of(passes ? 1.0f : 0.0f);
  return true;
}

// Component i of a footprint's texels as one.
uint32_t reduce(const Sampling& s, const LaneTaps& taps, const Texel* texels, int i) {
  if (taps.count == 1 || s.image.format.texel.is_integer()) return texels[0].component[i];
  double sum = 0;
  for (int k = 0; k < taps.count; ++k) {
    const double value = f32_of(texels[k].component[i]);
    if (s.sampler.reduction == 0) sum += value * taps.weight[k];
    else if (k == 0) sum = value;
    else sum = s.sampler.reduction == 1 ? std::min(sum, value) : std::max(sum, value);
  }
  return bits_of(static_cast<float>(sum));
}

bool sample_lane(Wave& wave, const Sampling& s, const LaneTaps& taps, int lane, uint32_t* rows) {
  Texel texels[kMaxTaps];
  for (int k = 0; k < taps.count; ++k)
    if (!fetch_tap(wave, s, taps, k, lane, texels[k])) return false;
  const bool is_integer = s.image.format.texel.is_integer();
  uint32_t values[4];
  int count = 0;
  if ((s.inst.image & parts::kGathers) != 0) {
    // Taps are (x0, y0), (x1, y0), (x0, y1), (x1, y1); the result begins at the lower left and goes
    // round against the clock.
    const int component = s.inst.dmask == 0 ? 0 : std::countr_zero(unsigned{s.inst.dmask});
    for (const int k : {2, 3, 1, 0}) values[count++] = texels[k].component[component];
  } else {
    for (int i = 0; i < 4; ++i)
      if ((s.inst.dmask >> i & 1) != 0) values[count++] = reduce(s, taps, texels, i);
  }
  put_components(wave, s.inst, rows, values, count, is_integer);
  return true;
}

void image_sample(Wave& wave, const Inst& inst) {
  ImageResource image;
  const ImageOperands operands(wave, inst);
  if (!open_image(wave, inst, image) || !operands.fit()) return;
  const ImageSampler sampler = read_image_sampler(wave, inst);
  if (sampler.trouble != nullptr) return wave.raise(FaultKind::kUnimplemented, sampler.trouble);
  const bool gathers = (inst.image & parts::kGathers) != 0;
  const bool filters = !image.format.texel.is_integer();
  const Sampling sampling{inst,
                          image,
                          sampler,
                          operands,
                          order_of(operands.dim()),
                          gathers || (filters && sampler.is_linear),
                          filters && sampler.is_linear_z};
  LaneTaps taps[64];
  for_each_lane(wave.exec(), [&](int lane) { taps[lane] = lane_taps(sampling, lane); });
  if (wave.notes_accesses) note_taps(wave, inst, taps, image.layout.bytes);
  uint32_t* rows = data_rows(wave, inst.dst);
  for (uint64_t rest = wave.exec(); rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    if (!sample_lane(wave, sampling, taps[lane], lane, rows + lane)) return;
  }
}

}  // namespace

Handler find_image_sample(const Inst& inst) {
  // The level of detail comes from neighbouring lanes, the footprint of gather4h from one row: no
  // compute program has been seen to use them.
  if (inst.op == isa::Op::image_get_lod || inst.op == isa::Op::image_gather4h) return nullptr;
  return image_sample;
}

}  // namespace wavetap::emu
