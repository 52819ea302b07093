// CUDA's driver interface, when something answers it: NVIDIA's library, or a layer that translates
// to HIP.
#include <fmt/format.h>

#include <cctype>
#include <cstddef>

#include "doctor/trial/loaded_library.h"

namespace wavetap::doctor::trial {
namespace {

// CUdevice_attribute
constexpr int kSharedMemoryPerBlock = 8, kWarpSize = 10, kClockRate = 13, kMultiprocessorCount = 16,
              kL2CacheSize = 38, kMajor = 75, kMinor = 76;

}  // namespace

std::string cuda_figures(std::vector<Figures>& figures) {
  const Library& library = cuda_library();
  if (!library.ok()) return library.error();
  const auto init = library.function<int(unsigned)>("cuInit");
  const auto get_count = library.function<int(int*)>("cuDeviceGetCount");
  const auto get = library.function<int(int*, int)>("cuDeviceGet");
  const auto get_name = library.function<int(char*, int, int)>("cuDeviceGetName");
  const auto get_attribute = library.function<int(int*, int, int)>("cuDeviceGetAttribute");
  const auto total_memory = library.function<int(size_t*, int)>("cuDeviceTotalMem_v2");
  const auto pci_bus_id = library.function<int(char*, int, int)>("cuDeviceGetPCIBusId");
  if (!init || !get_count || !get || !get_name || !get_attribute)
    return library.path() + ": lacks functions of the CUDA driver";
  int error = init(0), count = 0;
  if (error == 0) error = get_count(&count);
  if (error != 0) return fmt::format("cuInit: CUDA error {}", error);
  for (int index = 0; index < count; ++index) {
    int device = 0;
    if (get(&device, index) != 0) continue;
    Figures one;
    char name[256] = {};
    if (get_name(name, sizeof name, device) == 0) one.name = name;
    const auto attribute = [&](int which) {
      int value = 0;
      return get_attribute(&value, which, device) == 0 && value > 0 ? static_cast<uint64_t>(value)
                                                                    : 0;
    };
    one.arch = fmt::format("sm_{}{}", attribute(kMajor), attribute(kMinor));
    one.multiprocessors = attribute(kMultiprocessorCount);
    one.clock_mhz = attribute(kClockRate) / 1000;
    one.wave_size = attribute(kWarpSize);
    one.lds_bytes = attribute(kSharedMemoryPerBlock);
    one.l2_bytes = attribute(kL2CacheSize);
    size_t bytes = 0;
    if (total_memory != nullptr && total_memory(&bytes, device) == 0) one.vram_bytes = bytes;
    char address[64] = {};
    if (pci_bus_id != nullptr && pci_bus_id(address, sizeof address, device) == 0)
      one.pci_address = address;
    for (char& c : one.pci_address)
      c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    figures.push_back(std::move(one));
  }
  return "";
}

}  // namespace wavetap::doctor::trial
