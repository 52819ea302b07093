// A tool of the HSA runtime, to be loaded before wavetap's: allocations of WT_NO_MEMORY_FROM bytes and more find no memory. Says so,
// so that a test knows that it was there.
#define AMD_INTERNAL_BUILD  // the headers beside this one, as they are installed
#include <hsa/hsa_api_trace.h>

#include <cstdio>
#include <cstdlib>

namespace {

decltype(hsa_amd_memory_pool_allocate)* g_next;
size_t g_most;

hsa_status_t allocate(hsa_amd_memory_pool_t pool, size_t bytes, uint32_t flags, void** made) {
  if (bytes < g_most) return g_next(pool, bytes, flags, made);
  std::fprintf(stderr, "no_memory: refused\n");
  return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) bool OnLoad(HsaApiTable* table, uint64_t,
                                                              uint64_t, const char* const*) {
  g_most = std::strtoull(std::getenv("WT_NO_MEMORY_FROM"), nullptr, 10);
  g_next = table->amd_ext_->hsa_amd_memory_pool_allocate_fn;
  table->amd_ext_->hsa_amd_memory_pool_allocate_fn = &allocate;
  return true;
}
