// Whose functions the hooks stand in front of, and which libraries those are.
#pragma once

#include <cstdint>
#include <string_view>

#include "record/images.h"

namespace wavetap::agent {

enum class Provider : uint8_t { kHip, kHiprtc, kRoctx };
inline constexpr Provider kProviders[] = {Provider::kHip, Provider::kHiprtc, Provider::kRoctx};

// A file name or soname of one of the provider's libraries.
bool names_provider(std::string_view name, Provider provider);
bool is_provider(const record::Image& image, Provider provider);
bool is_any_provider(const record::Image& image);

// Whether any loaded library of that provider holds `address`.
bool is_in_provider(Provider provider, const void* address);

}  // namespace wavetap::agent
