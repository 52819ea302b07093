#include "pass/sites.h"

#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>
#include <llvm/IR/Module.h>

#include <map>
#include <set>

namespace wavetap::pass {
namespace {

using format::Site;
using format::SiteAccess;
using format::SiteKind;
using format::SiteSpace;

// "i32", "4xfloat"; what a person would write.
std::string type_name(const llvm::Type& type) {
  if (type.isIntegerTy()) return "i" + std::to_string(type.getIntegerBitWidth());
  if (type.isHalfTy()) return "half";
  if (type.isFloatTy()) return "float";
  if (type.isDoubleTy()) return "double";
  if (type.isPointerTy()) return "pointer";
  if (const auto* const vector = llvm::dyn_cast<llvm::FixedVectorType>(&type))
    return std::to_string(vector->getNumElements()) + "x" + type_name(*vector->getElementType());
  if (type.isStructTy()) return "struct";
  if (type.isArrayTy()) return "array";
  return "other";
}

std::vector<format::SiteFrame> frames_of(const llvm::DILocation* location) {
  std::vector<format::SiteFrame> frames;
  for (; location != nullptr; location = location->getInlinedAt()) {
    format::SiteFrame frame;
    const llvm::StringRef file = location->getFilename(), folder = location->getDirectory();
    frame.file = (!file.empty() && file.front() == '/') || folder.empty()
                     ? file.str()
                     : (folder + "/" + file).str();
    frame.line = location->getLine();
    frame.column = location->getColumn();
    if (const llvm::DISubprogram* const function = location->getScope()->getSubprogram())
      frame.function = function->getName().str();
    frames.push_back(std::move(frame));
  }
  return frames;
}

SiteSpace space_of(unsigned address_space) {
  switch (address_space) {
    case 0: return SiteSpace::kFlat;
    case 3: return SiteSpace::kLds;
    case 5: return SiteSpace::kScratch;
    default: return SiteSpace::kGlobal;
  }
}

bool begins_with(const std::string& text, const char* begin) { return text.rfind(begin, 0) == 0; }

// The call that made the descriptor of a raw buffer; null: it was made some other way, or its elements have a stride.
const llvm::IntrinsicInst* maker_of(const llvm::Value* descriptor) {
  const auto* const made = llvm::dyn_cast<llvm::IntrinsicInst>(descriptor);
  if (made == nullptr || made->arg_size() < 3 ||
      !begins_with(made->getCalledFunction()->getName().str(), "llvm.amdgcn.make.buffer.rsrc"))
    return nullptr;
  const auto* const stride = llvm::dyn_cast<llvm::ConstantInt>(made->getArgOperand(1));
  return stride != nullptr && stride->isZero() ? made : nullptr;
}

class Finder {
 public:
  Finder(llvm::Function& kernel, std::vector<std::string>& unseen)
      : layout_(kernel.getParent()->getDataLayout()), kernel_(kernel), unseen_(unseen) {}

  std::vector<Place> find() {
    for (llvm::BasicBlock& block : kernel_) {
      begin_block(block);
      for (llvm::Instruction& at : block) look_at(at);
    }
    for (const auto& [block, site] : blocks_) {
      std::set<uint32_t> next;
      for (llvm::BasicBlock* const successor : llvm::successors(block))
        next.insert(blocks_.at(successor));
      places_[site].site.successors.assign(next.begin(), next.end());
    }
    return std::move(places_);
  }

 private:
  Place& add(llvm::Instruction& at, SiteKind kind) {
    Place& place = places_.emplace_back();
    place.at = &at;
    place.site.kind = kind;
    place.site.block = block_;
    place.site.frames = frames_of(at.getDebugLoc().get());
    return place;
  }

  void begin_block(llvm::BasicBlock& block) {
    llvm::Instruction* first = &*block.getFirstInsertionPt();
    if (&block == &kernel_.getEntryBlock())  // what is allocated stays at the front
      while (llvm::isa<llvm::AllocaInst>(first) || llvm::isa<llvm::DbgInfoIntrinsic>(first))
        first = first->getNextNode();
    block_ = static_cast<uint32_t>(places_.size());
    blocks_[&block] = block_;
    Place& place = add(*first, SiteKind::kBlock);
    place.site.type = block.hasName() ? block.getName().str() : "-";
    // The first instruction may have no line of its own.
    for (llvm::Instruction& at : block)
      if (place.site.frames.empty() && at.getDebugLoc() && at.getDebugLoc().getLine() != 0)
        place.site.frames = frames_of(at.getDebugLoc().get());
  }

  void add_access(llvm::Instruction& at, llvm::Value* pointer, llvm::Type* type,
                  SiteAccess access) {
    add_access(at, pointer, layout_.getTypeStoreSize(type).getFixedValue(), type_name(*type),
               access);
  }
  void add_access(llvm::Instruction& at, llvm::Value* pointer, uint64_t bytes, std::string type,
                  SiteAccess access) {
    Place& place = add(at, SiteKind::kMemory);
    place.site.space = space_of(pointer->getType()->getPointerAddressSpace());
    place.site.access = access;
    place.site.bytes = static_cast<uint32_t>(bytes);
    place.site.type = std::move(type);
    place.value = pointer;
  }

