// Apart from container.cc, so that who reads single code objects does not link what unpacks bundles.
#include "codeobj/container.h"

namespace wavetap::codeobj {

std::string_view target_id_of_entry(std::string_view entry_id) {
  if (entry_id.starts_with("host")) return {};
  const size_t at = entry_id.find("-gfx");
  return at == std::string_view::npos ? std::string_view() : entry_id.substr(at + 1);
}

}  // namespace wavetap::codeobj
