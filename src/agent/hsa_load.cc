#include "agent/hsa_load.h"

#include <pthread.h>

#include <atomic>
#include <new>

#include "agent/capture_policy.h"
#include "agent/hsa_facts.h"
#include "agent/hsa_hooks.h"
#include "agent/hsa_queue.h"
#include "agent/hsa_table.h"
#include "agent/hsa_times.h"
#include "agent/probe_policy.h"
#include "agent/recording.h"
#include "agent/swap_policy.h"
#include "agent/swap_whole.h"
#include "record/control.h"

namespace wavetap::agent {
namespace {

constinit std::atomic<uint32_t> g_loads{0};
constinit LockWord g_polling{};

constexpr int kRecordPatience = 20000;  // ms

// True: something is still in flight. Completions go to this thread's stream even where the agent's
// own code asks for them.
bool harvest_all(bool patiently) {
  const uint32_t inside = t_thread.inside;
  t_thread.inside = 0;
  const bool left = Queue::harvest_all(patiently);
  t_thread.inside = inside;
  return left;
}

// For the program's blocking calls, a load when there is nothing; for the agent itself, at exit and
// when the trace is flushed, everything that has finished by now.
void harvest() {
  const bool by_agent = t_thread.inside != 0;
  if ((!take_in_flight() && !by_agent) || !is_hsa_loaded()) return;
  // The agent's own looks come when the program ends, which may unload the runtime meanwhile. The helper
  // thread may be writing records, of which there are many and nobody has another copy.
  if (by_agent && !g_polling.try_lock_for(has_probes() ? kRecordPatience : 100)) {
    if (has_probes())
      say("probe: records could not be written within %d s; those that were left are lost",
          kRecordPatience / 1000);
    return;
  }
  if (is_hsa_loaded() && harvest_all(by_agent)) note_in_flight();
  if (by_agent && is_hsa_loaded()) drain_probes();
  if (by_agent) g_polling.unlock();
}

// The helper thread's: it comes again by itself.
bool poll() {
  // Under the lock from the first look to the last: the runtime does not go away in between.
  if (!g_polling.try_lock()) return true;
  // A stream for every loaded runtime: the session may be another one by now.
  static uint32_t seen = 0;
  if (const uint32_t loads = g_loads.load(std::memory_order_acquire); seen != loads) {
    seen = loads;
    t_thread.stream = nullptr;
  }
  const bool left = take_in_flight() && is_hsa_loaded() && harvest_all(false);
  if (left) keep_in_flight();
  const bool probes = is_hsa_loaded() && drain_probes();
  g_polling.unlock();
  return left || probes;
}

// Threads that held our locks are not in the child.
void after_fork_in_child() {
  set_hsa_loaded(0);
  new (&g_polling) LockWord;
  Queue::unlock_after_fork();
  g_program_signals.unlock_after_fork();
  unlock_facts_after_fork();
  unlock_swaps_after_fork();
  unlock_probes_after_fork();
  unlock_capture_after_fork();
}

bool can_work(const Hsa& hsa) {
  return hsa.hsa_iterate_agents != nullptr && hsa.hsa_queue_create != nullptr &&
         hsa.hsa_amd_memory_pool_allocate != nullptr && hsa.hsa_amd_signal_create != nullptr;
}

}  // namespace

void on_hsa_load(const HsaTables* tables) {
  // Named twice as a tool, once by another path say: what the tables hold by now are our own hooks.
  if (is_passive() || tables == nullptr || is_hsa_loaded()) return;
  ensure_started();
  Locked locked(g_polling);
  g_hsa_table.open(*tables);
  if (!can_work(hsa())) return;

  start_swap();
  start_probes();
  start_capture();
  open_times();
  open_agents();
  install_queue_hooks();
  install_signal_hooks();
  install_memory_hooks();
  install_copy_hooks();
  install_executable_hooks();
  install_whole_hooks();
  watch_faults();
  install_call_hooks();

  g_hsa_table.publish();
  set_hsa_loaded(sys::pid());
  if (g_loads.fetch_add(1, std::memory_order_acq_rel) == 0) {
    replay_facts_for_new_sessions();
    add_fact_source(&Queue::write_facts);
    g_harvest = &harvest;
    add_helper_work(&poll);
    record::add_status(&Queue::write_status);
    pthread_atfork(nullptr, nullptr, &after_fork_in_child);
  }
}

void on_hsa_unload() {
  if (!is_hsa_loaded()) return;
  Locked locked(g_polling);
  Queue::harvest_all(true);
  forget_probes();
  set_hsa_loaded(0);
  Queue::abandon_all();
  forget_swaps();
  forget_capture();
  g_program_signals.clear();
}

}  // namespace wavetap::agent
