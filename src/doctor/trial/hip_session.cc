#include "doctor/trial/hip_session.h"

#include <span>

#include "doctor/trial/loaded_library.h"
#include "doctor/trial/trial_code.h"

namespace wavetap::doctor::trial {

Session::Session() {
  if (!hip_library().ok()) {
    skip_ = hip_library().error();
    return;
  }
  if (!hip_api().complete()) {
    skip_ = "this HIP lacks functions the trial needs";
    return;
  }
  int count = 0;
  call("hipInit", hip_api().init(0));
  if (good()) call("hipGetDeviceCount", hip_api().get_device_count(&count));
  if (good() && count == 0) error_ = "hipGetDeviceCount: no device";
  if (good()) call("hipSetDevice", hip_api().set_device(0));
}

bool Session::call(const char* what, int error) {
  if (error != 0 && error_.empty()) error_ = fmt::format("{}: {}", what, hip_text(error));
  return error == 0;
}

void* Session::device_memory(size_t bytes) {
  void* pointer = nullptr;
  if (good()) call("hipMalloc", hip_api().malloc_(&pointer, bytes));
  return pointer;
}

void* Session::host_memory(size_t bytes, unsigned flags) {
  void* pointer = nullptr;
  if (good()) call("hipHostMalloc", hip_api().host_malloc(&pointer, bytes, flags));
  return pointer;
}

void Session::copy(void* to, const void* from, size_t bytes, int direction) {
  if (good()) call("hipMemcpy", hip_api().memcpy_(to, from, bytes, direction));
}

void Session::load() {
  if (!good()) return;
  arch_ = hip_arch(0);
  const std::span<const std::byte> code = device_code(arch_);
  if (code.empty()) {
    skip_ =
        fmt::format("no trial kernels for {} in this build", arch_.empty() ? "this device" : arch_);
    return;
  }
  call("hipModuleLoadData", hip_api().module_load_data(&module_, code.data()));
}

void Session::launch(const char* kernel, unsigned groups, unsigned group_size,
                     std::vector<void*> arguments) {
  start(kernel, groups, group_size, std::move(arguments));
  if (good()) call("hipDeviceSynchronize", hip_api().synchronize());
}

void Session::start(const char* kernel, unsigned groups, unsigned group_size,
                    std::vector<void*> arguments) {
  void* function = nullptr;
  if (good()) call("hipModuleGetFunction", find(kernel, &function));
  if (good()) {
    call("hipModuleLaunchKernel", hip_api().module_launch(function, groups, 1, 1, group_size, 1, 1,
                                                          0, nullptr, arguments.data(), nullptr));
  }
}

}  // namespace wavetap::doctor::trial
