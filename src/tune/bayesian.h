// Bayesian search: a Gaussian process models the objective from the points seen so far, and the point
// with the greatest expected improvement is looked at next.
#pragma once

#include <cstdint>
#include <memory>

#include "tune/search.h"
#include "tune/space.h"

namespace wavetap::tune {

std::unique_ptr<Search> make_bayesian(const Space& space, uint64_t seed);

}  // namespace wavetap::tune
