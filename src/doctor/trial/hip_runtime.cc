#include "doctor/trial/hip_runtime.h"

#include <fmt/format.h>

#include <cctype>
#include <cstring>
#include <vector>

#include "amd/hip_properties.h"
#include "doctor/trial/loaded_library.h"

namespace wavetap::doctor::trial {
namespace {

template <class T>
T field(const std::vector<char>& bytes, size_t offset) {
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

bool read_properties(int device, std::vector<char>& bytes, amd::HipPropertiesLayout& layout) {
  const HipApi& hip = hip_api();
  bytes.assign(amd::kHipPropertiesBytes, 0);
  layout = hip.properties_r0600 != nullptr ? amd::kHipPropertiesR0600 : amd::kHipPropertiesR0000;
  const auto get = hip.properties_r0600 != nullptr ? hip.properties_r0600 : hip.properties;
  return get != nullptr && get(bytes.data(), device) == 0;
}

std::string text_at(const std::vector<char>& bytes, size_t offset) {
  return std::string(bytes.data() + offset, strnlen(bytes.data() + offset, 256));
}

}  // namespace

const HipApi& hip_api() {
  static const HipApi api = [] {
    const Library& library = hip_library();
    HipApi found;
    found.init = library.function<int(unsigned)>("hipInit");
    found.get_device_count = library.function<int(int*)>("hipGetDeviceCount");
    found.set_device = library.function<int(int)>("hipSetDevice");
    found.error_name = library.function<const char*(int)>("hipGetErrorName");
    found.properties_r0600 = library.function<int(void*, int)>("hipGetDevicePropertiesR0600");
    found.properties = library.function<int(void*, int)>("hipGetDeviceProperties");
    found.get_pci_bus_id = library.function<int(char*, int, int)>("hipDeviceGetPCIBusId");
    found.malloc_ = library.function<int(void**, size_t)>("hipMalloc");
    found.free_ = library.function<int(void*)>("hipFree");
    found.host_malloc = library.function<int(void**, size_t, unsigned)>("hipHostMalloc");
    found.host_free = library.function<int(void*)>("hipHostFree");
    found.memcpy_ = library.function<int(void*, const void*, size_t, int)>("hipMemcpy");
    found.module_load_data = library.function<int(void**, const void*)>("hipModuleLoadData");
    found.module_get_function =
        library.function<int(void**, void*, const char*)>("hipModuleGetFunction");
    found.module_launch =
        library.function<int(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                             unsigned, void*, void**, void**)>("hipModuleLaunchKernel");
    found.synchronize = library.function<int()>("hipDeviceSynchronize");
    return found;
  }();
  return api;
}

std::string hip_text(int error) {
  const char* name = hip_api().error_name != nullptr ? hip_api().error_name(error) : nullptr;
  return name != nullptr ? name : fmt::format("HIP error {}", error);
}

std::string hip_arch(int device) {
  std::vector<char> bytes;
  amd::HipPropertiesLayout layout{};
  if (!read_properties(device, bytes, layout)) return "";
  const std::string arch = text_at(bytes, layout.arch);
  return arch.substr(0, arch.find(':'));
}

std::string hip_figures(std::vector<Figures>& figures) {
  if (!hip_library().ok()) return hip_library().error();
  const HipApi& hip = hip_api();
  if (!hip.complete()) return hip_library().path() + ": lacks functions of HIP";
  int count = 0;
  int error = hip.init(0);
  if (error == 0) error = hip.get_device_count(&count);
  if (error != 0) return "hipGetDeviceCount: " + hip_text(error);
  for (int device = 0; device < count; ++device) {
    std::vector<char> bytes;
    amd::HipPropertiesLayout layout{};
    if (!read_properties(device, bytes, layout)) return "hipGetDeviceProperties failed";
    Figures one;
    one.name = text_at(bytes, 0);
    one.arch = text_at(bytes, layout.arch);
    one.multiprocessors = static_cast<uint64_t>(field<int>(bytes, layout.multiprocessors));
    one.clock_mhz = static_cast<uint64_t>(field<int>(bytes, layout.clock_khz)) / 1000;
    one.wave_size = static_cast<uint64_t>(field<int>(bytes, layout.wave_size));
    one.lds_bytes = field<size_t>(bytes, layout.lds_bytes);
    one.vram_bytes = field<size_t>(bytes, layout.vram_bytes);
    one.l2_bytes = static_cast<uint64_t>(field<int>(bytes, layout.l2_bytes));
    char address[64] = {};
    if (hip.get_pci_bus_id != nullptr && hip.get_pci_bus_id(address, sizeof address, device) == 0)
      one.pci_address = address;
    for (char& c : one.pci_address)
      c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    figures.push_back(std::move(one));
  }
  return "";
}

}  // namespace wavetap::doctor::trial
