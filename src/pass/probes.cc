#include "pass/probes.h"

#include <llvm/IR/IntrinsicsAMDGPU.h>

#include <bit>
#include <vector>

#include "format/probe_ring.h"

namespace wavetap::pass {
namespace {

using format::ProbeCount;
using format::ProbeLaunch;
using format::ProbeRing;

llvm::BasicBlock* block(llvm::Function* in, const char* name) {
  return llvm::BasicBlock::Create(in->getContext(), name, in);
}

}  // namespace

ProbeFunctions::ProbeFunctions(llvm::Function& kernel, WaveCode& wave)
    : kernel_(kernel),
      wave_(wave),
      i32_(wave.i32()),
      i64_(wave.i64()),
      point_(make_point()),
      lanes_(make_lanes()),
      ticks_(make_ticks()),
      end_(make_end()) {}

void ProbeFunctions::erase_unused() {
  for (llvm::Function* probe : {point_, lanes_, ticks_, end_})
    if (probe->use_empty()) probe->eraseFromParent();
}

// ---- the ring -------------------------------------------------------------------------------------

void ProbeFunctions::store_word(Builder& b, llvm::Value* launch, llvm::Value* index, uint32_t word,
                                llvm::Value* value) {
  llvm::Value* const mask = wave_.field(b, launch, offsetof(ProbeLaunch, word_mask), i64_);
  llvm::Value* const words = wave_.field(b, launch, offsetof(ProbeLaunch, words), i64_);
  llvm::Value* const at = b.CreateAnd(b.CreateAdd(index, b.getInt64(word)), mask);
  b.CreateAlignedStore(value, wave_.global(b, b.CreateAdd(words, b.CreateShl(at, 3))),
                       llvm::Align(8));
}

// The upper half of word 0.
llvm::Value* ProbeFunctions::dispatch_half(Builder& b, llvm::Value* launch) {
  return b.CreateShl(
      b.CreateZExt(wave_.field(b, launch, offsetof(ProbeLaunch, dispatch), i32_), i64_), 32);
}

llvm::Value* ProbeFunctions::reserve(Builder& b, llvm::Value* launch, const Lanes& lanes,
                                     llvm::Value* words) {
  llvm::Function* const in = b.GetInsertBlock()->getParent();
  llvm::BasicBlock *const look = block(in, "look"), *const take = block(in, "take"),
                          *const lose = block(in, "lose"), *const join = block(in, "reserved");
  llvm::BasicBlock* const from = b.GetInsertBlock();
  llvm::Value* const ring = wave_.field(b, launch, offsetof(ProbeLaunch, ring), i64_);
  llvm::Value* const usable = wave_.field(b, launch, offsetof(ProbeLaunch, usable_bytes), i64_);
  llvm::Value* const bytes = b.CreateZExt(b.CreateShl(words, 3), i64_);
  b.CreateCondBr(lanes.is_first(b), look, join);

  b.SetInsertPoint(look);
  const auto ring_field = [&](size_t offset) {
    return wave_.global(b, b.CreateAdd(ring, b.getInt64(offset)));
  };
  const auto load = [&](size_t offset) {
    llvm::LoadInst* const value = b.CreateAlignedLoad(i64_, ring_field(offset), llvm::Align(8));
    value->setAtomic(llvm::AtomicOrdering::Monotonic);
    return value;
  };
  const auto add = [&](size_t offset, llvm::Value* value) {
    return b.CreateAtomicRMW(llvm::AtomicRMWInst::Add, ring_field(offset), value, llvm::Align(8),
                             llvm::AtomicOrdering::Monotonic);
  };
  llvm::Value* const tail = load(offsetof(ProbeRing, tail));
  llvm::Value* const head = load(offsetof(ProbeRing, head));
  llvm::Value* const used = b.CreateAdd(b.CreateSub(head, tail), bytes);
  b.CreateCondBr(b.CreateICmpUGT(used, usable), lose, take);

  b.SetInsertPoint(lose);
  add(offsetof(ProbeRing, lost), b.getInt64(1));
  b.CreateBr(join);

  b.SetInsertPoint(take);
  llvm::Value* const taken = add(offsetof(ProbeRing, head), bytes);
  b.CreateBr(join);

  b.SetInsertPoint(join);
  llvm::PHINode* const position = b.CreatePHI(i64_, 3);
  position->addIncoming(b.getInt64(UINT64_MAX), from);
  position->addIncoming(b.getInt64(UINT64_MAX), lose);
  position->addIncoming(taken, take);
  return wave_.first_lane(b, position);
}

// ---- the table ------------------------------------------------------------------------------------

llvm::Value* ProbeFunctions::entry(Builder& b, llvm::Value* launch, llvm::Value* site) {
  llvm::Value* const counts = wave_.field(b, launch, offsetof(ProbeLaunch, counts), i64_);
  return b.CreateAdd(counts, b.CreateShl(b.CreateZExt(site, i64_), format::kCountShift));
}

// No other GPU and no host looks at the table before the dispatch is over.
void ProbeFunctions::add_to(Builder& b, llvm::Value* entry, size_t offset, llvm::Value* value,
                            llvm::AtomicRMWInst::BinOp how) {
  b.CreateAtomicRMW(how, wave_.global(b, b.CreateAdd(entry, b.getInt64(offset))), value,
                    llvm::Align(8), llvm::AtomicOrdering::Monotonic,
                    wave_.context().getOrInsertSyncScopeID("agent"));
}

llvm::Value* ProbeFunctions::is_last_wave(Builder& b, llvm::Value* launch, const Lanes& active) {
  llvm::Function* const in = b.GetInsertBlock()->getParent();
  llvm::BasicBlock *const tally = block(in, "tally"), *const joined = block(in, "joined");
  llvm::BasicBlock* const from = b.GetInsertBlock();
  b.CreateCondBr(active.is_first(b), tally, joined);
  b.SetInsertPoint(tally);
  llvm::Value* const ended =
      entry(b, launch, wave_.field(b, launch, offsetof(ProbeLaunch, site_count), i32_));
  llvm::Value* const mine = wave_.count_lanes(b, active.mask);
  llvm::Value* const others = b.CreateAtomicRMW(
      llvm::AtomicRMWInst::Add, wave_.global(b, ended), mine, llvm::Align(8),
      llvm::AtomicOrdering::AcquireRelease, wave_.context().getOrInsertSyncScopeID("agent"));
  llvm::Value* const sum = b.CreateAdd(others, mine);
  b.CreateBr(joined);
  b.SetInsertPoint(joined);
  llvm::PHINode* const all = b.CreatePHI(i64_, 2);
  all->addIncoming(b.getInt64(0), from);
  all->addIncoming(sum, tally);
  return b.CreateICmpEQ(wave_.first_lane(b, all),
                        wave_.field(b, launch, offsetof(ProbeLaunch, lanes), i64_));
}

void ProbeFunctions::hand_over_table(Builder& b, llvm::Value* launch, const Lanes& active,
                                     llvm::BasicBlock* next) {
  llvm::BasicBlock* const from = b.GetInsertBlock();
  llvm::BasicBlock *const loop = block(from->getParent(), "loop"), *const body = block(
                                                                       from->getParent(), "body");
  llvm::Value* const table = wave_.field(b, launch, offsetof(ProbeLaunch, counts), i64_);
  llvm::Value* const results = wave_.field(b, launch, offsetof(ProbeLaunch, results), i64_);
  llvm::Value* const sites =
      b.CreateZExt(wave_.field(b, launch, offsetof(ProbeLaunch, site_count), i32_), i64_);
  llvm::Value* const bytes = b.CreateShl(b.CreateAdd(sites, b.getInt64(1)), format::kCountShift);
  llvm::Value* const step = b.CreateShl(wave_.count_lanes(b, active.mask), 3);
  llvm::Value* const first = b.CreateShl(b.CreateZExt(wave_.lanes_below(b, active.mask), i64_), 3);
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  llvm::PHINode* const at = b.CreatePHI(i64_, 2);
  at->addIncoming(first, from);
  b.CreateCondBr(b.CreateICmpULT(at, bytes), body, next);
  b.SetInsertPoint(body);
  llvm::Value* const word = wave_.global(b, b.CreateAdd(table, at));
  llvm::LoadInst* const value = b.CreateAlignedLoad(i64_, word, llvm::Align(8));
  value->setAtomic(llvm::AtomicOrdering::Monotonic,
                   wave_.context().getOrInsertSyncScopeID("agent"));
  b.CreateAlignedStore(value, wave_.global(b, b.CreateAdd(results, at)), llvm::Align(8));
  b.CreateAlignedStore(b.getInt64(0), word, llvm::Align(8));
  at->addIncoming(b.CreateAdd(at, step), body);
  b.CreateBr(loop);
}

// ---- the probes -----------------------------------------------------------------------------------

llvm::Function* ProbeFunctions::declare(const char* name, llvm::ArrayRef<llvm::Type*> types) {
  auto* const type = llvm::FunctionType::get(llvm::Type::getVoidTy(wave_.context()), types, false);
  llvm::Function* const made =
      llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, &wave_.module());
  for (const char* attribute : {"target-cpu", "target-features"})
    if (kernel_.hasFnAttribute(attribute)) made->addFnAttr(kernel_.getFnAttribute(attribute));
  made->addFnAttr(llvm::Attribute::Convergent);
  made->addFnAttr(llvm::Attribute::NoUnwind);
  return made;
}

