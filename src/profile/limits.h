// Limits: what keeps a kernel from being faster. Every class that applies, ranked; the first is the
// answer.
//
// A cause is worth naming when the kernel would be faster without it: the same model is asked again
// with the cause taken away, and the quotient is the expected gain. A cause that gains a fifth or more
// comes before the resource that it slows down, and so do bank conflicts that are most of what the
// busiest one, LDS, does. Where no cause does, the busiest resource is the limit,
// and its gain is what is to be had before the next one takes over.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.h"
#include "profile/work_of.h"
#include "timing/kernel_time.h"

namespace wavetap::profile {

enum class Limit : uint8_t {
#define WT_LIMIT(name, text, title, advice) name,
#include "profile/limits.inc"
#undef WT_LIMIT
};
inline constexpr size_t kLimits = 0
#define WT_LIMIT(name, text, title, advice) +1
#include "profile/limits.inc"
#undef WT_LIMIT
    ;
std::string_view name_of(Limit limit);   // "bank-conflicts"
std::string_view title_of(Limit limit);  // "LDS bank conflicts"
std::string_view advice_on(Limit limit);

struct RankedLimit {
  Limit limit{};
  double gain =
      1;  // expected speed-up, modelled; of a resource: at most, until the next one limits
  std::string evidence;  // "62 % of LDS cycles are conflicts"
  std::string detail;    // of occupancy: what is scarce
  std::string_view advice = advice_on(limit);
};

// Never empty; the first decides. Sorted by gain, causes first.
std::vector<RankedLimit> rank_limits(const model::Model& model, const Work& work,
                                     const timing::KernelTime& time);

}  // namespace wavetap::profile
