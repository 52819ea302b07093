// The marker functions as the loader's hooks see them.
#pragma once

namespace wavetap::agent {

bool is_marker_symbol(const char* symbol);
// Libraries came or went: look for a real libroctx64 again.
void forget_marker_functions();

}  // namespace wavetap::agent
