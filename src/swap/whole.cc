#include "swap/whole.h"

#include <algorithm>

#include "base/result.h"

namespace wavetap::swap {
namespace {

using ull = unsigned long long;

bool is_same_object(const Candidate& a, const Candidate& b) {
  return a.offset == b.offset && a.path == b.path && a.target_id == b.target_id;
}

// What the runtime takes from the metadata of the program's code object.
Verdict check_resources(const KernelInfo& original, const KernelInfo& replacement) {
  if (replacement.kernarg_bytes > original.kernarg_bytes)
    return {Reason::kArguments, errorf("it takes %llu bytes of arguments, and the runtime provides "
                                       "%llu",
                                       static_cast<ull>(replacement.kernarg_bytes),
                                       static_cast<ull>(original.kernarg_bytes))
                                    .message};
  if (replacement.kernarg_align > original.kernarg_align)
    return {Reason::kArguments,
            errorf("its arguments begin at multiples of %llu, and the original's of %llu",
                   static_cast<ull>(replacement.kernarg_align),
                   static_cast<ull>(original.kernarg_align))
                .message};
  if (replacement.lds_bytes > original.lds_bytes)
    return {Reason::kLds, errorf("it has %u bytes of static LDS, and the runtime provides %u",
                                 replacement.lds_bytes, original.lds_bytes)
                              .message};
  if (replacement.scratch_bytes > original.scratch_bytes)
    return {Reason::kScratch, errorf("it has %u bytes of scratch, and the runtime provides %u",
                                     replacement.scratch_bytes, original.scratch_bytes)
                                  .message};
  const bool is_narrower =
      replacement.max_workgroup != 0 &&
      (original.max_workgroup == 0 || replacement.max_workgroup < original.max_workgroup);
  if (is_narrower)
    return {Reason::kWorkgroup,
            errorf("it takes at most %u lanes in a workgroup, and the original %u",
                   replacement.max_workgroup, original.max_workgroup)
                .message};
  const uint32_t(&required)[3] = replacement.required_workgroup;
  if (required[0] != 0 && !std::equal(std::begin(required), std::end(required),
                                      std::begin(original.required_workgroup)))
    return {Reason::kWorkgroup,
            errorf("it requires workgroups of %u,%u,%u, and the original does not", required[0],
                   required[1], required[2])
                .message};
  return {};
}

Verdict check_variables(ObjectView original, ObjectView replacement) {
  for (const Variable& variable : original.variables) {
    const auto found =
        std::lower_bound(replacement.variables.begin(), replacement.variables.end(), variable,
                         [](const Variable& a, const Variable& b) { return a.name < b.name; });
    if (found == replacement.variables.end() || found->name != variable.name)
      return {Reason::kVariables, "it lacks the variable " + variable.name};
    if (found->bytes != variable.bytes)
      return {Reason::kVariables, errorf("its variable %s has %llu bytes, and the program's %llu",
                                         variable.name.c_str(), static_cast<ull>(found->bytes),
                                         static_cast<ull>(variable.bytes))
                                      .message};
  }
  return {};
}

}  // namespace

bool is_named(const Table& table, const codeobj::CodeObject& object) {
  return std::any_of(
      object.kernels().begin(), object.kernels().end(),
      [&](const codeobj::Kernel& kernel) { return !table.find(kernel.name).empty(); });
}

std::vector<const Candidate*> whole_offers(const Table& table,
                                           std::span<const KernelInfo> kernels) {
  std::vector<const Candidate*> offers;
  for (const KernelInfo& kernel : kernels) {
    for (const Candidate* const candidate : table.find(kernel.name)) {
      const bool is_new = candidate->offers_whole() && candidate->is_exact &&
                          std::none_of(offers.begin(), offers.end(), [&](const Candidate* known) {
                            return is_same_object(*known, *candidate);
                          });
      if (is_new) offers.push_back(candidate);
    }
  }
  std::sort(offers.begin(), offers.end());  // they are all of one array
  return offers;
}

Verdict check_whole(const Table& table, const Candidate& offer, ObjectView original,
                    ObjectView replacement) {
  std::vector<const KernelInfo*> theirs;
  for (const KernelInfo& kernel : replacement.kernels) theirs.push_back(&kernel);
  const auto by_name = [](const KernelInfo* a, const KernelInfo* b) { return a->name < b->name; };
  std::sort(theirs.begin(), theirs.end(), by_name);
  for (const KernelInfo& kernel : original.kernels) {
    const auto found = std::lower_bound(theirs.begin(), theirs.end(), &kernel, by_name);
    if (found == theirs.end() || (*found)->name != kernel.name)
      return {Reason::kKernels, "it lacks the kernel " + codeobj::demangle(kernel.name)};
    uint64_t hash = 0;
    for (const Candidate* const named : table.find(kernel.name))
      if (is_same_object(*named, offer)) hash = named->original_hash;
    // It has the program's variables, or is refused below.
    Verdict verdict = check(kernel, **found, offer.allowed | kAllowOwnVariables, hash);
    if (verdict.is_legal()) verdict = check_resources(kernel, **found);
    if (!verdict.is_legal()) {
      verdict.why = "kernel " + codeobj::demangle(kernel.name) + ": " + verdict.why;
      return verdict;
    }
  }
  return check_variables(original, replacement);
}

}  // namespace wavetap::swap