ProbeFunctions::Begun ProbeFunctions::begin(Builder& b, llvm::Function* probe) {
  Begun begun{probe->getArg(0), probe->getArg(1), probe->getArg(2), {}, nullptr};
  llvm::Value* const kinds = probe->getArg(3);
  b.SetInsertPoint(block(probe, "entry"));
  begun.active = wave_.lanes(b);
  llvm::BasicBlock *const counting = block(probe, "counting"), *const count = block(probe, "count"),
                          *const counted = block(probe, "counted"),
                          *const recording = block(probe, "recording");
  begun.done = block(probe, "done");
  llvm::Value* const wants = wave_.field(b, begun.launch, offsetof(ProbeLaunch, wants), i32_);
  const auto has = [&](llvm::Value* bits) {
    return b.CreateICmpNE(b.CreateAnd(wants, bits), b.getInt32(0));
  };
  b.CreateCondBr(has(b.CreateShl(kinds, format::kProbeCountShift)), counting, counted);

  b.SetInsertPoint(counting);
  b.CreateCondBr(begun.active.is_first(b), count, counted);
  b.SetInsertPoint(count);
  llvm::Value* const site = b.CreateAnd(begun.header, b.getInt32((1u << format::kSiteBits) - 1));
  llvm::Value* const at = entry(b, begun.launch, site);
  add_to(b, at, offsetof(ProbeCount, executions), b.getInt64(1));
  add_to(b, at, offsetof(ProbeCount, lanes), wave_.count_lanes(b, begun.active.mask));
  b.CreateBr(counted);

  b.SetInsertPoint(counted);
  b.CreateCondBr(has(kinds), recording, begun.done);
  b.SetInsertPoint(begun.done);
  b.CreateRetVoid();
  b.SetInsertPoint(recording);
  return begun;
}

