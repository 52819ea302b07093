// The page a person reads: what matters, what limits it, what to try first.
#include <fmt/format.h>

#include <algorithm>

#include "profile/documents.h"
#include "profile/numbers.h"
#include "util/table.h"
#include "util/text.h"

namespace wavetap::profile {
namespace {

std::string shape_text(const uint64_t (&extent)[3]) {
  std::string text = std::to_string(extent[0]);
  for (int axis = 1; axis < 3; ++axis)
    if (extent[1] * extent[2] > 1) text += fmt::format("x{}", extent[axis]);
  return text;
}

std::string kernel_table(const Profile& profile, size_t columns) {
  util::Table table({{"KERNEL", util::Align::kLeft, /*may_shrink=*/true},
                     {"CALLS", util::Align::kRight},
                     {"TIME", util::Align::kRight},
                     {"SHARE", util::Align::kRight},
                     {"CRITICAL", util::Align::kRight},
                     {"LIMIT"},
                     {"GAIN", util::Align::kRight}});
  constexpr size_t kMost = 12;
  const double total = profile.total_seconds();
  for (size_t i = 0; i < profile.kernels.size() && i < kMost; ++i) {
    const KernelProfile& kernel = profile.kernels[i];
    const RankedLimit& first = kernel.limits.front();
    table.add({short_kernel(kernel.mean.kernel), util::group_digits(kernel.calls),
               util::human_seconds(kernel.seconds),
               total > 0 ? percent_text(kernel.total_seconds() / total) : "-",
               kernel.critical_share ? percent_text(*kernel.critical_share) : "-",
               std::string(title_of(first.limit)), gain_text(first.gain)});
  }
  std::string text = table.text(columns);
  if (profile.kernels.size() > kMost)
    text += fmt::format("… and {} more\n", profile.kernels.size() - kMost);
  return text;
}

// Which places the limit is about, and what of them to show.
struct Hot {
  const Place* place;
  double weight;
  std::string what;
};

std::vector<Hot> hot_places(const KernelProfile& kernel) {
  const Limit limit = kernel.limits.front().limit;
  std::vector<Hot> hot;
  const auto add = [&](const Place& place, double weight, std::string what) {
    if (weight > 0) hot.push_back({&place, weight, std::move(what)});
  };
  switch (limit) {
    case Limit::kLds:
    case Limit::kBankConflicts:
      for (const Place& p : kernel.mean.accesses)
        add(p, limit == Limit::kLds ? p.lds_cycles : p.lds_conflict_cycles,
            fmt::format("{} LDS cycles, {} of them conflicts",
                        util::group_digits(uint64_t(p.lds_cycles)),
                        percent_text(p.lds_cycles > 0 ? p.lds_conflict_cycles / p.lds_cycles : 0)));
      break;
    case Limit::kCoalescing:
      for (const Place& p : kernel.mean.accesses)
        add(p, p.lines - p.lines_ideal,
            fmt::format("{:.1f} times the lines it needs, {}",
                        p.lines / std::max(p.lines_ideal, 1.0), bytes_text(p.bytes)));
      break;
    case Limit::kL1:
    case Limit::kL2:
    case Limit::kInfinityCache:
    case Limit::kMemory:
    case Limit::kLatency:
    case Limit::kOccupancy:
    case Limit::kSpills:
      for (const Place& p : kernel.mean.accesses) {
        const bool is_scratch =
            p.instruction.starts_with("scratch_") || p.instruction.starts_with("buffer_");
        if (limit == Limit::kSpills && !is_scratch) continue;
        add(p, p.lines + 4 * p.l2_misses,
            fmt::format("{}, {} L1 misses, {} L2 misses", bytes_text(p.bytes),
                        util::group_digits(uint64_t(p.l1_misses)),
                        util::group_digits(uint64_t(p.l2_misses))));
      }
      break;
    case Limit::kVector:
    case Limit::kMatrix:
    case Limit::kScalar:
    case Limit::kDivergence:
    case Limit::kLaunch:
      for (const Place& p : kernel.mean.blocks)
        add(p, p.executed * p.instructions,
            fmt::format("{} instructions, run {} times by waves", uint64_t(p.instructions),
                        util::group_digits(uint64_t(p.executed))));
      break;
  }
  std::stable_sort(hot.begin(), hot.end(),
                   [](const Hot& a, const Hot& b) { return a.weight > b.weight; });
  return hot;
}

std::string places_text(const KernelProfile& kernel, size_t columns) {
  constexpr size_t kMost = 4;
  std::vector<Hot> hot = hot_places(kernel);
  if (hot.empty()) return "";
  if (hot.size() > kMost) hot.resize(kMost);
  std::string text = "  where:\n";
  for (const Hot& h : hot) {
    const Place& p = *h.place;
    std::string at =
        p.source.empty() ? fmt::format("+0x{:x}", p.offset) : util::escape_control(p.source);
    text += util::wrap(fmt::format("{}  {}: {}", at, util::escape_control(p.instruction), h.what),
                       columns > 8 ? columns : 80, 6);
    if (text.back() != '\n') text += '\n';
    for (const std::string& line : util::inlined_lines(p.frames, p.source)) {
      text += util::wrap(util::escape_control(line), columns > 8 ? columns : 80, 8);
      if (text.back() != '\n') text += '\n';
    }
  }
  return text;
}

std::string kernel_text(const KernelProfile& kernel, size_t columns) {
  const RankedLimit& first = kernel.limits.front();
  const timing::KernelTime& time = kernel.time;
  std::string text = fmt::format("{}\n", short_kernel(kernel.mean.kernel));
  text +=
      fmt::format("  grid {} work-items, workgroup {}; {} VGPRs, {} SGPRs, {} LDS\n",
                  shape_text(kernel.mean.grid), shape_text(kernel.mean.workgroup),
                  kernel.mean.vgprs, kernel.mean.sgprs, bytes_text(double(kernel.mean.lds_bytes)));
  text += fmt::format("  limited by {}: {}\n", title_of(first.limit), first.evidence);
  text += fmt::format("  try first: {}; at most {} as fast (modelled)\n", first.advice,
                      gain_text(first.gain));
  text += places_text(kernel, columns);
  std::vector<std::pair<double, size_t>> busy;
  for (size_t i = 0; i < timing::kResources; ++i)
    if (time.busy[i] > 0.005 * time.seconds) busy.push_back({time.busy[i], i});
  std::stable_sort(busy.begin(), busy.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> parts;
  for (const auto& [seconds, i] : busy)
    parts.push_back(fmt::format("{} {}", timing::title_of(static_cast<timing::Resource>(i)),
                                percent_text(seconds / time.seconds)));
  text += fmt::format("  busy, of {} modelled: {}\n", util::human_seconds(time.seconds),
                      util::join(parts, ", "));
  const model::Occupancy& o = time.occupancy;
  text += fmt::format("  occupancy {} ({} of {} waves per SIMD), limited by {}\n",
                      percent_text(o.share()), o.waves_per_simd, o.max_waves_per_simd,
                      model::name_of(o.limit));
  if (kernel.limits.size() > 1) {
    parts.clear();
    for (size_t i = 1; i < kernel.limits.size() && i < 4; ++i)
      parts.push_back(
          fmt::format("{} ({})", title_of(kernel.limits[i].limit), kernel.limits[i].evidence));
    text += fmt::format("  then: {}\n", util::join(parts, "; "));
  }
  return text;
}

}  // namespace

std::string page(const Profile& profile, size_t most, size_t columns) {
  const bool is_measured = profile.kernels.front().is_measured;
  std::string text = fmt::format("{} on {}: times are {}\n\n", util::escape_control(profile.source),
                                 profile.model.marketing_name,
                                 is_measured ? "measured" : "modelled, not measured");
  text += kernel_table(profile, columns);
  for (size_t i = 0; i < profile.kernels.size() && i < most; ++i)
    text.append("\n").append(kernel_text(profile.kernels[i], columns));
  text.append("\n").append(roofline_text(profile, columns));
  for (const std::string& note : profile.notes) text += fmt::format("note: {}\n", note);
  return text;
}

std::string roofline_text(const Profile& profile, size_t columns) {
  util::Table table({{"ROOFLINE", util::Align::kLeft, /*may_shrink=*/true},
                     {"FLOPs", util::Align::kRight},
                     {"ACHIEVED", util::Align::kRight},
                     {"ATTAINABLE", util::Align::kRight},
                     {"L1 FLOP/B", util::Align::kRight},
                     {"L2 FLOP/B", util::Align::kRight},
                     {"MEM FLOP/B", util::Align::kRight},
                     {"MEM", util::Align::kRight}});
  constexpr size_t kMost = 12;
  for (size_t i = 0; i < profile.kernels.size() && i < kMost; ++i) {
    const KernelProfile& kernel = profile.kernels[i];
    const Roofline& roof = kernel.roofline;
    const auto level = [&](model::Level wanted) -> const LevelTraffic* {
      for (const LevelTraffic& at : roof.levels)
        if (at.level == wanted) return &at;
      return nullptr;
    };
    const auto intensity = [&](model::Level wanted) {
      const LevelTraffic* const at = level(wanted);
      return at == nullptr ? std::string("-") : fmt::format("{:.3g}", at->intensity);
    };
    const LevelTraffic* const memory = level(model::Level::kVram);
    table.add({short_kernel(kernel.mean.kernel), util::group_digits(uint64_t(roof.operations)),
               rate_text(roof.achieved, "FLOP/s"), rate_text(roof.attainable, "FLOP/s"),
               intensity(model::Level::kL1), intensity(model::Level::kL2),
               intensity(model::Level::kVram),
               memory == nullptr ? "-" : bytes_text(memory->bytes)});
  }
  return table.text(columns);
}

}  // namespace wavetap::profile
