// Whole code objects: what may be loaded in the place of one that the program loads.
//
// One kernel in the place of another (legality.h) has variables of its own and its code object beside the
// program's. A whole code object is loaded instead, so that hipMemcpyToSymbol(), managed memory and
// textures reach it. Nothing is left to go back to when a launch does not fit, and the runtime has read
// the metadata of the program's: it takes size and place of arguments, LDS, scratch and limits of
// workgroups from there. So these must do for the replacement, for every kernel.
#pragma once

#include <span>
#include <vector>

#include "swap/kernel_info.h"
#include "swap/legality.h"
#include "swap/table.h"

namespace wavetap::swap {

struct ObjectView {
  std::span<const KernelInfo> kernels;
  std::span<const Variable> variables;  // sorted
};

// Whether any of its kernels has a name of the table: without describing them, which means to scan code.
bool is_named(const Table& table, const codeobj::CodeObject& object);

// Code objects that the table offers for one with these kernels, in the order they are to be tried; of
// each the first line that names it.
std::vector<const Candidate*> whole_offers(const Table& table, std::span<const KernelInfo> kernels);

// The first rule that does not hold, for which kernel or variable.
Verdict check_whole(const Table& table, const Candidate& offer, ObjectView original,
                    ObjectView replacement);

// Whether a refusal says more than one that was there before: all others than the target do.
inline bool says_more(const Candidate* known, const Verdict& known_verdict) {
  return known == nullptr || known_verdict.reason == Reason::kTarget;
}

}  // namespace wavetap::swap
