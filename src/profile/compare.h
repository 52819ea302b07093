// Comparison of two profiles: which kernels became slower or faster, and why.
//
// Both sides are documents of `wavetap profile` (profile.json), so that old results compare with new ones.
// A kernel is the same kernel when its name and shape are; else the kernel of that name whose shape has no
// partner either. The reason is looked for where the model says the time goes: in the resource that decides
// the slower side, its busy time on both sides, and the count behind it that changed most. What did not
// change cannot be the reason.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"

namespace wavetap::profile {

// Something countable of a kernel, before and after.
struct Change {
  std::string name;  // of the counter or figure
  double a = 0, b = 0;
  double share() const;  // (b - a) / a; 1 when it came from nothing
};

struct KernelChange {
  enum class Verdict { kSame, kFaster, kSlower, kNew, kGone };
  Verdict verdict = Verdict::kSame;
  std::string kernel;
  double calls_a = 0, calls_b = 0;
  double seconds_a = 0, seconds_b = 0;  // of one dispatch
  double total_a = 0, total_b = 0;      // of all
  std::string limit_a, limit_b;         // classes
  bool has_other_shape = false;
  std::string reason;           // a sentence; "" when nothing changed
  std::vector<Change> figures;  // those that changed, the largest change first
};
const char* name_of(KernelChange::Verdict verdict);

struct Comparison {
  std::string source_a, source_b, gpu_a, gpu_b;
  double total_a = 0, total_b = 0;
  std::vector<KernelChange> kernels;  // the largest change of the total first
};

// An error when it is not one that wavetap profile wrote; `name`: the file, for the sentence.
Status check_document(const nlohmann::ordered_json& document, const std::string& name);

// `least`: what changes less is the same, as a share. An error when a document is not one of ours.
Result<Comparison> compare_profiles(const nlohmann::ordered_json& a,
                                    const nlohmann::ordered_json& b, double least);

// One page, and the same as JSON.
std::string comparison_text(const Comparison& comparison, size_t most, size_t columns);
nlohmann::ordered_json comparison_json(const Comparison& comparison);

// A condition that must not come true: "time=5%" (a kernel slower by more), "total=2%" (all of them),
// "limit" (a kernel has another limit), or a counter or figure by name, "SQ_INSTS=1%".
struct Gate {
  std::string what;
  double above = 0;  // a share; below 0: what falls by more
};
// What a gate found of one kernel.
struct Exceeding {
  std::string kernel;
  Change change;
};
// Kernels of which "time" or a counter or figure changed by more. An error when the name is none.
Result<std::vector<Exceeding>> find_exceeding(const Gate& gate, const nlohmann::ordered_json& a,
                                              const nlohmann::ordered_json& b);
Result<Gate> parse_gate(const std::string& text);
// Why the gate is shut, a sentence for each cause; empty: it is open. An error when the name is none.
Result<std::vector<std::string>> check_gate(const Gate& gate, const Comparison& comparison,
                                            const nlohmann::ordered_json& a,
                                            const nlohmann::ordered_json& b);

}  // namespace wavetap::profile
