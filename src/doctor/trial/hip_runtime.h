// The few HIP calls the trials make. Signatures are the same from HIP 5 to 7, but for
// hipDeviceProp_t, whose two layouts are read by offset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace wavetap::doctor::trial {

inline constexpr int kHostToDevice = 1;
inline constexpr int kDeviceToHost = 2;
inline constexpr int kDeviceToDevice = 3;

struct HipApi {
  int (*init)(unsigned) = nullptr;
  int (*get_device_count)(int*) = nullptr;
  int (*set_device)(int) = nullptr;
  const char* (*error_name)(int) = nullptr;
  int (*properties_r0600)(void*, int) = nullptr;
  int (*properties)(void*, int) = nullptr;
  int (*get_pci_bus_id)(char*, int, int) = nullptr;
  int (*malloc_)(void**, size_t) = nullptr;
  int (*free_)(void*) = nullptr;
  int (*host_malloc)(void**, size_t, unsigned) = nullptr;
  int (*host_free)(void*) = nullptr;
  int (*memcpy_)(void*, const void*, size_t, int) = nullptr;
  int (*module_load_data)(void**, const void*) = nullptr;
  int (*module_get_function)(void**, void*, const char*) = nullptr;
  int (*module_launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                       void*, void**, void**) = nullptr;
  int (*synchronize)() = nullptr;

  bool complete() const {
    return init && get_device_count && set_device && malloc_ && free_ && host_malloc && host_free &&
           memcpy_ && module_load_data && module_get_function && module_launch && synchronize &&
           (properties || properties_r0600);
  }
};
const HipApi& hip_api();
std::string hip_text(int error);
// "gfx1030" of a device, features removed; empty on failure.
std::string hip_arch(int device);

}  // namespace wavetap::doctor::trial
