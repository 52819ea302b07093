// MIMG. Everything is read from the encoding: LLVM knows how many registers there are, but gives
// its operands other names in every form, and of gfx9 it does not know the number of addresses.
//
// References: "RDNA 2 ISA" and "RDNA 3 ISA", chapters "Image instructions" and "Microcode formats";
// "MI200 ISA", chapter "Vector memory image instructions".
#include <algorithm>
#include <bit>
#include <string_view>

#include "isa/image_address.h"
#include "isa/lift.h"

#include "llvm/MC/MCInst.h"

namespace wavetap::isa {
namespace {

bool take(std::string_view& name, std::string_view suffix) {
  if (!name.ends_with(suffix)) return false;
  name.remove_suffix(suffix.size());
  return true;
}

// The suffixes of image_sample_* and image_gather4_*, from the last to the first: c, then one of b,
// l, lz, d, cd, then cl, o, g16.
uint16_t sampled_parts(std::string_view name) {
  uint16_t parts = image::kSamples;
  if (name.starts_with("image_gather4")) parts |= image::kGathers;
  if (take(name, "_g16")) parts |= image::kHalfGradients;
  if (take(name, "_o")) parts |= image::kOffset;
  if (take(name, "_cl")) parts |= image::kLevelClamp;
  if (take(name, "_lz")) parts |= image::kLevelZero;
  else if (take(name, "_l")) parts |= image::kLevel;
  else if (take(name, "_b")) parts |= image::kBias;
  else if (take(name, "_cd") || take(name, "_d")) parts |= image::kGradients;
  if (take(name, "_c")) parts |= image::kCompare;
  return parts;
}

uint16_t parts_of(std::string_view name) {
  if (name == "image_get_resinfo") return image::kNoCoordinates;
  if (name == "image_get_lod") return image::kSamples;
  if (name.starts_with("image_sample") || name.starts_with("image_gather4"))
    return sampled_parts(name);
  return name.find("_mip") != std::string_view::npos ? image::kLevel : 0;
}

// Registers of the data.
int data_count(const Inst& inst, std::string_view name) {
  int components = std::popcount(inst.dmask);
  if ((inst.image & image::kGathers) != 0 || name.starts_with("image_msaa_load")) components = 4;
  components = std::max(components, 1);
  return (inst.d16 ? (components + 1) / 2 : components) + (inst.tfe ? 1 : 0);
}

Operand scalars(uint32_t first, int dwords) {
  Operand operand;
  operand.kind = OperandKind::kScalar;
  operand.index = static_cast<uint16_t>(first);
  operand.dwords = static_cast<uint8_t>(dwords);
  return operand;
}

Operand vectors(OperandKind kind, uint32_t first, int dwords) {
  Operand operand = scalars(first, dwords);
  operand.kind = kind;
  return operand;
}

}  // namespace

void Lift::image_addresses(int major) {
  const uint32_t first = encoded_.dword[1] & 0xff;
  const int count = std::max(1, image_address(out_, out_.dim).registers);
  const uint32_t nsa_dwords = major == 9    ? 0
                              : major == 10 ? encoded_.dword[0] >> 1 & 3
                                            : encoded_.dword[0] & 1;
  out_.vaddr = vectors(OperandKind::kVgpr, first, nsa_dwords == 0 ? count : 1);
  if (nsa_dwords == 0) return;
  out_.nsa_count = static_cast<uint8_t>(std::min<int>(count - 1, std::size(out_.nsa)));
  const uint32_t last = nsa_dwords * 4 - 1;
  for (uint32_t i = 0; i < out_.nsa_count; ++i) {
    const uint32_t at = std::min(i, last);
    // gfx11: addresses past the last field follow its register.
    out_.nsa[i] =
        static_cast<uint8_t>((encoded_.dword[2 + at / 4] >> 8 * (at % 4) & 0xff) + (i - at));
  }
}

void Lift::image() {
  const std::string_view name = op_name(out_.op);
  if (name.find("_bvh") != std::string_view::npos) return;  // ray tracing: known by name only
  const int major = mc_.target().major;
  const uint32_t low = encoded_.dword[0], high = encoded_.dword[1];
  const auto bit = [](uint32_t word, int at) { return (word >> at & 1) != 0; };
  out_.image = parts_of(name);
  out_.dmask = low >> 8 & 15;
  bool is_accumulator = false;
  if (major >= 11) {
    out_.dim = static_cast<ImageDim>(low >> 2 & 7);
    out_.unorm = bit(low, 7);
    out_.slc = bit(low, 12), out_.dlc = bit(low, 13), out_.glc = bit(low, 14);
    out_.a16 = bit(low, 16), out_.d16 = bit(low, 17);
    out_.tfe = bit(high, 21);
  } else {
    out_.dim = major == 9 ? ImageDim::kFromResource : static_cast<ImageDim>(low >> 3 & 7);
    out_.unorm = bit(low, 12);
    out_.glc = bit(low, 13), out_.slc = bit(low, 25), out_.dlc = major == 10 && bit(low, 7);
    out_.is_array = major == 9 && bit(low, 14);
    out_.a16 = major == 9 ? bit(low, 15) : bit(high, 30);
    out_.d16 = bit(high, 31);
    // gfx90a has accumulation registers instead of partially resident textures.
    is_accumulator = mc_.target().is_gfx90a_family() && bit(low, 16);
    out_.tfe = bit(low, 16) && !is_accumulator;
  }
  out_.r128 = major >= 10 && bit(low, 15);
  // gfx9 has one bit for all addresses.
  if (major == 9 && out_.a16) out_.image |= image::kHalfGradients;
  image_addresses(major);
  out_.saddr = scalars((high >> 16 & 31) * 4, out_.r128 ? 4 : 8);
  if ((out_.image & image::kSamples) != 0)
    out_.soffset = scalars((high >> (major >= 11 ? 26 : 21) & 31) * 4, 4);
  const OperandKind kind = is_accumulator ? OperandKind::kAgpr : OperandKind::kVgpr;
  const Operand data = vectors(kind, high >> 8 & 0xff, data_count(out_, name));
  const bool is_atomic = name.starts_with("image_atomic");
  if (is_atomic || name.starts_with("image_store")) out_.src[0] = data;
  if (!is_atomic && !name.starts_with("image_store")) out_.dst = data;
  if (!is_atomic || !out_.glc) return;
  out_.dst = data;
  if (name.find("cmpswap") != std::string_view::npos)  // gives back half of what it takes
    out_.dst.dwords = static_cast<uint8_t>(std::max(1, data.dwords / 2));
}

}  // namespace wavetap::isa
