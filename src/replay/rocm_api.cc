#include "replay/rocm_api.h"

#include <dlfcn.h>

namespace wavetap::replay {
namespace {

template <class Function>
void find(void* library, const char* name, Function*& function, const char** missing) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  if (function == nullptr && missing != nullptr && *missing == nullptr) *missing = name;
}

}  // namespace

Result<RocmApi> RocmApi::open() {
  void* hsa = nullptr;
  for (const char* name : {"libhsa-runtime64.so.1", "/opt/rocm/lib/libhsa-runtime64.so.1"})
    if (hsa == nullptr) hsa = ::dlopen(name, RTLD_NOW | RTLD_GLOBAL);
  if (hsa == nullptr)
    return errorf(
        "libhsa-runtime64.so.1: cannot be opened: %s; install ROCm, or replay without --gpu",
        ::dlerror());
  RocmApi api{};
  const char* missing = nullptr;
  find(hsa, "hsa_init", api.init, &missing);
  find(hsa, "hsa_status_string", api.status_string, &missing);
  find(hsa, "hsa_system_get_info", api.system_get_info, &missing);
  find(hsa, "hsa_iterate_agents", api.iterate_agents, &missing);
  find(hsa, "hsa_agent_get_info", api.agent_get_info, &missing);
  find(hsa, "hsa_amd_agent_iterate_memory_pools", api.iterate_pools, &missing);
  find(hsa, "hsa_amd_memory_pool_get_info", api.pool_get_info, &missing);
  find(hsa, "hsa_amd_memory_pool_allocate", api.pool_allocate, &missing);
  find(hsa, "hsa_amd_agents_allow_access", api.allow_access, &missing);
  find(hsa, "hsa_signal_create", api.signal_create, &missing);
  find(hsa, "hsa_signal_store_screlease", api.signal_store, &missing);
  find(hsa, "hsa_signal_wait_scacquire", api.signal_wait, &missing);
  find(hsa, "hsa_amd_memory_async_copy", api.async_copy, &missing);
  find(hsa, "hsa_queue_create", api.queue_create, &missing);
  find(hsa, "hsa_queue_add_write_index_screlease", api.add_write_index, &missing);
  find(hsa, "hsa_amd_profiling_set_profiler_enabled", api.enable_times, &missing);
  find(hsa, "hsa_amd_profiling_get_dispatch_time", api.dispatch_time, &missing);
  find(hsa, "hsa_amd_register_system_event_handler", api.on_event, &missing);
  if (missing != nullptr)
    return errorf("libhsa-runtime64.so.1: has no %s; use another ROCm", missing);
  find(hsa, "hsa_amd_vmem_address_reserve", api.vmem_reserve, nullptr);
  find(hsa, "hsa_amd_vmem_address_free", api.vmem_free, nullptr);
  find(hsa, "hsa_amd_vmem_handle_create", api.vmem_create, nullptr);
  find(hsa, "hsa_amd_vmem_map", api.vmem_map, nullptr);
  find(hsa, "hsa_amd_vmem_set_access", api.vmem_set_access, nullptr);
  // The very thunk that the runtime uses, or none: a second one would know nothing of its memory.
  if (void* thunk = ::dlopen("libhsakmt.so.1", RTLD_NOW | RTLD_NOLOAD)) {
    find(thunk, "hsaKmtAllocMemory", api.kmt_allocate, nullptr);
    find(thunk, "hsaKmtMapMemoryToGPU", api.kmt_map, nullptr);
    find(thunk, "hsaKmtFreeMemory", api.kmt_free, nullptr);
  }
  return api;
}

const char* RocmApi::text(HsaStatus status) const {
  const char* words = nullptr;
  return status_string(status, &words) == 0 && words != nullptr ? words : "unknown error";
}

}  // namespace wavetap::replay
