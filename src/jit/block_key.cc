#include "jit/block_key.h"

#include <bit>

namespace wavetap::jit {
namespace {

using isa::Inst;
using isa::Operand;

// Two hashes of the same numbers, which know nothing of each other.
class Hash {
 public:
  // Called some hundred times: not inlined, the file took 17 s to compile.
  [[gnu::noinline]] void add(uint64_t value) {
    for (int i = 0; i < 8; ++i) fnv_ = (fnv_ ^ (value >> (8 * i) & 0xff)) * 0x100000001b3u;
    mixed_ = (std::rotl(mixed_, 29) ^ value) * 0x9e3779b97f4a7c15u;
    mixed_ ^= mixed_ >> 32;
  }
  void add(std::string_view text) {
    add(text.size());
    for (const char c : text) add(static_cast<unsigned char>(c));
  }
  template <class... T>
  void all(T... values) {
    (add(static_cast<uint64_t>(values)), ...);
  }
  BlockKey key() const { return {{fnv_, mixed_}}; }

 private:
  uint64_t fnv_ = 0xcbf29ce484222325u;
  uint64_t mixed_ = 0x2545f4914f6cdd1du;
};

void add(Hash& hash, const Operand& o) {
  hash.all(o.kind, o.dwords, o.index, o.sel, o.neg, o.abs, o.sext, o.op_sel, o.op_sel_hi, o.imm);
}

void add(Hash& hash, const Inst& inst) {
  // Whoever adds a field adds it here.
  static_assert(sizeof(Operand) == 24 && sizeof(Inst) == 304);
  hash.all(inst.op, inst.family, inst.size_bytes, inst.implied_reads, inst.implied_writes);
  for (const Operand* operand : {&inst.dst, &inst.dst2, &inst.src[0], &inst.src[1], &inst.src[2],
                                 &inst.src[3], &inst.vaddr, &inst.saddr, &inst.soffset})
    add(hash, *operand);
  hash.all(inst.clamp, inst.omod, inst.sdwa, inst.dst_preserve, inst.dst_sext, inst.dpp,
           inst.dpp_ctrl, inst.dpp8, inst.row_mask, inst.bank_mask, inst.bound_ctrl,
           inst.fetch_inactive, inst.cbsz, inst.abid, inst.blgp);
  hash.all(inst.offset, inst.offset1, inst.glc, inst.slc, inst.dlc, inst.lds, inst.gds, inst.offen,
           inst.idxen, inst.addr64, inst.tfe, inst.format, inst.scale_offset);
  hash.all(inst.image, inst.dim, inst.dmask, inst.unorm, inst.a16, inst.d16, inst.r128,
           inst.is_array, inst.nsa_count);
  for (const uint8_t reg : inst.nsa) hash.add(uint64_t{reg});
  hash.all(inst.imm16, inst.target, inst.vopd_first);
}

}  // namespace

BlockKey key_of(const BlockRequest& request, std::string_view maker) {
  Hash hash;
  hash.add(maker);
  hash.all(request.size, request.first, request.known, request.wave64, request.is_verified);
  for (int32_t i = 0; i < request.known; ++i) {
    add(hash, request.insts[request.first + i]);
    hash.all(request.is_ordinary[i], request.ends_turn[i]);
  }
  hash.add(uint64_t{request.live != nullptr});
  for (int32_t i = 0; request.live != nullptr && i <= request.known; ++i) {
    for (const uint64_t word : request.live[i].rows) hash.add(word);
    for (const uint64_t word : request.live[i].slots) hash.add(word);
  }
  return hash.key();
}

}  // namespace wavetap::jit