  void look_at(llvm::Instruction& at) {
    if (auto* const load = llvm::dyn_cast<llvm::LoadInst>(&at))
      return add_access(at, load->getPointerOperand(), load->getType(), SiteAccess::kLoad);
    if (auto* const store = llvm::dyn_cast<llvm::StoreInst>(&at))
      return add_access(at, store->getPointerOperand(), store->getValueOperand()->getType(),
                        SiteAccess::kStore);
    if (auto* const atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(&at))
      return add_access(at, atomic->getPointerOperand(), atomic->getValOperand()->getType(),
                        atomic_access(at));
    if (auto* const exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&at))
      return add_access(at, exchange->getPointerOperand(), exchange->getNewValOperand()->getType(),
                        SiteAccess::kAtomicReturn);
    auto* const call = llvm::dyn_cast<llvm::CallBase>(&at);
    if (call == nullptr) return;
    if (is_message(*call)) return add_message(*call);
    if (auto* const intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&at))
      look_at_intrinsic(*intrinsic);
  }

  static SiteAccess atomic_access(const llvm::Instruction& at) {
    return at.use_empty() ? SiteAccess::kAtomic : SiteAccess::kAtomicReturn;
  }

  // Loads, stores and atomics of llvm.amdgcn.raw.ptr.buffer, which Triton makes of most accesses. False: it is another.
  bool add_buffer_access(llvm::IntrinsicInst& at, const std::string& name) {
    constexpr char kFamily[] = "llvm.amdgcn.raw.ptr.buffer.";
    if (!begins_with(name, kFamily)) return false;
    const std::string what = name.substr(sizeof kFamily - 1);
    const bool is_load = begins_with(what, "load."), is_store = begins_with(what, "store.");
    if ((!is_load && !is_store && !begins_with(what, "atomic.")) ||
        what.find(".lds") != std::string::npos || what.find("format") != std::string::npos)
      return false;
    unsigned i = 0;
    while (i < at.arg_size() && !at.getArgOperand(i)->getType()->isPointerTy()) ++i;
    if (i + 2 >= at.arg_size()) return false;
    const llvm::IntrinsicInst* const maker = maker_of(at.getArgOperand(i));
    if (maker == nullptr) return false;
    add_access(at, maker->getArgOperand(0), is_load ? at.getType() : at.getArgOperand(0)->getType(),
               is_load    ? SiteAccess::kLoad
               : is_store ? SiteAccess::kStore
                          : atomic_access(at));
    Place& place = places_.back();
    place.site.space = SiteSpace::kGlobal;
    place.offsets[0] = at.getArgOperand(i + 1);
    place.offsets[1] = at.getArgOperand(i + 2);
    place.records = maker->getArgOperand(2);
    return true;
  }

  void look_at_intrinsic(llvm::IntrinsicInst& at) {
    if (at.getIntrinsicID() == llvm::Intrinsic::amdgcn_s_barrier) {
      add(at, SiteKind::kBarrier);
      return;
    }
    if (auto* const transfer = llvm::dyn_cast<llvm::MemIntrinsic>(&at)) {
      const auto* const length = llvm::dyn_cast<llvm::ConstantInt>(transfer->getLength());
      const uint64_t bytes = length == nullptr ? 0 : length->getZExtValue();
      if (auto* const moving = llvm::dyn_cast<llvm::MemTransferInst>(&at))
        add_access(at, moving->getRawSource(), bytes, "copy", SiteAccess::kLoad);
      return add_access(at, transfer->getRawDest(), bytes, "copy", SiteAccess::kStore);
    }
    if (llvm::isa<llvm::DbgInfoIntrinsic>(at) || at.isLifetimeStartOrEnd() ||
        !at.mayReadOrWriteMemory())
      return;
    const std::string name = at.getCalledFunction()->getName().str();
    if (!begins_with(name, "llvm.amdgcn.") || add_buffer_access(at, name)) return;
    const bool is_atomic =
        name.find("atomic") != std::string::npos || name.find(".ds.f") != std::string::npos;
    if (is_atomic && at.arg_size() >= 2 && at.getArgOperand(0)->getType()->isPointerTy())
      return add_access(at, at.getArgOperand(0), at.getArgOperand(1)->getType(), atomic_access(at));
    const bool is_access = name.find("buffer") != std::string::npos ||
                           name.find("image") != std::string::npos ||
                           name.find(".ds.") != std::string::npos;
    if (is_access && said_.insert(name).second) unseen_.push_back("accesses by " + name);
  }

  void add_message(llvm::CallBase& call) {
    if (call.arg_size() < 2) return;
    Place& place = add(call, SiteKind::kMessage);
    place.message = call.getArgOperand(0);
    place.value = call.getArgOperand(1);
    place.replaces = true;
  }

  const llvm::DataLayout& layout_;
  llvm::Function& kernel_;
  std::vector<std::string>& unseen_;
  std::vector<Place> places_;
  std::map<llvm::BasicBlock*, uint32_t> blocks_;
  std::set<std::string> said_;
  uint32_t block_ = 0;
};

}  // namespace

bool is_message(const llvm::CallBase& call) {
  if (const auto* const text = llvm::dyn_cast<llvm::InlineAsm>(call.getCalledOperand()))
    return llvm::StringRef(text->getAsmString()).find("wavetap_message") != llvm::StringRef::npos;
  const llvm::Function* const called = call.getCalledFunction();
  return called != nullptr && called->isDeclaration() && called->getName() == "wavetap_message";
}

std::vector<Place> find_places(llvm::Function& kernel, std::vector<std::string>& unseen) {
  return Finder(kernel, unseen).find();
}

}  // namespace wavetap::pass
