#include "profile/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "util/text.h"

namespace wavetap::profile {
namespace {

using timing::KernelTime;
using timing::KernelWork;
using timing::Resource;

// A cause counts from this gain on.
constexpr double kWorthNaming = 1.2;

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

class Ranking {
 public:
  Ranking(const model::Model& model, const Work& work, const KernelTime& time)
      : model_(model), work_(work), time_(time) {}

  std::vector<RankedLimit> rank() {
    divergence();
    bank_conflicts();
    coalescing();
    spills();
    occupancy();
    launch();
    std::stable_sort(causes_.begin(), causes_.end(),
                     [](const RankedLimit& a, const RankedLimit& b) { return a.gain > b.gain; });
    std::vector<RankedLimit> all;
    std::vector<RankedLimit> minor;
    for (RankedLimit& cause : causes_)
      (cause.gain >= kWorthNaming || is_most_of_the_limit(cause) ? all : minor)
          .push_back(std::move(cause));
    for (RankedLimit& resource : resources()) all.push_back(std::move(resource));
    for (RankedLimit& cause : minor)
      if (cause.gain > 1.02) all.push_back(std::move(cause));
    return all;
  }

 private:
  // Expected speed-up when the work is `changed`.
  double gain_of(const std::function<void(KernelWork&, model::KernelNeeds&)>& change) const {
    KernelWork changed = work_.kernel;
    model::KernelNeeds needs = work_.needs;
    change(changed, needs);
    const double better = timing::kernel_time(model_, changed, needs).seconds;
    return better > 0 ? std::max(time_.seconds / better, 1.0) : 1;
  }

  void add(Limit limit, double gain, std::string evidence, std::string detail = "") {
    causes_.push_back({limit, gain, std::move(evidence), std::move(detail)});
  }

  // Conflicts are the answer where LDS decides and does little else, however near the next limit is.
  bool is_most_of_the_limit(const RankedLimit& cause) const {
    return cause.limit == Limit::kBankConflicts && time_.limit == Resource::kLds &&
           work_.kernel.lds_conflicts > work_.kernel.lds_cycles / 2;
  }

  void divergence() {
    const KernelWork& k = work_.kernel;
    const double active = ratio(k.lanes, k.lane_slots);
    if (k.lane_slots == 0 || active > 0.95) return;
    const double gain = gain_of([&](KernelWork& w, model::KernelNeeds&) {
      w.valu *= active;
      w.trans *= active;
      w.f64 *= active;
    });
    add(Limit::kDivergence, gain,
        fmt::format("{} of the lanes of vector instructions are active", percent(active)));
  }

  void bank_conflicts() {
    const KernelWork& k = work_.kernel;
    if (k.lds_conflicts == 0 || k.lds_cycles == 0) return;
    const double gain = gain_of([](KernelWork& w, model::KernelNeeds&) {
      w.lds_cycles -= std::min(w.lds_conflicts, w.lds_cycles);
    });
    add(Limit::kBankConflicts, gain,
        fmt::format("{} of the LDS cycles are conflicts", percent(k.lds_conflicts / k.lds_cycles)));
  }

  void coalescing() {
    const KernelWork& k = work_.kernel;
    if (k.lines_ideal == 0 || k.lines <= 1.1 * k.lines_ideal) return;
    const double scale = k.lines_ideal / k.lines;
    const double gain = gain_of([&](KernelWork& w, model::KernelNeeds&) {
      // Bytes that nobody asked for go; those that a cache serves again and again stay served.
      const double useful = w.lines_ideal * 64;
      w.l1_tags *= scale;
      w.l2_busiest *= scale;
      w.l2_bytes = std::max(std::min(w.l2_bytes, useful), w.l2_bytes * scale);
      w.fabric_bytes = std::min(w.fabric_bytes, std::max(useful, w.fabric_bytes * scale));
      w.dram_bytes = std::min(w.dram_bytes, std::max(useful, w.dram_bytes * scale));
    });
    add(Limit::kCoalescing, gain,
        fmt::format("{:.1f} times the 64-byte lines that the bytes need", k.lines / k.lines_ideal));
  }

  void spills() {
    const KernelWork& k = work_.kernel;
    if (k.scratch_bytes == 0) return;
    const double share = ratio(k.scratch_bytes, k.l1_bytes);
    const double gain = gain_of([&](KernelWork& w, model::KernelNeeds&) {
      const double rest = 1 - std::min(share, 1.0);
      w.l1_tags *= rest;
      w.l2_bytes *= rest;
      w.l2_busiest *= rest;
      w.fabric_bytes *= rest;
      w.dram_bytes *= rest;
      w.vmem_waits *= rest;
      w.vmem *= rest;
    });
    add(Limit::kSpills, gain,
        fmt::format("{} of the bytes through the L1 are scratch", percent(share)));
  }

