#include "profile/profile.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <regex>
#include <set>
#include <tuple>

namespace wavetap::profile {
namespace {

using Key = std::tuple<std::string, std::vector<uint64_t>>;

Key key_of(const Sample& sample) {
  std::vector<uint64_t> shape(sample.grid, sample.grid + 3);
  shape.insert(shape.end(), sample.workgroup, sample.workgroup + 3);
  return {sample.kernel, shape};
}

KernelProfile combine(const model::Model& model, const model::Peaks& peaks,
                      std::vector<Sample>& samples, bool is_emulated) {
  KernelProfile kernel;
  kernel.calls = samples.size();
  const auto calls = static_cast<double>(samples.size());
  kernel.mean = std::move(samples.front());
  std::vector<double> times;
  const auto duration = [](const Sample& s) { return static_cast<double>(s.end_ns - s.start_ns); };
  times.push_back(duration(kernel.mean));
  for (size_t i = 1; i < samples.size(); ++i) {
    for (const auto& [name, value] : samples[i].counters) kernel.mean.counters[name] += value;
    times.push_back(duration(samples[i]));
  }
  for (auto& [name, value] : kernel.mean.counters) value /= calls;
  for (const double time : times) kernel.total_ns += time;
  kernel.mean_ns = kernel.total_ns / calls;
  for (const double time : times)
    kernel.deviation_ns += (time - kernel.mean_ns) * (time - kernel.mean_ns) / calls;
  kernel.deviation_ns = std::sqrt(kernel.deviation_ns);

  kernel.work = work_of(model, kernel.mean);
  kernel.time = timing::kernel_time(model, kernel.work.kernel, kernel.work.needs);
  kernel.limits = rank_limits(model, kernel.work, kernel.time);
  kernel.is_measured = !is_emulated && kernel.mean_ns > 0;
  kernel.seconds = kernel.is_measured ? kernel.mean_ns / 1e9 : kernel.time.seconds;
  kernel.roofline = roofline_of(peaks, kernel.work, kernel.seconds);
  return kernel;
}

}  // namespace

double Profile::total_seconds() const {
  double total = 0;
  for (const KernelProfile& kernel : kernels) total += kernel.total_seconds();
  return total;
}

Result<Profile> make_profile(const model::Model& model, std::vector<Sample> samples,
                             const Selection& selection, bool is_emulated, std::string source) {
  Profile profile;
  profile.model = model;
  profile.peaks = model::peaks(model);
  profile.source = std::move(source);
  profile.is_emulated = is_emulated;
  std::regex pattern;
  try {
    pattern = std::regex(selection.pattern, std::regex::extended);
  } catch (const std::regex_error&) {
    return errorf("-k %s: is not a regular expression; see grep -E", selection.pattern.c_str());
  }
  const std::set<uint64_t> wanted(selection.launches.begin(), selection.launches.end());
  std::map<std::string, uint64_t> launches;
  std::map<Key, std::vector<Sample>> groups;
  for (Sample& sample : samples) {
    if (!selection.pattern.empty() && !std::regex_search(sample.kernel, pattern)) continue;
    const uint64_t number = ++launches[sample.kernel];
    if (!wanted.empty() && !wanted.contains(number)) continue;
    groups[key_of(sample)].push_back(std::move(sample));
  }
  for (auto& [key, group] : groups)
    profile.kernels.push_back(combine(model, profile.peaks, group, is_emulated));
  std::stable_sort(profile.kernels.begin(), profile.kernels.end(),
                   [](const KernelProfile& a, const KernelProfile& b) {
                     return a.total_seconds() > b.total_seconds();
                   });
  if (profile.kernels.empty()) {
    if (samples.empty())
      return errorf(
          "%s: no dispatch in it was counted; record it with wavetap profile, or wavetap run "
          "--gpu MODEL --counters FILE",
          profile.source.c_str());
    return errorf("%s: no dispatch is left of %zu; loosen -k or --launch", profile.source.c_str(),
                  samples.size());
  }
  return profile;
}

}  // namespace wavetap::profile
