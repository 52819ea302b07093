// libwavetap_correct.so: the entry points through which programs ask for device figures. Each asks
// the real function and corrects its answer; without WAVETAP_CORRECT, or when the call fails, the
// answer is passed on as it is.
//
// The real function is the next one in the process, or, when HIP was loaded privately (a wheel's
// own copy), the one of the loaded library by its path.
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "correct/corrections.h"
#include "correct/preload/corrected_functions.h"

#define WT_EXPORT extern "C" __attribute__((visibility("default")))

namespace wavetap::correct {
namespace {

CorrectionTable g_corrections;
pthread_once_t g_read = PTHREAD_ONCE_INIT;

void read_variable() {
  const char* text = std::getenv(kVariable);
  if (text != nullptr && !parse_corrections(text, g_corrections)) g_corrections = {};
}

const CorrectionTable& corrections() {
  pthread_once(&g_read, read_variable);
  return g_corrections;
}

struct Wanted {
  const char* stem;
  char path[4096];
};

int match_library(dl_phdr_info* info, size_t, void* data) {
  auto& wanted = *static_cast<Wanted*>(data);
  const char* slash = std::strrchr(info->dlpi_name, '/');
  const char* name = slash == nullptr ? info->dlpi_name : slash + 1;
  if (std::strncmp(name, wanted.stem, std::strlen(wanted.stem)) != 0) return 0;
  std::snprintf(wanted.path, sizeof wanted.path, "%s", info->dlpi_name);
  return 1;
}

// This thread looks for a real function: dlsym() must not hand out ours.
__thread bool t_looking __attribute__((tls_model("initial-exec"))) = false;

void* real_function(const char* name, const char* stem) {
  if (void* next = dlsym(RTLD_NEXT, name)) return next;
  Wanted wanted{stem, {}};
  dl_iterate_phdr(match_library, &wanted);
  void* library = wanted.path[0] == '\0' ? nullptr : dlopen(wanted.path, RTLD_LAZY | RTLD_NOLOAD);
  t_looking = true;
  void* const found = library == nullptr ? nullptr : dlsym(library, name);
  t_looking = false;
  return found;
}

constexpr int kNotSupported = 801;  // hipErrorNotSupported, CUDA_ERROR_NOT_SUPPORTED

// A layer of entry points: the library that has them, and how it tells a device's place on the PCI
// bus.
struct Api {
  const char* layer;  // as in the trace
  const char* stem;
  const char* pci_function;
};
enum : size_t { kHip, kCuda, kCudart, kApis };
constexpr Api kApi[kApis] = {
    {"hip", "libamdhip64.so", "hipDeviceGetPCIBusId"},
    {"cuda", "libcuda.so", "cuDeviceGetPCIBusId"},
    {"cuda", "libcudart.so", "cudaDeviceGetPCIBusId"},
};

// What is known of each device, found out when its figures are first asked for.
constexpr int kMaxDevices = 64;
struct Device {
  std::atomic<uint32_t> reported;  // a bit per field: the trace knows
  std::atomic<bool> known;
  char pci[16];
};
Device g_devices[kApis][kMaxDevices];
pthread_mutex_t g_devices_lock = PTHREAD_MUTEX_INITIALIZER;

// A function of the recorder, when the program is recorded.
template <class Function>
Function* of_recorder(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

// Called after the layer has answered successfully, so asking it again changes nothing.
const Device* device_of(size_t api, int number) {
  if (number < 0 || number >= kMaxDevices) return nullptr;
  Device& device = g_devices[api][number];
  if (device.known.load(std::memory_order_acquire)) return &device;
  const auto ask = reinterpret_cast<int (*)(char*, int, int)>(
      real_function(kApi[api].pci_function, kApi[api].stem));
  char text[32] = {};
  const auto aside = of_recorder<void(int)>("wavetap_aside");
  if (aside != nullptr) aside(1);
  if (ask == nullptr || ask(text, sizeof text, number) != 0) text[0] = '\0';
  if (aside != nullptr) aside(-1);
  pthread_mutex_lock(&g_devices_lock);
  if (!device.known.load(std::memory_order_relaxed)) {
    for (size_t i = 0; i + 1 < sizeof device.pci && text[i] != '\0'; ++i)
      device.pci[i] =
          static_cast<char>(text[i] >= 'A' && text[i] <= 'F' ? text[i] - 'A' + 'a' : text[i]);
    device.known.store(true, std::memory_order_release);
  }
  pthread_mutex_unlock(&g_devices_lock);
  return &device;
}

struct Asked {
  size_t api;
  int device;
};

// Into the trace, when there is one, once for each figure.
void report(void* context, Field field, const char* before, const char* after) {
  using Corrected = void(const char*, int, const char*, const char*, const char*, const char*);
  const auto& asked = *static_cast<const Asked*>(context);
  Device& device = g_devices[asked.api][asked.device];
  const uint32_t bit = 1u << static_cast<uint32_t>(field);
  if ((device.reported.fetch_or(bit, std::memory_order_relaxed) & bit) != 0) return;
  const auto corrected = of_recorder<Corrected>("wavetap_device_corrected");
  if (corrected != nullptr)
    corrected(kApi[asked.api].layer, asked.device, device.pci, trace_name(field), before, after);
}

int properties(size_t api, const char* name, const amd::HipPropertiesLayout& layout, void* result,
               int device) {
  const auto real = reinterpret_cast<int (*)(void*, int)>(real_function(name, kApi[api].stem));
  if (real == nullptr) return kNotSupported;
  const int error = real(result, device);
  if (error != 0 || result == nullptr) return error;
  const Device* const known = device_of(api, device);
  if (known == nullptr) return error;
  Asked asked{api, device};
  correct_properties(corrections().find(known->pci), layout, result, {report, &asked});
  return error;
}

int attribute(size_t api, const char* name, Field field, int* value, int which, int device) {
  const auto real = reinterpret_cast<int (*)(int*, int, int)>(real_function(name, kApi[api].stem));
  if (real == nullptr) return kNotSupported;
  const int error = real(value, which, device);
  if (error != 0 || value == nullptr || field == Field::kCount) return error;
  const Device* const known = device_of(api, device);
  if (known == nullptr) return error;
  Asked asked{api, device};
  correct_attribute(corrections().find(known->pci), field, value, {report, &asked});
  return error;
}

}  // namespace
}  // namespace wavetap::correct

using namespace wavetap::correct;

// The unversioned name keeps HIP 5's layout in every release; HIP 6's headers call the other.
WT_EXPORT int hipGetDeviceProperties(void* result, int device) {
  return properties(kHip, "hipGetDeviceProperties", wavetap::amd::kHipPropertiesR0000, result,
                    device);
}
WT_EXPORT int hipGetDevicePropertiesR0000(void* result, int device) {
  return properties(kHip, "hipGetDevicePropertiesR0000", wavetap::amd::kHipPropertiesR0000, result,
                    device);
}
WT_EXPORT int hipGetDevicePropertiesR0600(void* result, int device) {
  return properties(kHip, "hipGetDevicePropertiesR0600", wavetap::amd::kHipPropertiesR0600, result,
                    device);
}
WT_EXPORT int hipDeviceGetAttribute(int* value, int which, int device) {
  return attribute(kHip, "hipDeviceGetAttribute", field_of_hip_attribute(which), value, which,
                   device);
}
WT_EXPORT int cuDeviceGetAttribute(int* value, int which, int device) {
  return attribute(kCuda, "cuDeviceGetAttribute", field_of_cuda_attribute(which), value, which,
                   device);
}
WT_EXPORT int cudaGetDeviceProperties(void* result, int device) {
  return properties(kCudart, "cudaGetDeviceProperties", wavetap::amd::kCudaProperties, result,
                    device);
}
WT_EXPORT int cudaGetDeviceProperties_v2(void* result, int device) {
  return properties(kCudart, "cudaGetDeviceProperties_v2", wavetap::amd::kCudaProperties, result,
                    device);
}
WT_EXPORT int cudaDeviceGetAttribute(int* value, int which, int device) {
  return attribute(kCudart, "cudaDeviceGetAttribute", field_of_cuda_attribute(which), value, which,
                   device);
}

void* wavetap::correct::corrected_function(const char* name) {
  struct Entry {
    const char* name;
    void* function;
  };
#define WT_ENTRY_OF(function) \
  { #function, reinterpret_cast < void*>(&function) }
  const Entry entries[] = {
      WT_ENTRY_OF(hipGetDeviceProperties),      WT_ENTRY_OF(hipGetDevicePropertiesR0000),
      WT_ENTRY_OF(hipGetDevicePropertiesR0600), WT_ENTRY_OF(hipDeviceGetAttribute),
      WT_ENTRY_OF(cuDeviceGetAttribute),        WT_ENTRY_OF(cudaGetDeviceProperties),
      WT_ENTRY_OF(cudaGetDeviceProperties_v2),  WT_ENTRY_OF(cudaDeviceGetAttribute),
  };
#undef WT_ENTRY_OF
  if (t_looking) return nullptr;
  for (const Entry& entry : entries)
    if (std::strcmp(entry.name, name) == 0) return entry.function;
  return nullptr;
}
