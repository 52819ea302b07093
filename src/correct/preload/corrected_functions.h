#pragma once

namespace wavetap::correct {

// Our function of this name; null when there is none, or when this library itself looks for the
// real one.
void* corrected_function(const char* name);

}  // namespace wavetap::correct
