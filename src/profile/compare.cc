#include "profile/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "profile/documents.h"
#include "profile/numbers.h"
#include "timing/kernel_time.h"
#include "util/json.h"
#include "util/json_library.h"
#include "util/text.h"

namespace wavetap::profile {
namespace {

using json = nlohmann::ordered_json;

const json& part(const json& object, const char* key) {
  static const json kNothing = json::object();
  if (!object.is_object()) return kNothing;
  const auto found = object.find(key);
  return found != object.end() ? *found : kNothing;
}

// What can be behind a resource's busy time, as the counters call it.
constexpr std::pair<std::string_view, const char*> kBehind[] = {
    {"vector-alu", "SQ_INSTS_VALU"},
    {"vector-alu", "SQ_INSTS_VALU_TRANS_F32"},
    {"vector-alu", "SQ_INSTS_VALU_FMA_F64"},
    {"matrix", "SQ_INSTS_MFMA"},
    {"matrix", "flops_matrix"},
    {"scalar", "SQ_INSTS_SALU"},
    {"scalar", "SQ_INSTS_SMEM"},
    {"scalar", "SQ_INSTS_BRANCH"},
    {"lds", "modelled.lds_conflict_cycles"},
    {"lds", "SQ_LDS_BANK_CONFLICT"},
    {"lds", "SQ_INSTS_LDS"},
    {"lds", "bytes_lds"},
    {"l1", "modelled.l1_tag_accesses"},
    {"l1", "TCP_TOTAL_CACHE_ACCESSES_sum"},
    {"l1", "modelled.scratch_bytes"},
    {"l1", "SQ_INSTS_VMEM"},
    {"l2", "modelled.l2_bytes"},
    {"l2", "modelled.l2_busiest_channel"},
    {"l2", "TCC_REQ_sum"},
    {"infinity-cache", "modelled.fabric_read_bytes"},
    {"infinity-cache", "modelled.fabric_write_bytes"},
    {"memory", "modelled.dram_read_bytes"},
    {"memory", "modelled.dram_write_bytes"},
    {"memory", "TCC_MISS_sum"},
    {"latency", "modelled.vmem_waits"},
    {"latency", "modelled.lds_waits"},
    {"latency", "modelled.smem_waits"},
    {"latency", "waves_per_simd"},
    {"latency", "vgpr_per_thread"},
    {"latency", "SQ_INSTS"},
};

using Figures = std::map<std::string, double>;

// Counters, and what the compiler and the launch decide.
Figures figures_of(const json& kernel) {
  Figures figures;
  for (const auto& [name, value] : part(kernel, "counters").items())
    if (value.is_number()) figures[name] = value.get<double>();
  for (const char* const key : {"vgpr_per_thread", "agpr_per_thread", "sgpr_per_wave",
                                "vgpr_spills", "lds_bytes", "scratch_bytes"})
    figures[key] = util::number_in(part(kernel, "resources"), key);
  figures["waves_per_simd"] = util::number_in(part(kernel, "occupancy"), "waves_per_simd");
  figures["flops"] = util::number_in(part(kernel, "roofline"), "flops");
  figures["memory_bytes"] = util::number_in(part(kernel, "roofline"), "bytes");
  return figures;
}

double value_of(const Figures& figures, const std::string& name) {
  const auto found = figures.find(name);
  return found == figures.end() ? 0 : found->second;
}

std::string signed_percent(double share) { return fmt::format("{:+.1f} %", share * 100); }

std::string amount(const std::string& name, double value) {
  return name.find("bytes") != std::string::npos ? bytes_text(value)
                                                 : util::group_digits(uint64_t(value + 0.5));
}

// The resource that decides how long the kernel takes.
std::string busiest(const json& kernel) {
  std::string name;
  double longest = -1;
  for (const auto& [resource, seconds] : part(part(kernel, "modelled"), "bounds_seconds").items())
    if (seconds.is_number() && resource != "launch" && seconds.get<double>() > longest)
      name = resource, longest = seconds.get<double>();
  return name;
}

std::string_view title_of_resource(std::string_view name) {
  for (size_t i = 0; i < timing::kResources; ++i)
    if (timing::name_of(static_cast<timing::Resource>(i)) == name)
      return timing::title_of(static_cast<timing::Resource>(i));
  return name;
}

std::string reason_of(const KernelChange& change, const json& a, const json& b) {
  const bool is_slower = change.seconds_b > change.seconds_a;
  // The slower side's bottleneck is what was added, or what was taken away.
  const std::string resource = busiest(is_slower ? b : a);
  if (resource.empty()) return "";
  const double busy_a =
      util::number_in(part(part(a, "modelled"), "bounds_seconds"), resource.c_str());
  const double busy_b =
      util::number_in(part(part(b, "modelled"), "bounds_seconds"), resource.c_str());
  std::string reason = fmt::format("{} busy {} instead of {}", title_of_resource(resource),
                                   util::human_seconds(busy_b), util::human_seconds(busy_a));
  const Figures before = figures_of(a), after = figures_of(b);
  Change largest;
  for (const auto& [of, name] : kBehind) {
    if (of != resource) continue;
    const Change candidate{name, value_of(before, name), value_of(after, name)};
    // More registers or fewer waves cost, more of anything else does.
    if (std::abs(candidate.share()) > std::abs(largest.share())) largest = candidate;
  }
  if (!largest.name.empty() && std::abs(largest.share()) >= 0.005)
    reason +=
        fmt::format(": {} {} instead of {} ({})", largest.name, amount(largest.name, largest.b),
                    amount(largest.name, largest.a), signed_percent(largest.share()));
  const std::string other = busiest(is_slower ? a : b);
  if (other != resource)
    reason += fmt::format("; {} limited by {}", is_slower ? "before it was" : "now it is",
                          title_of_resource(other));
  if (change.has_other_shape) reason += "; launched with another shape";
  return reason;
}

std::string shape_of(const json& kernel) {
  return util::json_line(part(part(kernel, "kernel"), "grid")) +
         util::json_line(part(part(kernel, "kernel"), "block"));
}

std::vector<const json*> kernels_of(const json& document) {
  std::vector<const json*> kernels;
  const json& list = part(document, "kernels");
  if (!list.is_array()) return kernels;
  for (const json& kernel : list)
    if (kernel.is_object()) kernels.push_back(&kernel);
  return kernels;
}

std::string kernel_name(const json& kernel) {
  return util::text_in(part(kernel, "kernel"), "name");
}

using Pair = std::pair<const json*, const json*>;

// Name and shape first, then name alone in the order of time.
std::vector<Pair> pairs_of(const json& a, const json& b) {
  std::vector<Pair> pairs;
  std::vector<const json*> left = kernels_of(a), right = kernels_of(b);
  for (const bool exact : {true, false}) {
    for (const json*& one : left) {
      if (one == nullptr) continue;
      const auto match = std::find_if(right.begin(), right.end(), [&](const json* other) {
        return other != nullptr && kernel_name(*one) == kernel_name(*other) &&
               (!exact || shape_of(*one) == shape_of(*other));
      });
      if (match == right.end()) continue;
      pairs.emplace_back(std::exchange(one, nullptr), std::exchange(*match, nullptr));
    }
  }
  for (const json* one : left)
    if (one != nullptr) pairs.emplace_back(one, nullptr);
  for (const json* other : right)
    if (other != nullptr) pairs.emplace_back(nullptr, other);
  return pairs;
}

void add_figures(KernelChange& change, const json& a, const json& b, double least) {
  const Figures before = figures_of(a), after = figures_of(b);
  std::set<std::string> names;
  for (const Figures* figures : {&before, &after})
    for (const auto& [name, value] : *figures) names.insert(name);
  for (const std::string& name : names) {
    const Change figure{name, value_of(before, name), value_of(after, name)};
    if (figure.a != figure.b && std::abs(figure.share()) >= least) change.figures.push_back(figure);
  }
  std::stable_sort(
      change.figures.begin(), change.figures.end(),
      [](const Change& x, const Change& y) { return std::abs(x.share()) > std::abs(y.share()); });
}

KernelChange change_of(const Pair& pair, double least) {
  const auto& [a, b] = pair;
  KernelChange change;
  change.kernel = kernel_name(a != nullptr ? *a : *b);
  const auto fill = [](const json* of, double& calls, double& seconds, double& total,
                       std::string& limit) {
    if (of == nullptr) return;
    calls = util::number_in(*of, "calls");
    seconds = util::number_in(*of, "runtime_ms") / 1e3;
    total = util::number_in(*of, "total_ms") / 1e3;
    limit = util::text_in(part(*of, "bottleneck"), "primary");
  };
  fill(a, change.calls_a, change.seconds_a, change.total_a, change.limit_a);
  fill(b, change.calls_b, change.seconds_b, change.total_b, change.limit_b);
  if (a == nullptr || b == nullptr) {
    change.verdict = a == nullptr ? KernelChange::Verdict::kNew : KernelChange::Verdict::kGone;
    return change;
  }
  change.has_other_shape = shape_of(*a) != shape_of(*b);
  const Change time{"", change.seconds_a, change.seconds_b};
  if (std::abs(time.share()) >= least)
    change.verdict =
        time.b > time.a ? KernelChange::Verdict::kSlower : KernelChange::Verdict::kFaster;
  add_figures(change, *a, *b, least);
  if (change.verdict != KernelChange::Verdict::kSame) change.reason = reason_of(change, *a, *b);
  return change;
}

}  // namespace

Status check_document(const json& document, const std::string& name) {
  if (!document.is_object() || util::text_in(document, "document") != "profile")
    return errorf("%s: not a profile.json; write one with wavetap profile -o", name.c_str());
  const double version = util::number_in(document, "version");
  if (version > kDocumentVersion)
    return errorf("%s: a profile of version %.0f, this build reads up to %d; profile again",
                  name.c_str(), version, kDocumentVersion);
  return {};
}

double Change::share() const {
  if (a == b) return 0;
  return a != 0 ? (b - a) / std::abs(a) : 1;
}

const char* name_of(KernelChange::Verdict verdict) {
  switch (verdict) {
    case KernelChange::Verdict::kSame: return "same";
    case KernelChange::Verdict::kFaster: return "faster";
    case KernelChange::Verdict::kSlower: return "slower";
    case KernelChange::Verdict::kNew: return "new";
    case KernelChange::Verdict::kGone: return "gone";
  }
  return "same";
}

Result<Comparison> compare_profiles(const json& a, const json& b, double least) {
  if (const Status ok = check_document(a, "the first"); !ok.ok()) return ok.error();
  if (const Status ok = check_document(b, "the second"); !ok.ok()) return ok.error();
  Comparison comparison;
  comparison.source_a = util::text_in(a, "source");
  comparison.source_b = util::text_in(b, "source");
  comparison.gpu_a = util::text_in(part(a, "gpu"), "name");
  comparison.gpu_b = util::text_in(part(b, "gpu"), "name");
  for (const Pair& pair : pairs_of(a, b)) {
    comparison.kernels.push_back(change_of(pair, least));
    std::string& reason = comparison.kernels.back().reason;
    if (!reason.empty() && comparison.gpu_a != comparison.gpu_b) reason += "; on another GPU";
    comparison.total_a += comparison.kernels.back().total_a;
    comparison.total_b += comparison.kernels.back().total_b;
  }
  std::stable_sort(comparison.kernels.begin(), comparison.kernels.end(),
                   [](const KernelChange& x, const KernelChange& y) {
                     return std::abs(x.total_b - x.total_a) > std::abs(y.total_b - y.total_a);
                   });
  return comparison;
}

Result<Gate> parse_gate(const std::string& condition) {
  Gate gate;
  const size_t equals = condition.find('=');
  gate.what = condition.substr(0, equals);
  if (gate.what == "limit" && equals == std::string::npos) return gate;
  char* rest = nullptr;
  const std::string share = equals == std::string::npos ? "" : condition.substr(equals + 1);
  gate.above = std::strtod(share.c_str(), &rest) / 100;
  const std::string_view unit = rest == nullptr ? "" : rest;
  if (gate.what.empty() || gate.what == "limit" || share.empty() || rest == share.c_str() ||
      (unit != "%" && !unit.empty()) || !(gate.above >= 0))
    return errorf(
        "--fail-on %s: not understood; write time=5%%, total=5%%, limit, or a counter such as "
        "SQ_INSTS=1%%",
        condition.c_str());
  return gate;
}

Result<std::vector<Exceeding>> find_exceeding(const Gate& gate, const json& a, const json& b) {
  std::vector<Exceeding> found;
  bool is_known = gate.what == "time";
  for (const auto& [one, other] : pairs_of(a, b)) {
    for (const json* side : {one, other})
      if (side != nullptr && figures_of(*side).contains(gate.what)) is_known = true;
    if (one == nullptr || other == nullptr) continue;
    const KernelChange of = change_of({one, other}, 0);
    const Change change = gate.what == "time"
                              ? Change{"time", of.seconds_a, of.seconds_b}
                              : Change{gate.what, value_of(figures_of(*one), gate.what),
                                       value_of(figures_of(*other), gate.what)};
    if (gate.above < 0 ? change.share() < gate.above : change.share() > gate.above)
      found.push_back({short_kernel(of.kernel), change});
  }
  if (!is_known)
    return errorf("--fail-on %s: no kernel has a counter of that name; profile.json lists them",
                  gate.what.c_str());
  return found;
}

Result<std::vector<std::string>> check_gate(const Gate& gate, const Comparison& comparison,
                                            const json& a, const json& b) {
  std::vector<std::string> causes;
  const auto tell = [&](const std::string& of, const Change& change) {
    causes.push_back(fmt::format("{}: {} {}, more than {:g} %", of, change.name,
                                 signed_percent(change.share()), gate.above * 100));
  };
  if (gate.what == "total") {
    const Change total{"total", comparison.total_a, comparison.total_b};
    if (total.share() > gate.above) tell("all kernels", total);
    return causes;
  }
  if (gate.what == "limit") {
    for (const auto& [one, other] : pairs_of(a, b)) {
      if (one == nullptr || other == nullptr) continue;
      const KernelChange change = change_of({one, other}, 0);
      if (change.limit_a != change.limit_b)
        causes.push_back(fmt::format("{}: limited by {} instead of {}", short_kernel(change.kernel),
                                     change.limit_b, change.limit_a));
    }
    return causes;
  }
  const Result<std::vector<Exceeding>> found = find_exceeding(gate, a, b);
  if (!found.ok()) return found.error();
  for (const Exceeding& one : *found) tell(one.kernel, one.change);
  return causes;
}

}  // namespace wavetap::profile
