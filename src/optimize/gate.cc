#include "optimize/gate.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include "profile/compare.h"

namespace wavetap::optimize {
namespace {

using Json = nlohmann::ordered_json;

bool has_kernels(const Json& profile) {
  return profile.is_object() && profile.contains("kernels") && profile["kernels"].is_array() &&
         profile.value("document", "") == "profile";
}

}  // namespace

Result<Score> score_of(const Json& profile) {
  try {
    Score score;
    score.kernel = profile.at("kernel").at("name").get<std::string>();
    score.headroom = std::clamp(profile.at("headroom_fraction").get<double>(), 0.0, 0.99);
    const Json critical = profile.value("critical_path", Json());
    if (critical.is_object() && critical.contains("fraction") && critical["fraction"].is_number())
      score.critical_fraction = critical["fraction"].get<double>();
    score.estimated_speedup = 1 / (1 - score.headroom);
    score.priority = score.headroom * score.critical_fraction;
    score.is_worthwhile =
        score.headroom >= kLeastHeadroom && score.critical_fraction >= kLeastCritical &&
        score.priority >= kLeastPriority && score.estimated_speedup >= kLeastSpeedup;
    return score;
  } catch (const Json::exception&) {
    return errorf("not a profile.json of wavetap profile");
  }
}

Result<std::vector<Regression>> find_regressions(const Json& before, const Json& after,
                                                 const GateLimits& limits) {
  if (!has_kernels(before) || !has_kernels(after))
    return errorf("not a profile.json of wavetap profile");
  const auto exceeding = [&](const char* what, double above) {
    return profile::find_exceeding({what, above}, before, after);
  };
  // What is faster may move more.
  std::set<std::string> faster;
  if (const auto found = exceeding("time", -0.02); found.ok())
    for (const profile::Exceeding& one : *found) faster.insert(one.kernel);
  std::vector<Regression> regressions;
  for (const auto& [what, limit] : {std::pair{"time", limits.runtime},
                                    {"vgpr_per_thread", limits.vgprs},
                                    {"lds_bytes", limits.lds},
                                    {"waves_per_simd", -limits.occupancy},
                                    {"memory_bytes", limits.memory}}) {
    const auto found = exceeding(what, limit);
    if (!found.ok()) return errorf("not a profile.json of wavetap profile");
    for (const profile::Exceeding& one : *found)
      if (std::string_view(what) != "memory_bytes" || !faster.contains(one.kernel))
        regressions.push_back({one.kernel, what, one.change.a, one.change.b, std::fabs(limit)});
  }
  return regressions;
}

}  // namespace wavetap::optimize
