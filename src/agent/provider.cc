#include "agent/provider.h"

#include "agent/recording.h"

namespace wavetap::agent {

bool names_provider(std::string_view name, Provider provider) {
  switch (provider) {
    case Provider::kHip: return name.starts_with("libamdhip64");
    // hipRTC is in a library of its own, in libamdhip64, or in both.
    case Provider::kHiprtc:
      return name.starts_with("libhiprtc.") || name.starts_with("libamdhip64");
    case Provider::kRoctx:
      return name.starts_with("libroctx64") || name.starts_with("librocprofiler-sdk-roctx");
  }
  return false;
}

bool is_provider(const record::Image& image, Provider provider) {
  return names_provider(record::file_name_of(image), provider) ||
         names_provider(record::soname_of(image), provider);
}

bool is_any_provider(const record::Image& image) {
  for (const Provider provider : kProviders)
    if (is_provider(image, provider)) return true;
  return false;
}

bool is_in_provider(Provider provider, const void* address) {
  const Inside inside;
  bool found = false;
  record::find_image([&](const record::Image& image) {
    if (!image.contains(reinterpret_cast<uintptr_t>(address))) return false;
    found = is_provider(image, provider);
    return true;
  });
  return found;
}

}  // namespace wavetap::agent
