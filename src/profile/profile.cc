#include "profile/profile.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "profile/chooser.h"

namespace wavetap::profile {
namespace {

using Key = std::tuple<std::string, std::vector<uint64_t>>;

Key key_of(const Sample& sample) {
  std::vector<uint64_t> shape(sample.grid, sample.grid + 3);
  shape.insert(shape.end(), sample.workgroup, sample.workgroup + 3);
  return {sample.kernel, shape};
}

void add(SampleGroup& group, Sample&& sample) {
  const auto ns = static_cast<double>(sample.end_ns - sample.start_ns);
  group.total_ns += ns;
  group.squares_ns += ns * ns;
  if (group.calls++ == 0) {
    group.mean = std::move(sample);
    return;
  }
  for (const auto& [name, value] : sample.counters) group.mean.counters[name] += value;
}

KernelProfile combine(const model::Model& model, const model::Peaks& peaks, SampleGroup& group,
                      bool is_emulated) {
  KernelProfile kernel;
  kernel.calls = group.calls;
  const auto calls = static_cast<double>(group.calls);
  kernel.mean = std::move(group.mean);
  kernel.total_ns = group.total_ns;
  kernel.mean_ns = group.total_ns / calls;
  kernel.deviation_ns =
      std::sqrt(std::max(group.squares_ns / calls - kernel.mean_ns * kernel.mean_ns, 0.0));
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
  Result<Chooser> chooser = Chooser::make(selection);
  if (!chooser.ok()) return chooser.error();
  std::map<Key, SampleGroup> by_key;
  for (Sample& sample : samples)
    if (chooser->wants(sample.kernel)) {
      SampleGroup& group = by_key[key_of(sample)];
      add(group, std::move(sample));
    }
  std::vector<SampleGroup> groups;
  for (auto& [key, group] : by_key) {
    for (auto& [name, value] : group.mean.counters) value /= static_cast<double>(group.calls);
    groups.push_back(std::move(group));
  }
  return make_profile(model, std::move(groups), samples.size(), is_emulated, std::move(source));
}

Result<Profile> make_profile(const model::Model& model, std::vector<SampleGroup> groups,
                             uint64_t counted, bool is_emulated, std::string source) {
  Profile profile;
  profile.model = model;
  profile.peaks = model::peaks(model);
  profile.source = std::move(source);
  profile.is_emulated = is_emulated;
  for (SampleGroup& group : groups)
    profile.kernels.push_back(combine(model, profile.peaks, group, is_emulated));
  std::stable_sort(profile.kernels.begin(), profile.kernels.end(),
                   [](const KernelProfile& a, const KernelProfile& b) {
                     return a.total_seconds() > b.total_seconds();
                   });
  if (profile.kernels.empty()) {
    if (counted == 0)
      return errorf(
          "%s: no dispatch in it was counted; record it with wavetap profile, or wavetap run "
          "--gpu MODEL --counters FILE",
          profile.source.c_str());
    return errorf("%s: no dispatch is left of %llu; loosen -k or --launch", profile.source.c_str(),
                  static_cast<unsigned long long>(counted));
  }
  return profile;
}

}  // namespace wavetap::profile
