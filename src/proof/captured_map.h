// The memory of a captured dispatch as the sanitizer asks for it.
#pragma once

#include "replay/capture_file.h"
#include "sanitize/fixed_map.h"

namespace wavetap::proof {

sanitize::FixedMap memory_map(const replay::Capture& capture);

}  // namespace wavetap::proof
