// image_*: texels by their coordinates. Loads, stores, atomics and questions about the resource are
// here; what goes through a sampler is in image_sample.cc.
//
// A texel beside the image reads as zero in all components, and a store or atomic to it is dropped.
// A store writes the components of the format: what dmask leaves out is written as zero. Images have
// one level and one sample per texel; others, compressed ones among them, are faults that say so.
// Every texel is resident, so that the extra register of tfe gets 0.
#include <algorithm>
#include <bit>

#include "emu/exec.h"
#include "emu/exec/atomics.h"
#include "emu/exec/image_lanes.h"
#include "emu/exec/mem_access.h"

namespace wavetap::emu {
namespace {

using isa::Inst;
using isa::Op;
using isa::OperandKind;

// Where each lane's texel is.
struct TexelLanes {
  uint64_t inside = 0;
  uint64_t outside = 0;
  uint64_t address[64];
};

bool find_texels(Wave& wave, const Inst& inst, const ImageResource& image, TexelLanes& texels) {
  const ImageOperands operands(wave, inst);
  if (!operands.fit()) return false;
  const CoordinateOrder order = order_of(operands.dim());
  const int level =
      (inst.image & isa::image::kLevel) != 0 ? isa::coordinate_count(operands.dim()) : -1;
  const bool has_planes = image.type == ImageType::k3D || image.has_slices();
  for_each_lane(wave.exec(), [&](int lane) {
    const uint32_t x = operands.integer(0, lane);
    const uint32_t y = order.y < 0 ? 0 : operands.integer(order.y, lane);
    const uint32_t z = order.z < 0 || !has_planes ? 0 : operands.integer(order.z, lane);
    const bool is_level = level < 0 || operands.integer(level, lane) == 0;
    const uint64_t bit = uint64_t{1} << lane;
    if (is_level && image.contains(x, y, z)) {
      texels.inside |= bit;
      texels.address[lane] = image.address(x, y, z);
    } else {
      texels.outside |= bit;
      texels.address[lane] = image.base;
    }
  });
  return true;
}

void note_texels(Wave& wave, const Inst& inst, Access access, const TexelLanes& texels,
                 const Element& element) {
  AccessNote note(wave, inst);
  MemoryAccess& all = note.add(Space::kGlobal, access, element, texels.inside);
  all.address = texels.address;
  all.outside = texels.outside;
  note.tell();
}

// vdata = TEXEL[address], the components of dmask. image_load_mip: of level 0, the only one.
void image_load(Wave& wave, const Inst& inst) {
  ImageResource image;
  TexelLanes texels;
  if (!open_image(wave, inst, image) || !find_texels(wave, inst, image, texels)) return;
  if (wave.notes_accesses)
    note_texels(wave, inst, Access::kLoad, texels, {.size_bytes = image.layout.bytes});
  uint32_t* rows = data_rows(wave, inst.dst);
  for (uint64_t rest = texels.inside | texels.outside; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    Texel texel{};
    if ((texels.inside >> lane & 1) != 0) {
      std::byte element[kElementBytes] = {};
      if (!copy_global(wave, texels.address[lane], element, image.layout.bytes, false, lane))
        return;
      texel = decode_texel(image, element);
    }
    uint32_t values[4];
    int count = 0;
    for (int i = 0; i < 4; ++i)
      if ((inst.dmask >> i & 1) != 0) values[count++] = texel.component[i];
    put_components(wave, inst, rows + lane, values, count, image.format.texel.is_integer());
  }
}

// TEXEL[address] = vdata
void image_store(Wave& wave, const Inst& inst) {
  ImageResource image;
  TexelLanes texels;
  if (!open_image(wave, inst, image) || !find_texels(wave, inst, image, texels)) return;
  if (wave.notes_accesses)
    note_texels(wave, inst, Access::kStore, texels, {.size_bytes = image.layout.bytes});
  const uint32_t* rows = data_rows(wave, inst.src[0]);
  std::atomic_thread_fence(std::memory_order_release);  // as store_global()
  for (uint64_t rest = texels.inside; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    Texel texel{};
    int number = 0;
    for (int i = 0; i < 4; ++i)
      if ((inst.dmask >> i & 1) != 0)
        texel.component[i] = get_component(wave, inst, rows + lane, number++, image.format.texel);
    std::byte element[kElementBytes] = {};
    encode_texel(image, texel, element);
    if (!copy_global(wave, texels.address[lane], element, image.layout.bytes, true, lane)) return;
  }
}

// tmp = TEXEL[address]; TEXEL[address] = next(tmp, vdata); vdata = tmp when it is given back. The
// texel's bits are the number, whatever the format is.
template <class A>
void image_atomic(Wave& wave, const Inst& inst) {
  using U = typename A::Value;
  ImageResource image;
  TexelLanes texels;
  if (!open_image(wave, inst, image)) return;
  if (image.layout.bytes != sizeof(U))
    return wave.raise(FaultKind::kBadDescriptor, "image: texels are not of the atomic's size");
  if (!find_texels(wave, inst, image, texels)) return;
  if (wave.notes_accesses)
    note_texels(wave, inst, atomic_access(inst.dst), texels,
                atomic_element(sizeof(U), inst.dst, inst.src[0]));
  const size_t lanes = wave.lanes;
  const uint32_t* data = data_rows(wave, inst.src[0]);
  uint32_t* result = inst.dst.is(OperandKind::kNone) ? nullptr : data_rows(wave, inst.dst);
  for (uint64_t rest = texels.inside | texels.outside; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const U operand = atomic::read_operand<U>(data + lane, lanes);
    const U operand2 = atomic::kOperands<A> == 2
                           ? atomic::read_operand<U>(data + sizeof(U) / 4 * lanes + lane, lanes)
                           : 0;
    U old = 0;
    if ((texels.inside >> lane & 1) != 0) {
      std::byte* host = wave.translate(texels.address[lane], sizeof(U), true, lane);
      if (host == nullptr) return;
      old = atomic::update_shared<A>(host, operand, operand2);
    }
    if (result != nullptr) atomic::write_result<U>(result + lane, lanes, old);
    if (result != nullptr && inst.tfe) result[(inst.src[0].dwords - 1u) * lanes + size_t(lane)] = 0;
  }
}

// vdata = width, height, depth or slices, levels; all 0 for a level that is not there
void image_get_resinfo(Wave& wave, const Inst& inst) {
  ImageResource image;
  const ImageOperands operands(wave, inst);
  if (!open_image(wave, inst, image) || !operands.fit()) return;
  const bool is_row = image.type == ImageType::k1DArray;
  const uint32_t size[4] = {image.width, is_row ? image.depth : image.height, image.depth,
                            image.levels};
  uint32_t* rows = data_rows(wave, inst.dst);
  for_each_lane(wave.exec(), [&](int lane) {
    const bool is_level = operands.integer(0, lane) < image.levels;
    uint32_t values[4];
    int count = 0;
    for (int i = 0; i < 4; ++i)
      if ((inst.dmask >> i & 1) != 0) values[count++] = is_level ? size[i] : 0;
    put_components(wave, inst, rows + lane, values, count, true);
  });
}

// The registers of an atomic: one or two dwords, twice that for a comparison.
template <template <class> class A>
Handler integer_atomic(const Inst& inst) {
  const int dwords = std::popcount(inst.dmask) / atomic::kOperands<A<uint32_t>>;
  if (dwords == 1) return image_atomic<A<uint32_t>>;
  return dwords == 2 ? image_atomic<A<uint64_t>> : nullptr;
}

template <template <class> class A>
Handler float_atomic(const Inst& inst) {
  const int dwords = std::popcount(inst.dmask) / atomic::kOperands<A<float>>;
  if (dwords == 1) return image_atomic<A<float>>;
  return dwords == 2 ? image_atomic<A<double>> : nullptr;
}

}  // namespace

Handler find_image(const Inst& inst, Shape) {
  if ((inst.image & isa::image::kSamples) != 0) return find_image_sample(inst);
  switch (inst.op) {
    case Op::image_load:
    case Op::image_load_mip: return image_load;
    case Op::image_store:
    case Op::image_store_mip: return image_store;
    case Op::image_get_resinfo: return image_get_resinfo;
    case Op::image_atomic_add: return integer_atomic<atomic::Add>(inst);
    case Op::image_atomic_sub: return integer_atomic<atomic::Sub>(inst);
    case Op::image_atomic_rsub: return integer_atomic<atomic::Rsub>(inst);
    case Op::image_atomic_and: return integer_atomic<atomic::And>(inst);
    case Op::image_atomic_or: return integer_atomic<atomic::Or>(inst);
    case Op::image_atomic_xor: return integer_atomic<atomic::Xor>(inst);
    case Op::image_atomic_swap: return integer_atomic<atomic::Swap>(inst);
    case Op::image_atomic_smin: return integer_atomic<atomic::Smin>(inst);
    case Op::image_atomic_smax: return integer_atomic<atomic::Smax>(inst);
    case Op::image_atomic_umin: return integer_atomic<atomic::Umin>(inst);
    case Op::image_atomic_umax: return integer_atomic<atomic::Umax>(inst);
    case Op::image_atomic_inc: return integer_atomic<atomic::Inc>(inst);
    case Op::image_atomic_dec: return integer_atomic<atomic::Dec>(inst);
    case Op::image_atomic_cmpswap: return integer_atomic<atomic::CompareSwap>(inst);
    case Op::image_atomic_fmin: return float_atomic<atomic::Fmin>(inst);
    case Op::image_atomic_fmax: return float_atomic<atomic::Fmax>(inst);
    case Op::image_atomic_fcmpswap: return float_atomic<atomic::FcompareSwap>(inst);
    default: return nullptr;
  }
}

}  // namespace wavetap::emu
