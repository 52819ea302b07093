// Queue functions: ours act on the program's side of the queue (hsa_queue.h), the rest is handed
// the real one.
#include <atomic>

#include "agent/device_figures.h"
#include "agent/hsa_facts.h"
#include "agent/hsa_hooks.h"
#include "agent/hsa_queue.h"
#include "agent/hsa_table.h"

namespace wavetap::agent {
namespace {

HsaQueue* real(HsaQueue* queue) {
  const Queue* ours = Queue::from(queue);
  return ours == nullptr ? queue : ours->real();
}
const HsaQueue* real(const HsaQueue* queue) { return real(const_cast<HsaQueue*>(queue)); }

HsaStatus on_queue_create(uint64_t agent, uint32_t size, uint32_t type, void* callback, void* data,
                          uint32_t private_bytes, uint32_t group_bytes, HsaQueue** queue) {
  if (!is_gpu(agent)) {
    return hsa().hsa_queue_create(agent, size, type, callback, data, private_bytes, group_bytes,
                                  queue);
  }
  want_hip_figures();
  return Queue::create(agent, size, type, reinterpret_cast<Queue::ErrorCallback>(callback), data,
                       private_bytes, group_bytes, queue);
}

HsaStatus on_queue_destroy(HsaQueue* queue) {
  Queue* ours = Queue::from(queue);
  return ours == nullptr ? hsa().hsa_queue_destroy(queue) : ours->destroy();
}

HsaStatus on_queue_inactivate(HsaQueue* queue) { return hsa().hsa_queue_inactivate(real(queue)); }

// The index functions differ only in their memory order, which is the template argument; `Next` is
// the runtime's own for queues that are not ours.
template <auto Next>
uint64_t on_load_read_index(const HsaQueue* queue) {
  const Queue* ours = Queue::from(queue);
  return ours == nullptr ? (hsa().*Next)(queue) : ours->read_index();
}

template <auto Next, std::memory_order Order>
uint64_t on_load_write_index(const HsaQueue* queue) {
  Queue* ours = Queue::from(queue);
  return ours == nullptr ? (hsa().*Next)(queue) : ours->write_index().load(Order);
}

template <auto Next, std::memory_order Order>
void on_store_write_index(const HsaQueue* queue, uint64_t value) {
  Queue* ours = Queue::from(queue);
  if (ours == nullptr) return (hsa().*Next)(queue, value);
  const uint64_t before = ours->write_index().load(std::memory_order_relaxed);
  if (value > before) ours->reserved(before, value - before);
  ours->write_index().store(value, Order);
}

template <auto Next, std::memory_order Order>
uint64_t on_cas_write_index(const HsaQueue* queue, uint64_t expected, uint64_t value) {
  Queue* ours = Queue::from(queue);
  if (ours == nullptr) return (hsa().*Next)(queue, expected, value);
  uint64_t found = expected;
  if (ours->write_index().compare_exchange_strong(found, value, Order, std::memory_order_relaxed) &&
      value > expected) {
    ours->reserved(expected, value - expected);
  }
  return found;
}

template <auto Next, std::memory_order Order>
uint64_t on_add_write_index(const HsaQueue* queue, uint64_t count) {
  Queue* ours = Queue::from(queue);
  if (ours == nullptr) return (hsa().*Next)(queue, count);
  const uint64_t first = ours->write_index().fetch_add(count, Order);
  ours->reserved(first, count);
  return first;
}

// The GPU alone moves the read index of a queue of ours.
template <auto Next>
void on_store_read_index(const HsaQueue* queue, uint64_t value) {
  if (Queue::from(queue) == nullptr) (hsa().*Next)(queue, value);
}

// Times are always on; a program that turns them off cannot tell.
HsaStatus on_set_profiler_enabled(HsaQueue* queue, int32_t enable) {
  const Queue* ours = Queue::from(queue);
  return ours == nullptr ? hsa().hsa_amd_profiling_set_profiler_enabled(queue, enable)
                         : hsa().hsa_amd_profiling_set_profiler_enabled(ours->real(), 1);
}

HsaStatus on_cu_set_mask(const HsaQueue* queue, uint32_t count, const void* mask) {
  return hsa().hsa_amd_queue_cu_set_mask(real(queue), count, mask);
}
HsaStatus on_cu_get_mask(const HsaQueue* queue, uint32_t count, void* mask) {
  return hsa().hsa_amd_queue_cu_get_mask(real(queue), count, mask);
}
HsaStatus on_set_priority(HsaQueue* queue, uint32_t priority) {
  return hsa().hsa_amd_queue_set_priority(real(queue), priority);
}
HsaStatus on_get_info(HsaQueue* queue, uint32_t attribute, void* value) {
  return hsa().hsa_amd_queue_get_info(real(queue), attribute, value);
}
HsaStatus on_intercept_register(HsaQueue* queue, void* callback, void* data) {
  return hsa().hsa_amd_queue_intercept_register(real(queue), callback, data);
}

template <auto Next>
void on_signal_store(uint64_t signal, int64_t value) {
  if (Queue* ours = Queue::from_doorbell(signal); ours != nullptr) {
    ours->ring(static_cast<uint64_t>(value));
  } else {
    (hsa().*Next)(signal, value);
  }
}

}  // namespace

void install_queue_hooks() {
  HsaTable& table = g_hsa_table;
  table.install(&Hsa::hsa_queue_create, &on_queue_create);
  table.install(&Hsa::hsa_queue_destroy, &on_queue_destroy);
  table.install(&Hsa::hsa_queue_inactivate, &on_queue_inactivate);

#define WT_HOOK(name, hook, ...) \
  table.install(&Hsa::name, &hook<&Hsa::name __VA_OPT__(, ) __VA_ARGS__>)
  WT_HOOK(hsa_queue_load_read_index_scacquire, on_load_read_index);
  WT_HOOK(hsa_queue_load_read_index_relaxed, on_load_read_index);
  WT_HOOK(hsa_queue_load_write_index_scacquire, on_load_write_index, std::memory_order_acquire);
  WT_HOOK(hsa_queue_load_write_index_relaxed, on_load_write_index, std::memory_order_relaxed);
  WT_HOOK(hsa_queue_store_write_index_relaxed, on_store_write_index, std::memory_order_relaxed);
  WT_HOOK(hsa_queue_store_write_index_screlease, on_store_write_index, std::memory_order_release);
  WT_HOOK(hsa_queue_cas_write_index_scacq_screl, on_cas_write_index, std::memory_order_acq_rel);
  WT_HOOK(hsa_queue_cas_write_index_scacquire, on_cas_write_index, std::memory_order_acquire);
  WT_HOOK(hsa_queue_cas_write_index_relaxed, on_cas_write_index, std::memory_order_relaxed);
  WT_HOOK(hsa_queue_cas_write_index_screlease, on_cas_write_index, std::memory_order_release);
  WT_HOOK(hsa_queue_add_write_index_scacq_screl, on_add_write_index, std::memory_order_acq_rel);
  WT_HOOK(hsa_queue_add_write_index_scacquire, on_add_write_index, std::memory_order_acquire);
  WT_HOOK(hsa_queue_add_write_index_relaxed, on_add_write_index, std::memory_order_relaxed);
  WT_HOOK(hsa_queue_add_write_index_screlease, on_add_write_index, std::memory_order_release);
  WT_HOOK(hsa_queue_store_read_index_relaxed, on_store_read_index);
  WT_HOOK(hsa_queue_store_read_index_screlease, on_store_read_index);
  WT_HOOK(hsa_signal_store_relaxed, on_signal_store);
  WT_HOOK(hsa_signal_store_screlease, on_signal_store);
#undef WT_HOOK

  table.install(&Hsa::hsa_amd_profiling_set_profiler_enabled, &on_set_profiler_enabled);
  table.install(&Hsa::hsa_amd_queue_cu_set_mask, &on_cu_set_mask);
  table.install(&Hsa::hsa_amd_queue_cu_get_mask, &on_cu_get_mask);
  table.install(&Hsa::hsa_amd_queue_set_priority, &on_set_priority);
  table.install(&Hsa::hsa_amd_queue_get_info, &on_get_info);
  table.install(&Hsa::hsa_amd_queue_intercept_register, &on_intercept_register);
}

}  // namespace wavetap::agent