llvm::Function* ProbeFunctions::make_ticks() {
  llvm::Type* const pointer = llvm::PointerType::get(wave_.context(), kConstantSpace);
  llvm::Function* const probe = declare("__wavetap_ticks", {pointer, i32_, i64_});
  Builder b(block(probe, "entry"));
  const Lanes active = wave_.lanes(b);
  llvm::BasicBlock *const first = block(probe, "first"), *const done = block(probe, "done");
  b.CreateCondBr(active.is_first(b), first, done);
  b.SetInsertPoint(first);
  llvm::Value* const at = entry(b, probe->getArg(0), probe->getArg(1));
  add_to(b, at, offsetof(ProbeCount, ticks), probe->getArg(2));
  add_to(b, at, offsetof(ProbeCount, most_ticks), probe->getArg(2), llvm::AtomicRMWInst::UMax);
  b.CreateBr(done);
  b.SetInsertPoint(done);
  b.CreateRetVoid();
  return probe;
}

llvm::Function* ProbeFunctions::make_end() {
  llvm::Type* const pointer = llvm::PointerType::get(wave_.context(), kConstantSpace);
  llvm::Type* const global = llvm::PointerType::get(wave_.context(), kGlobalSpace);
  llvm::Function* const probe = declare("__wavetap_end", {pointer, global});
  llvm::Value* const launch = probe->getArg(0);
  Builder b(block(probe, "entry"));
  const Lanes active = wave_.lanes(b);
  llvm::BasicBlock *const counted = block(probe, "counted"), *const over = block(probe, "over"),
                          *const finish = block(probe, "finish"),
                          *const last = block(probe, "last"), *const done = block(probe, "done");
  llvm::Value* const wants = wave_.field(b, launch, offsetof(ProbeLaunch, wants), i32_);
  b.CreateCondBr(b.CreateICmpNE(b.CreateAnd(wants, b.getInt32(format::kProbeTable)), b.getInt32(0)),
                 counted, finish);
  b.SetInsertPoint(counted);
  llvm::Value* const is_last = is_last_wave(b, launch, active);
  b.CreateCondBr(is_last, over, finish);
  b.SetInsertPoint(over);
  hand_over_table(b, launch, active, finish);
  b.SetInsertPoint(finish);
  b.CreateFence(llvm::AtomicOrdering::Release);
  b.CreateCondBr(active.is_first(b), last, done);
  b.SetInsertPoint(last);
  b.CreateAtomicRMW(llvm::AtomicRMWInst::Add,
                    b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), probe->getArg(1),
                                                 offsetof(ProbeLaunch, lanes_done)),
                    wave_.count_lanes(b, active.mask), llvm::Align(8),
                    llvm::AtomicOrdering::Release);
  b.CreateBr(done);
  b.SetInsertPoint(done);
  b.CreateRetVoid();
  return probe;
}

