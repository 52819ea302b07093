// libwavetap_correct.so: the entry points through which programs ask for device figures. Each asks the real
// function and corrects its answer; without WAVETAP_CORRECT, or when the call fails, the answer is passed on
// as it is.
//
// The real function is the next one in the process, or, when HIP was loaded privately (a wheel's own copy),
// the one of the loaded library by its path.
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "correct/corrections.h"

#define WT_EXPORT extern "C" __attribute__((visibility("default")))

namespace wavetap::correct {
namespace {

Corrections g_corrections;
pthread_once_t g_read = PTHREAD_ONCE_INIT;

void read_variable() {
  const char* text = std::getenv(kVariable);
  if (text != nullptr && !parse_corrections(text, g_corrections)) g_corrections = {};
}

const Corrections& corrections() {
  pthread_once(&g_read, read_variable);
  return g_corrections;
}

// A marker of the trace, when there is one: what was said, and what is said now.
void report(Field field, const char* before, const char* after) {
  using Mark = void(const char*, const char*, const char*);
  static Mark* const mark = reinterpret_cast<Mark*>(dlsym(RTLD_DEFAULT, "wavetap_mark_in"));
  if (mark == nullptr) return;
  char text[256];
  std::snprintf(text, sizeof text, "device figure corrected: %s %s -> %s", field_name(field), before, after);
  mark("wavetap", "correct-device", text);
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

void* real_function(const char* name, const char* stem) {
  if (void* next = dlsym(RTLD_NEXT, name)) return next;
  Wanted wanted{stem, {}};
  dl_iterate_phdr(match_library, &wanted);
  void* library = wanted.path[0] == '\0' ? nullptr : dlopen(wanted.path, RTLD_LAZY | RTLD_NOLOAD);
  return library == nullptr ? nullptr : dlsym(library, name);
}

constexpr int kNotSupported = 801;  // hipErrorNotSupported, CUDA_ERROR_NOT_SUPPORTED

int properties(const char* name, const char* stem, PropertyLayout layout, void* result, int device) {
  const auto real = reinterpret_cast<int (*)(void*, int)>(real_function(name, stem));
  if (real == nullptr) return kNotSupported;
  const int error = real(result, device);
  if (error == 0 && result != nullptr) correct_properties(corrections(), layout, result, report);
  return error;
}

int attribute(const char* name, const char* stem, Field field, int* value, int which, int device) {
  const auto real = reinterpret_cast<int (*)(int*, int, int)>(real_function(name, stem));
  if (real == nullptr) return kNotSupported;
  const int error = real(value, which, device);
  if (error == 0 && value != nullptr) correct_attribute(corrections(), field, value, report);
  return error;
}

constexpr const char* kHip = "libamdhip64.so";
constexpr const char* kCuda = "libcuda.so";
constexpr const char* kCudart = "libcudart.so";

}  // namespace
}  // namespace wavetap::correct

using namespace wavetap::correct;

// The unversioned name keeps HIP 5's layout in every release; HIP 6's headers call the other.
WT_EXPORT int hipGetDeviceProperties(void* result, int device) {
  return properties("hipGetDeviceProperties", kHip, PropertyLayout::kHip5, result, device);
}
WT_EXPORT int hipGetDevicePropertiesR0000(void* result, int device) {
  return properties("hipGetDevicePropertiesR0000", kHip, PropertyLayout::kHip5, result, device);
}
WT_EXPORT int hipGetDevicePropertiesR0600(void* result, int device) {
  return properties("hipGetDevicePropertiesR0600", kHip, PropertyLayout::kHip6, result, device);
}
WT_EXPORT int hipDeviceGetAttribute(int* value, int which, int device) {
  return attribute("hipDeviceGetAttribute", kHip, field_of_hip_attribute(which), value, which, device);
}
WT_EXPORT int cuDeviceGetAttribute(int* value, int which, int device) {
  return attribute("cuDeviceGetAttribute", kCuda, field_of_cuda_attribute(which), value, which, device);
}
WT_EXPORT int cudaGetDeviceProperties(void* result, int device) {
  return properties("cudaGetDeviceProperties", kCudart, PropertyLayout::kCuda, result, device);
}
WT_EXPORT int cudaGetDeviceProperties_v2(void* result, int device) {
  return properties("cudaGetDeviceProperties_v2", kCudart, PropertyLayout::kCuda, result, device);
}
WT_EXPORT int cudaDeviceGetAttribute(int* value, int which, int device) {
  return attribute("cudaDeviceGetAttribute", kCudart, field_of_cuda_attribute(which), value, which, device);
}
