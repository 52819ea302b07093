#include "agent/probe_counts.h"

#include <cstring>

#include "agent/hsa_facts.h"
#include "agent/hsa_table.h"

namespace wavetap::agent {
namespace {

constexpr uint32_t kConditionLess = 2;  // HSA_SIGNAL_CONDITION_LT
constexpr uint32_t kWaitActive = 1;     // HSA_WAIT_STATE_ACTIVE
constexpr int kPatienceMs = 2000;

}  // namespace

bool CountTables::open(uint64_t agent) {
  const Hsa& next = hsa();
  agent_ = agent;
  host_ = host_agent_handle();
  uint64_t pool = device_pool(agent);
  if (pool == 0) pool = shared_pool();  // a GPU without memory of its own
  void *tables = nullptr, *results = nullptr;
  if (pool == 0 || shared_pool() == 0 ||
      next.hsa_amd_memory_pool_allocate(pool, kBytes, 0, &tables) != kHsaSuccess ||
      next.hsa_amd_memory_pool_allocate(shared_pool(), kBytes, 0, &results) != kHsaSuccess ||
      next.hsa_amd_agents_allow_access(1, &agent, nullptr, results) != kHsaSuccess ||
      (pool == shared_pool() &&
       next.hsa_amd_agents_allow_access(1, &agent, nullptr, tables) != kHsaSuccess) ||
      next.hsa_signal_create(0, 0, nullptr, &signal_) != kHsaSuccess) {
    for (void* const given : {tables, results})
      if (given != nullptr) next.hsa_amd_memory_pool_free(given);
    return false;
  }
  tables_ = static_cast<std::byte*>(tables);
  results_ = static_cast<std::byte*>(results);
  std::memset(results_, 0, kBytes);
  return copy(tables_, agent_, results_, host_, kBytes);
}

bool CountTables::copy(void* to, uint64_t to_agent, const void* from, uint64_t from_agent,
                       uint64_t bytes) {
  const Hsa& next = hsa();
  next.hsa_signal_store_relaxed(signal_, 1);
  if (next.hsa_amd_memory_async_copy(to, to_agent, from, from_agent, bytes, 0, nullptr, signal_) !=
      kHsaSuccess)
    return false;
  for (int i = 0; i < kPatienceMs; ++i)
    if (next.hsa_signal_wait_scacquire(signal_, kConditionLess, 1, 1'000'000, kWaitActive) < 1)
      return true;
  return false;
}

bool CountTables::take(uint32_t sites, format::ProbeLaunch* launch) {
  const uint64_t wanted = pages_of(sites);
  const Locked locked(lock_);
  // From where the last one ended, once around.
  uint64_t found = 0;
  for (uint64_t looked = 0, at = next_; looked < kPages + wanted; ++looked, ++at) {
    if (at == kPages) at = found = 0;
    found = is_used_[at] ? 0 : found + 1;
    if (found < wanted) continue;
    const uint64_t first = at + 1 - wanted;
    for (uint64_t i = first; i <= at; ++i) is_used_[i] = true;
    next_ = (at + 1) % kPages;
    launch->counts = reinterpret_cast<uint64_t>(tables_ + first * kPageBytes);
    launch->results = reinterpret_cast<uint64_t>(results_ + first * kPageBytes);
    launch->site_count = sites;
    return true;
  }
  return false;
}

void CountTables::put_back(const format::ProbeLaunch& launch) {
  const uint64_t first = (launch.counts - reinterpret_cast<uint64_t>(tables_)) / kPageBytes;
  const uint64_t count = pages_of(launch.site_count);
  if (first + count > kPages) return;  // overwritten by the program
  const Locked locked(lock_);
  for (uint64_t i = first; i < first + count; ++i) is_used_[i] = false;
}

bool CountTables::read(const format::ProbeLaunch& launch, bool by_copy,
                       std::vector<format::ProbeCount>* counts) {
  const uint64_t offset = launch.counts - reinterpret_cast<uint64_t>(tables_);
  const uint64_t bytes = uint64_t{launch.site_count} * sizeof(format::ProbeCount);
  if (offset >= kBytes || bytes > kBytes - offset) return false;
  if (by_copy && !copy(results_ + offset, host_, tables_ + offset, agent_, bytes)) return false;
  counts->resize(launch.site_count);
  std::memcpy(counts->data(), results_ + offset, bytes);
  return true;
}

}  // namespace wavetap::agent