llvm::Function* ProbeFunctions::make_point() {
  llvm::Type* const pointer = llvm::PointerType::get(wave_.context(), kConstantSpace);
  llvm::Function* const probe = declare("__wavetap_point", {pointer, i64_, i32_, i32_});
  Builder b(wave_.context());
  const auto [launch, place, header, active, done] = begin(b, probe);
  llvm::BasicBlock *const write = block(probe, "write"), *const first = block(probe, "first");
  llvm::Value* const position = reserve(b, launch, active, b.getInt32(format::kPointWords));
  b.CreateCondBr(b.CreateICmpEQ(position, b.getInt64(UINT64_MAX)), done, write);
  b.SetInsertPoint(write);
  b.CreateCondBr(active.is_first(b), first, done);
  b.SetInsertPoint(first);
  llvm::Value* const index = b.CreateLShr(position, 3);
  store_word(b, launch, index, 1, place);
  store_word(b, launch, index, 2, active.mask);
  llvm::Value* const low = b.CreateOr(
      b.CreateZExt(header, i64_), b.getInt64(uint64_t{format::kPointWords} << format::kWordsShift));
  b.CreateFence(llvm::AtomicOrdering::Release);
  store_word(b, launch, index, 0, b.CreateOr(low, dispatch_half(b, launch)));
  b.CreateBr(done);
  return probe;
}

// Whether value = base + stride * (lane - first) in all active lanes, and what its record looks like.
ProbeFunctions::Shape ProbeFunctions::shape_of(Builder& b, llvm::Value* value,
                                               const Lanes& active) {
  llvm::Value* const from = wave_.first_lane(b, value);
  llvm::Value* const others = b.CreateAnd(active.mask, b.CreateSub(active.mask, b.getInt64(1)));
  llvm::Value* const has_second = b.CreateICmpNE(others, b.getInt64(0));
  llvm::Value* const second =
      b.CreateSelect(has_second, b.CreateTrunc(wave_.first_of(b, others), i32_), active.first);
  llvm::Value* const step =
      b.CreateTrunc(b.CreateSub(wave_.read_lane(b, value, second), from), i32_);
  llvm::Value* const gap =
      b.CreateSelect(has_second, b.CreateSub(second, active.first), b.getInt32(1));
  llvm::Value* const stride = b.CreateSDiv(step, gap);
  const uint32_t spare = 32 - format::kStrideBits;
  llvm::Value* const fits = b.CreateICmpEQ(b.CreateAShr(b.CreateShl(stride, spare), spare), stride);
  llvm::Value* const distance = times(b, stride, b.CreateSub(active.lane, active.first));
  llvm::Value* const differs = wave_.ballot(b, b.CreateICmpNE(b.CreateAdd(from, distance), value));
  llvm::Value* const affine = b.CreateAnd(b.CreateICmpEQ(differs, b.getInt64(0)), fits);

  llvm::BasicBlock *const begun = b.GetInsertBlock(),
                          *const in_tile = block(begun->getParent(), "tile"),
                          *const in_rows = block(begun->getParent(), "rows"),
                          *const shaped = block(begun->getParent(), "shaped");
  b.CreateCondBr(affine, shaped, in_tile);
  b.SetInsertPoint(in_tile);
  const Tile tile = tile_of(b, value, active, {from, stride, wave_.first_of(b, differs)});
  b.CreateCondBr(b.CreateAnd(tile.holds, fits), shaped, in_rows);
  b.SetInsertPoint(in_rows);
  llvm::Value* const by_rows = b.CreateAnd(has_rows(b, value, active, stride), fits);
  llvm::Value* const number = b.CreateTrunc(wave_.count_lanes(b, active.mask), i32_);
  llvm::Value* const row_words =
      b.getInt32(format::kPointWords + wave_.wave_size() / format::kRowLanes);
  llvm::Value* const words =
      b.CreateSelect(by_rows, row_words, b.CreateAdd(number, b.getInt32(format::kPointWords)));
  llvm::Value* const kind =
      b.CreateSelect(by_rows, b.getInt32(format::kRowsOfKind), b.getInt32(format::kListOfKind));
  b.CreateBr(shaped);

  b.SetInsertPoint(shaped);
  const auto choose = [&](llvm::Value* in_affine, llvm::Value* of_tile, llvm::Value* otherwise) {
    llvm::PHINode* const chosen = b.CreatePHI(in_affine->getType(), 3);
    chosen->addIncoming(in_affine, begun);
    chosen->addIncoming(of_tile, in_tile);
    chosen->addIncoming(otherwise, in_rows);
    return chosen;
  };
  Shape shape{from, stride, nullptr, nullptr, nullptr};
  shape.kind = choose(b.getInt32(0), b.getInt32(format::kTileOfKind), kind);
  shape.words = choose(b.getInt32(format::kAffineWords), b.getInt32(format::kTileWords), words);
  shape.tile = choose(b.getInt64(0), tile.word, b.getInt64(0));
  return shape;
}

