#include "doctor/trial/hsa_runtime.h"

#include <fmt/format.h>

#include "doctor/trial/loaded_library.h"

namespace wavetap::doctor::trial {
namespace {

HsaStatus note_pool(HsaHandle pool, void* data) {
  auto& figures = *static_cast<Figures*>(data);
  uint32_t segment = 0;
  size_t size = 0;
  hsa_api().pool_get_info(pool, amd::kPoolSegment, &segment);
  hsa_api().pool_get_info(pool, amd::kPoolSize, &size);
  // Coarse- and fine-grained pools show the same VRAM.
  if (segment == amd::kSegmentGlobal && size > figures.vram_bytes) figures.vram_bytes = size;
  if (segment == amd::kSegmentGroup) figures.lds_bytes = size;
  return 0;
}

HsaStatus note_agent(HsaHandle agent, void* data) {
  const HsaApi& hsa = hsa_api();
  uint32_t device = 0;
  hsa.agent_get_info(agent, amd::kAgentDevice, &device);
  if (device != amd::kDeviceGpu) return 0;
  Figures figures;
  char text[256] = {};
  if (hsa.agent_get_info(agent, amd::kAgentProductName, text) == 0) figures.name = text;
  char name[64] = {};
  if (hsa.agent_get_info(agent, amd::kAgentName, name) == 0) figures.arch = name;
  const auto number = [&](uint32_t attribute) {
    uint32_t value = 0;
    return hsa.agent_get_info(agent, attribute, &value) == 0 ? value : 0;
  };
  figures.multiprocessors = number(amd::kAgentComputeUnits);
  figures.clock_mhz = number(amd::kAgentMaxClockMhz);
  figures.wave_size = number(amd::kAgentWavefrontSize);
  figures.node = number(amd::kAgentNode);
  uint32_t caches[4] = {};
  if (hsa.agent_get_info(agent, amd::kAgentCacheSize, caches) == 0) figures.l2_bytes = caches[1];
  const uint32_t bdf = number(amd::kAgentBdf);
  figures.pci_address = fmt::format("{:04x}:{:02x}:{:02x}.{:x}", number(amd::kAgentDomain),
                                    bdf >> 8 & 0xff, bdf >> 3 & 0x1f, bdf & 7);
  hsa.iterate_pools(agent, note_pool, &figures);
  static_cast<std::vector<Figures>*>(data)->push_back(std::move(figures));
  return 0;
}

}  // namespace

const HsaApi& hsa_api() {
  static const HsaApi api = [] {
    const Library& library = hsa_library();
    HsaApi found;
    found.init = library.function<HsaStatus()>("hsa_init");
    found.shut_down = library.function<HsaStatus()>("hsa_shut_down");
    found.status_string = library.function<HsaStatus(HsaStatus, const char**)>("hsa_status_string");
    found.iterate_agents = library.function<HsaStatus(HsaCallback*, void*)>("hsa_iterate_agents");
    found.agent_get_info =
        library.function<HsaStatus(HsaHandle, uint32_t, void*)>("hsa_agent_get_info");
    found.iterate_pools = library.function<HsaStatus(HsaHandle, HsaCallback*, void*)>(
        "hsa_amd_agent_iterate_memory_pools");
    found.pool_get_info =
        library.function<HsaStatus(HsaHandle, uint32_t, void*)>("hsa_amd_memory_pool_get_info");
    found.pool_allocate = library.function<HsaStatus(HsaHandle, size_t, uint32_t, void**)>(
        "hsa_amd_memory_pool_allocate");
    found.pool_free = library.function<HsaStatus(void*)>("hsa_amd_memory_pool_free");
    found.allow_access =
        library.function<HsaStatus(uint32_t, const HsaHandle*, const uint32_t*, const void*)>(
            "hsa_amd_agents_allow_access");
    found.signal_create =
        library.function<HsaStatus(int64_t, uint32_t, const HsaHandle*, HsaHandle*)>(
            "hsa_signal_create");
    found.signal_wait = library.function<int64_t(HsaHandle, uint32_t, int64_t, uint64_t, uint32_t)>(
        "hsa_signal_wait_scacquire");
    found.async_copy =
        library.function<HsaStatus(void*, HsaHandle, const void*, HsaHandle, size_t, uint32_t,
                                   const HsaHandle*, HsaHandle)>("hsa_amd_memory_async_copy");
    return found;
  }();
  return api;
}

const char* hsa_text(HsaStatus status) {
  const char* text = nullptr;
  if (hsa_api().status_string != nullptr) hsa_api().status_string(status, &text);
  return text != nullptr ? text : "unknown HSA error";
}

std::string hsa_figures(std::vector<Figures>& figures) {
  if (!hsa_library().ok()) return hsa_library().error();
  const HsaApi& hsa = hsa_api();
  if (!hsa.complete()) return hsa_library().path() + ": lacks functions of the HSA runtime";
  const HsaStatus started = hsa.init();
  if (started != 0) return fmt::format("hsa_init: {}", hsa_text(started));
  hsa.iterate_agents(note_agent, &figures);
  return "";
}

}  // namespace wavetap::doctor::trial
