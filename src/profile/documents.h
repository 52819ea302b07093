// A profile as JSON documents (docs/json-schema.md) and as one page of text.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "profile/profile.h"

namespace wavetap::profile {

// Raised when a key changes its meaning or goes away, not when one is added.
inline constexpr int kDocumentVersion = 1;

nlohmann::ordered_json profile_json(const Profile& profile);
nlohmann::ordered_json roofline_json(const Profile& profile);
nlohmann::ordered_json dag_json(const Profile& profile);
nlohmann::ordered_json analysis_json(const Profile& profile);

// One page: which kernels matter, what limits the first `most`, what to try. `columns` wide.
std::string page(const Profile& profile, size_t most, size_t columns);

// Kernels against their ceilings, both axes logarithmic.
std::string roofline_svg(const Profile& profile);
// The same with values under the mouse, alone or beside others.
std::string roofline_html(const Profile& profile);
std::string roofline_text(const Profile& profile, size_t columns);

}  // namespace wavetap::profile