  void occupancy() {
    const model::Occupancy& o = time_.occupancy;
    if (o.share() > 0.9 || o.workgroups_per_unit == 0) return;
    // As full as wave slots allow: the same waits, less often after each other. With too few
    // workgroups, the same work in as many as fill the GPU.
    double gain = 1;
    if (o.limit == model::OccupancyLimit::kGrid) {
      gain = gain_of([&](KernelWork& w, model::KernelNeeds& needs) {
        const double more = std::max(1.0, double(o.units) / std::max(w.workgroups, 1.0));
        w.workgroups *= more;
        w.waves *= more;
        needs.workgroups = static_cast<uint64_t>(w.workgroups);
      });
    } else {
      gain = gain_of([&](KernelWork&, model::KernelNeeds& needs) {
        needs.vgprs = std::min(needs.vgprs, 32u);
        needs.sgprs = 0;
        needs.lds_bytes = 0;
      });
    }
    std::string detail = fmt::format("limited by {}", model::name_of(o.limit));
    add(Limit::kOccupancy, gain,
        fmt::format("{} of the waves that fit, limited by {}", percent(o.share()),
                    model::name_of(o.limit)),
        std::move(detail));
  }

  void launch() {
    const double share = ratio(time_.of(Resource::kLaunch), time_.seconds);
    if (share < 0.3) return;
    add(Limit::kLaunch, 1 / (1 - std::min(share, 0.9)),
        fmt::format("{} of {} is the launch itself", percent(share),
                    util::human_seconds(time_.seconds)));
  }

  std::vector<RankedLimit> resources() const {
    std::vector<RankedLimit> all;
    for (size_t i = 0; i + 1 < timing::kResources; ++i) {
      const double busy = time_.busy[i];
      if (busy == 0) continue;
      double next = 0;
      for (size_t j = 0; j + 1 < timing::kResources; ++j)
        if (j != i) next = std::max(next, time_.busy[j]);
      const double launch = time_.of(Resource::kLaunch);
      const bool is_longest = busy >= next;
      const double gain = is_longest ? time_.seconds / (next + launch) : 1;
      all.push_back({static_cast<Limit>(i), gain,
                     fmt::format("busy {} of the time", percent(ratio(busy, time_.seconds))), ""});
      if (all.back().limit == Limit::kMemory) explain_memory(all.back());
    }
    std::stable_sort(all.begin(), all.end(), [&](const RankedLimit& a, const RankedLimit& b) {
      return time_.busy[static_cast<size_t>(a.limit)] > time_.busy[static_cast<size_t>(b.limit)];
    });
    if (all.empty()) all.push_back({Limit::kLaunch, 1, "the kernel does nothing", ""});
    return all;
  }

  // Bytes that are fetched once can only become fewer by computing something else.
  void explain_memory(RankedLimit& limit) const {
    if (work_.caches != Caches::kModelled) return;
    const double again = work_.kernel.dram_again_bytes;
    const double share = ratio(again, work_.kernel.dram_bytes);
    if (share < 0.1) {
      limit.evidence += ", almost no byte is read twice";
      return;
    }
    limit.evidence += fmt::format(", {} of the bytes are read again", percent(share));
    limit.advice =
        "use data while the caches have them: tile, and let workgroups that share data run "
        "at the same time";
    const double once = gain_of([&](KernelWork& w, model::KernelNeeds&) {
      w.dram_bytes -= again;
      w.fabric_bytes -= std::min(again, w.fabric_bytes);
    });
    limit.gain = std::min(limit.gain, once);
  }

  const model::Model& model_;
  const Work& work_;
  const KernelTime& time_;
  std::vector<RankedLimit> causes_;
};

struct LimitText {
  std::string_view name, title, advice;
};
constexpr LimitText kTexts[] = {
#define WT_LIMIT(name, text, title, advice) {text, title, advice},
#include "profile/limits.inc"
#undef WT_LIMIT
};

}  // namespace

std::string_view name_of(Limit limit) { return kTexts[static_cast<size_t>(limit)].name; }
std::string_view title_of(Limit limit) { return kTexts[static_cast<size_t>(limit)].title; }
std::string_view advice_on(Limit limit) { return kTexts[static_cast<size_t>(limit)].advice; }

std::vector<RankedLimit> rank_limits(const model::Model& model, const Work& work,
                                     const KernelTime& time) {
  return Ranking(model, work, time).rank();
}

}  // namespace wavetap::profile