// Rows of a power of two of lanes, at one distance from each other? The first lane that is not where the stride
// leads begins the second row, or is in it where the lanes before it are not active.
ProbeFunctions::Tile ProbeFunctions::tile_of(Builder& b, llvm::Value* value, const Lanes& active,
                                             const Row& row) {
  llvm::Value* const next = b.CreateTrunc(row.ends, i32_);
  llvm::Value* const bits = b.CreateSub(
      b.getInt32(31), b.CreateIntrinsic(llvm::Intrinsic::ctlz, {i32_}, {next, b.getFalse()}));
  llvm::Value* const column = b.CreateSub(b.CreateShl(b.getInt32(1), bits), b.getInt32(1));
  const auto column_of = [&](llvm::Value* lane) {
    return b.CreateSub(b.CreateAnd(lane, column), b.CreateAnd(active.first, column));
  };
  llvm::Value* const pitch =
      b.CreateTrunc(b.CreateSub(b.CreateSub(wave_.read_lane(b, value, next), row.from),
                                times(b, row.stride, column_of(next))),
                    i32_);
  llvm::Value* const rows =
      b.CreateSub(b.CreateLShr(active.lane, bits), b.CreateLShr(active.first, bits));
  llvm::Value* const told = b.CreateAdd(
      row.from, b.CreateAdd(times(b, row.stride, column_of(active.lane)), times(b, pitch, rows)));
  llvm::Value* const differs = wave_.ballot(b, b.CreateICmpNE(told, value));
  llvm::Value* const word = b.CreateOr(
      b.CreateZExt(pitch, i64_), b.CreateShl(b.CreateZExt(bits, i64_), format::kTileBitsShift));
  return {b.CreateICmpEQ(differs, b.getInt64(0)), word};
}

// The stride in every row of 16 lanes, wherever the rows are? A row whose first lane is not active reads what happens
// to be there, and most likely differs.
llvm::Value* ProbeFunctions::has_rows(Builder& b, llvm::Value* value, const Lanes& active,
                                      llvm::Value* stride) {
  llvm::Value* const row =
      b.CreateLShr(active.lane, b.getInt32(std::countr_zero(format::kRowLanes)));
  llvm::Value* from = wave_.read_lane(b, value, b.getInt32(0));
  for (uint32_t i = 1; i < wave_.wave_size() / format::kRowLanes; ++i)
    from = b.CreateSelect(b.CreateICmpEQ(row, b.getInt32(i)),
                          wave_.read_lane(b, value, b.getInt32(i * format::kRowLanes)), from);
  llvm::Value* const in_row =
      times(b, stride, b.CreateAnd(active.lane, b.getInt32(format::kRowLanes - 1)));
  llvm::Value* const differs = wave_.ballot(b, b.CreateICmpNE(b.CreateAdd(from, in_row), value));
  return b.CreateICmpEQ(differs, b.getInt64(0));
}

