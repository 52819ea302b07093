#include "optimize/gate.h"

#include <algorithm>

namespace wavetap::optimize {
namespace {

using Json = nlohmann::json;

struct Figures {
  double runtime = 0, vgprs = 0, occupancy = 0, lds = 0, memory = 0;
};

Figures figures_of(const Json& profile) {
  return {profile.at("runtime_ms").get<double>(),
          profile.at("resources").at("vgpr_per_thread").get<double>(),
          profile.at("occupancy").at("theoretical").get<double>(),
          profile.at("resources").at("lds_bytes").get<double>(),
          profile.at("roofline").at("bytes").get<double>()};
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
  try {
    const Figures old_figures = figures_of(before);
    const Figures new_figures = figures_of(after);
    std::vector<Regression> found;
    const auto rises = [&](const char* name, double was, double is, double limit) {
      if (is > was * (1 + limit) + 1e-12) found.push_back({name, was, is, limit});
    };
    rises("runtime_ms", old_figures.runtime, new_figures.runtime, limits.runtime);
    rises("vgpr_per_thread", old_figures.vgprs, new_figures.vgprs, limits.vgprs);
    rises("lds_bytes", old_figures.lds, new_figures.lds, limits.lds);
    if (new_figures.occupancy < old_figures.occupancy * (1 - limits.occupancy) - 1e-12)
      found.push_back(
          {"occupancy", old_figures.occupancy, new_figures.occupancy, limits.occupancy});
    if (new_figures.runtime >= old_figures.runtime * 0.98)
      rises("memory_bytes", old_figures.memory, new_figures.memory, limits.memory);
    return found;
  } catch (const Json::exception&) {
    return errorf("not a profile.json of wavetap profile");
  }
}

}  // namespace wavetap::optimize
