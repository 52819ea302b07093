// Which device function a host stub or a hipFunction_t stands for.
#pragma once

namespace wavetap::agent {

// Writes a HostFunctionFact, and again in every later session of this process and its children.
// Thread-safe.
void note_host_function(const void* function, const char* device_name);

}  // namespace wavetap::agent
