// What is tried through HSA: memory pools, and copies, which are the copy engine's unless
// HSA_ENABLE_SDMA=0 makes them kernels.
#include <fmt/format.h>

#include <cstdint>
#include <cstring>

#include "doctor/trial/hsa_runtime.h"
#include "doctor/trial/loaded_library.h"
#include "doctor/trial/trials.h"

namespace wavetap::doctor::trial {
namespace {

struct PoolTest {
  bool is_gpu = false;
  int pools = 0;
  std::string error;
};

HsaStatus try_pool(HsaHandle pool, void* data) {
  auto& test = *static_cast<PoolTest*>(data);
  const HsaApi& hsa = hsa_api();
  uint32_t segment = 0;
  bool allowed = false;
  hsa.pool_get_info(pool, amd::kPoolSegment, &segment);
  hsa.pool_get_info(pool, amd::kPoolMayAllocate, &allowed);
  if (segment != amd::kSegmentGlobal || !allowed) return 0;
  constexpr size_t kBytes = 1 << 20;
  void* memory = nullptr;
  const HsaStatus got = hsa.pool_allocate(pool, kBytes, 0, &memory);
  if (got != 0) {
    test.error = fmt::format("allocating from pool {} of a {}: {}", test.pools,
                             test.is_gpu ? "GPU" : "CPU", hsa_text(got));
    return 0;
  }
  if (!test.is_gpu) {
    std::memset(memory, 0x5a, kBytes);
    for (size_t i = 0; i < kBytes; ++i) {
      if (static_cast<const unsigned char*>(memory)[i] != 0x5a)
        test.error = "host memory does not keep what was written";
    }
  }
  const HsaStatus freed = hsa.pool_free(memory);
  if (freed != 0) test.error = fmt::format("freeing: {}", hsa_text(freed));
  ++test.pools;
  return 0;
}

HsaStatus try_agent_pools(HsaHandle agent, void* data) {
  auto& test = *static_cast<PoolTest*>(data);
  uint32_t device = 0;
  hsa_api().agent_get_info(agent, amd::kAgentDevice, &device);
  test.is_gpu = device == amd::kDeviceGpu;
  hsa_api().iterate_pools(agent, try_pool, data);
  return 0;
}

struct Agents {
  HsaHandle cpu{}, gpu{};
  HsaHandle host_pool{}, device_pool{};
};

HsaStatus keep_pool(HsaHandle pool, void* data) {
  uint32_t segment = 0;
  bool allowed = false;
  hsa_api().pool_get_info(pool, amd::kPoolSegment, &segment);
  hsa_api().pool_get_info(pool, amd::kPoolMayAllocate, &allowed);
  auto& found = *static_cast<HsaHandle*>(data);
  if (segment == amd::kSegmentGlobal && allowed && found.handle == 0) found = pool;
  return 0;
}

HsaStatus note_copy_agent(HsaHandle agent, void* data) {
  auto& agents = *static_cast<Agents*>(data);
  uint32_t device = 0;
  hsa_api().agent_get_info(agent, amd::kAgentDevice, &device);
  HsaHandle& slot = device == amd::kDeviceGpu ? agents.gpu : agents.cpu;
  if (slot.handle != 0) return 0;
  slot = agent;
  hsa_api().iterate_pools(agent, keep_pool,
                          device == amd::kDeviceGpu ? &agents.device_pool : &agents.host_pool);
  return 0;
}

// Waits for the end. "", or what went wrong.
std::string copy(void* to, HsaHandle to_agent, const void* from, HsaHandle from_agent,
                 size_t bytes) {
  const HsaApi& hsa = hsa_api();
  HsaHandle signal{};
  HsaStatus status = hsa.signal_create(1, 0, nullptr, &signal);
  if (status == 0)
    status = hsa.async_copy(to, to_agent, from, from_agent, bytes, 0, nullptr, signal);
  if (status != 0) return hsa_text(status);
  constexpr uint32_t kLess = 2, kBlocked = 0;
  hsa.signal_wait(signal, kLess, 1, UINT64_MAX, kBlocked);
  return "";
}

// To the GPU and back. "", or what went wrong.
std::string copy_and_compare(const Agents& agents, size_t words) {
  const HsaApi& hsa = hsa_api();
  const size_t bytes = words * sizeof(uint32_t);
  void *host = nullptr, *device = nullptr;
  HsaStatus status = hsa.pool_allocate(agents.host_pool, bytes, 0, &host);
  if (status == 0) status = hsa.pool_allocate(agents.device_pool, bytes, 0, &device);
  if (status == 0) status = hsa.allow_access(1, &agents.gpu, nullptr, host);
  if (status != 0) return hsa_text(status);
  auto* values = static_cast<uint32_t*>(host);
  const auto value = [&](size_t i) { return static_cast<uint32_t>(i * 2246822519u + words); };
  for (size_t i = 0; i < words; ++i) values[i] = value(i);
  std::string problem = copy(device, agents.gpu, host, agents.cpu, bytes);
  std::memset(host, 0, bytes);
  if (problem.empty()) problem = copy(host, agents.cpu, device, agents.gpu, bytes);
  if (!problem.empty()) return "hsa_amd_memory_async_copy: " + problem;
  size_t wrong = 0;
  for (size_t i = 0; i < words; ++i) wrong += values[i] == value(i) ? 0 : 1;
  if (wrong != 0)
    return fmt::format("{} KiB to the GPU and back: {} of {} words are wrong", bytes >> 10, wrong,
                       words);
  hsa.pool_free(host);
  hsa.pool_free(device);
  return "";
}

}  // namespace

Verdict try_pools() {
  std::vector<Figures> agents;
  const std::string error = hsa_figures(agents);
  if (!error.empty()) return hsa_library().ok() ? failed(error) : skipped(error);
  PoolTest test;
  hsa_api().iterate_agents(try_agent_pools, &test);
  if (!test.error.empty()) return failed(test.error);
  return passed(fmt::format("{} memory pools", test.pools));
}

Verdict try_copy_engine() {
  std::vector<Figures> figures;
  const std::string error = hsa_figures(figures);
  if (!error.empty()) return hsa_library().ok() ? failed(error) : skipped(error);
  if (!hsa_api().can_copy()) return skipped("this HSA runtime lacks asynchronous copies");
  Agents agents;
  hsa_api().iterate_agents(note_copy_agent, &agents);
  if (agents.device_pool.handle == 0 || agents.host_pool.handle == 0)
    return failed("no memory pool to copy between");
  for (const size_t words : {size_t{1024}, size_t{65536}, size_t{1048576 + 3}}) {
    const std::string problem = copy_and_compare(agents, words);
    if (!problem.empty()) return failed(problem);
  }
  return passed("4 KiB to 4 MiB to the GPU and back, exact");
}

}  // namespace wavetap::doctor::trial