// 64 bits of two signed numbers of 32.
llvm::Value* ProbeFunctions::times(Builder& b, llvm::Value* one, llvm::Value* other) {
  return b.CreateMul(b.CreateSExt(one, i64_), b.CreateSExt(other, i64_));
}

// What a record has behind its first three words, where it is no list; goes to `next`.
void ProbeFunctions::store_shape(Builder& b, llvm::Value* launch, llvm::Value* index,
                                 llvm::Value* value, const Shape& shape, llvm::BasicBlock* next) {
  llvm::Function* const in = b.GetInsertBlock()->getParent();
  llvm::BasicBlock *const base = block(in, "base"), *const second = block(in, "second"),
                          *const begins = block(in, "begins");
  llvm::SwitchInst* const which = b.CreateSwitch(shape.kind, base, 2);
  which->addCase(b.getInt32(format::kListOfKind), next);
  which->addCase(b.getInt32(format::kRowsOfKind), begins);
  b.SetInsertPoint(base);
  store_word(b, launch, index, format::kPointWords, shape.from);
  b.CreateCondBr(b.CreateICmpEQ(shape.kind, b.getInt32(format::kTileOfKind)), second, next);
  b.SetInsertPoint(second);
  store_word(b, launch, index, format::kPointWords + 1, shape.tile);
  b.CreateBr(next);
  b.SetInsertPoint(begins);
  for (uint32_t i = 0; i < wave_.wave_size() / format::kRowLanes; ++i)
    store_word(b, launch, index, format::kPointWords + i,
               wave_.read_lane(b, value, b.getInt32(i * format::kRowLanes)));
  b.CreateBr(next);
}

llvm::Function* ProbeFunctions::make_lanes() {
  llvm::Type* const pointer = llvm::PointerType::get(wave_.context(), kConstantSpace);
  llvm::Function* const probe = declare("__wavetap_lanes", {pointer, i64_, i32_, i32_, i64_});
  llvm::Value* const value = probe->getArg(4);
  Builder b(wave_.context());
  const auto [launch, place, header, active, done] = begin(b, probe);
  llvm::BasicBlock *const write = block(probe, "write"), *const list = block(probe, "list"),
                          *const written = block(probe, "written"),
                          *const first = block(probe, "first"),
                          *const finish = block(probe, "finish"),
                          *const last = block(probe, "last");
  const Shape shape = shape_of(b, value, active);
  llvm::Value* const position = reserve(b, launch, active, shape.words);
  b.CreateCondBr(b.CreateICmpEQ(position, b.getInt64(UINT64_MAX)), done, write);

  b.SetInsertPoint(write);
  llvm::Value* const index = b.CreateLShr(position, 3);
  llvm::Value* const is_list = b.CreateICmpEQ(shape.kind, b.getInt32(format::kListOfKind));
  b.CreateCondBr(is_list, list, written);
  b.SetInsertPoint(list);
  llvm::Value* const mine = b.CreateZExt(wave_.lanes_below(b, active.mask), i64_);
  store_word(b, launch, b.CreateAdd(index, mine), format::kPointWords, value);
  b.CreateBr(written);

  b.SetInsertPoint(written);
  b.CreateCondBr(active.is_first(b), first, finish);
  b.SetInsertPoint(first);
  llvm::Value* const shown = b.CreateSelect(
      is_list, b.getInt64(0), b.CreateShl(b.CreateSExt(shape.stride, i64_), format::kStrideShift));
  store_word(b, launch, index, 1, b.CreateOr(place, shown));
  store_word(b, launch, index, 2, active.mask);
  store_shape(b, launch, index, value, shape, finish);

  // Everything that any lane has written comes before word 0.
  b.SetInsertPoint(finish);
  b.CreateFence(llvm::AtomicOrdering::Release);
  b.CreateCondBr(active.is_first(b), last, done);
  b.SetInsertPoint(last);
  llvm::Value* const low =
      b.CreateOr(b.CreateAdd(header, b.CreateShl(shape.kind, format::kKindShift)),
                 b.CreateShl(shape.words, format::kWordsShift));
  store_word(b, launch, index, 0, b.CreateOr(b.CreateZExt(low, i64_), dispatch_half(b, launch)));
  b.CreateBr(done);
  return probe;
}

}  // namespace wavetap::pass
