#include "vgpu/events.h"

#include <errno.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace wavetap::vgpu {
namespace {

// What an unwritten slot of the event page holds.
constexpr uint64_t kUnsignalledSlot = ~uint64_t{0};
constexpr size_t kOtherEventLimit = 1u << 16;
constexpr uint32_t kForever = 0xfffffffeu;  // and above: no time limit
using WaitClock = std::chrono::steady_clock;

// How long a thread rests that comes back with an age it has been told to be old. ROCr's thread for asynchronous handlers
// waits for many signals at once and forgets the ages of some: with each of its calls answered at once it would need a
// core for as long as a kernel runs, the very core that the kernel needs here. It has looked at its signals since it was told,
// so that only another event can bring news, and that ends the rest.
constexpr auto kRestOfToldThread = std::chrono::milliseconds(1);

struct Sleeper;
struct Event;

// One event of one wait. Lives on the waiting thread's stack, linked into the event while it
// sleeps.
struct WaitSlot {
  Event* event = nullptr;  // null: destroyed meanwhile
  Sleeper* sleeper = nullptr;
  bool activated = false;
  bool compare_age = false;
  bool told = false;  // activated by nothing but an age that this thread was told before

  // Both need the table's lock held. begin() takes what has happened already; end() tells the waiter
  // what did, or gives it back when the wait did not take place.
  void begin(Event& awaited, Sleeper& waiter, uint64_t last_event_age);
  void end(bool complete, EventWait& wait);
};

struct Sleeper {
  std::condition_variable wake;
};

// Stands for the calling thread in Event::seen. A later thread may get the same address: it starts
// after the earlier one ended, so what the earlier one had seen lies before anything the later one
// waits for.
constinit thread_local char t_thread_key = 0;

struct Event {
  EventType type{};
  bool auto_reset = false;
  bool set = false;
  uint64_t age = 1;
  uint32_t node_id = 0;
  MemoryFaultData memory_fault{};
  HwExceptionData hw_exception{};
  std::vector<WaitSlot*> waiters;

  // Caller holds the table's lock.
  void trigger() {
    set = !auto_reset || waiters.empty();
    // 0 means "do not compare", 1 is what a fresh event has.
    if (++age == 0) age = 2;
    for (WaitSlot* slot : waiters) {
      slot->activated = true;
      slot->told = false;
      slot->sleeper->wake.notify_one();
    }
  }

  void remove(WaitSlot* slot) { std::erase(waiters, slot); }

  // The age the calling thread saw when it last came out of a wait for this event; 0 when it never
  // did.
  uint64_t age_seen() const {
    for (const auto& [thread, seen_age] : seen) {
      if (thread == &t_thread_key) return seen_age;
    }
    return 0;
  }
  void note_seen() {
    std::erase_if(seen, [](const auto& entry) { return entry.first == &t_thread_key; });
    // Forgetting a thread costs it one early return.
    if (seen.size() >= kThreadsRemembered) seen.erase(seen.begin());
    seen.emplace_back(&t_thread_key, age);
  }

  static constexpr size_t kThreadsRemembered = 16;
  std::vector<std::pair<const char*, uint64_t>> seen;
};

void WaitSlot::begin(Event& awaited, Sleeper& waiter, uint64_t last_event_age) {
  event = &awaited;
  sleeper = &waiter;
  activated = awaited.set;
  awaited.set = awaited.set && !awaited.auto_reset;
  if (awaited.type == EventType::kSignal && last_event_age != 0) {
    compare_age = true;
    told = !activated && awaited.age != last_event_age && awaited.age == awaited.age_seen();
    if (awaited.age != last_event_age) activated = true;
  } else if (awaited.type == EventType::kSignal && awaited.auto_reset && awaited.age != 1 &&
             awaited.age != awaited.age_seen()) {
    activated = true;
  }
  awaited.waiters.push_back(this);
}

void WaitSlot::end(bool complete, EventWait& wait) {
  if (event == nullptr || !activated) return;
  if (!complete) {
    if (event->auto_reset) event->trigger();
    return;
  }
  if (compare_age) {
    wait.last_event_age = event->age;
    event->note_seen();
  } else if (event->type == EventType::kSignal && event->auto_reset) {
    event->note_seen();
  }
  if (event->type == EventType::kMemory) {
    wait.memory_fault = event->memory_fault;
    wait.has_memory_fault = event->memory_fault.gpu_id != 0;
  } else if (event->type == EventType::kHwException) {
    wait.hw_exception = event->hw_exception;
    wait.has_hw_exception = event->hw_exception.gpu_id != 0;
  }
}

WaitResult state_of(const std::vector<WaitSlot>& slots, bool wait_for_all) {
  size_t activated = 0;
  for (const WaitSlot& slot : slots) {
    if (slot.event == nullptr) return WaitResult::kFail;
    activated += slot.activated ? 1 : 0;
  }
  const size_t needed = wait_for_all ? slots.size() : 1;
  return activated >= needed ? WaitResult::kComplete : WaitResult::kTimeout;
}

// True when news that the waiting thread has been told before completes the wait.
bool completed_by_old_news(const std::vector<WaitSlot>& slots, bool wait_for_all) {
  size_t news = 0;
  bool any_told = false;
  for (const WaitSlot& slot : slots) {
    news += slot.activated && !slot.told ? 1 : 0;
    any_told = any_told || slot.told;
  }
  return any_told && news < (wait_for_all ? slots.size() : 1);
}

bool has_slot(EventType type) {
  return type == EventType::kSignal || type == EventType::kDebugEvent;
}

}  // namespace

struct EventTable::State {
  std::mutex mutex;
  std::array<std::unique_ptr<Event>, kSignalEventLimit> signals;  // index 0 stays empty
  std::map<uint32_t, std::unique_ptr<Event>> others;
  uint32_t next_signal = 1;
  uint32_t next_other = kFirstOtherEventId;
  uint32_t live = 0;
  uint64_t* page = nullptr;  // queues write slots at any time, so every access is atomic
  uint32_t page_slots = 0;

  Event* find(uint32_t id) {
    if (id < kSignalEventLimit) return signals[id].get();
    const auto it = others.find(id);
    return it == others.end() ? nullptr : it->second.get();
  }

  // Ids are handed out round robin, so that a late interrupt for a destroyed event does not hit the
  // event created next.
  uint32_t free_signal_id() {
    for (uint32_t tried = 1; tried < kSignalEventLimit; ++tried) {
      const uint32_t id = next_signal;
      next_signal = id + 1 == kSignalEventLimit ? 1 : id + 1;
      if (signals[id] == nullptr) return id;
    }
    return 0;
  }

  uint32_t free_other_id() {
    if (others.size() >= kOtherEventLimit) return 0;
    while (next_other < kFirstOtherEventId || others.count(next_other) != 0) ++next_other;
    return next_other++;
  }

  void clear_slot(uint32_t id) {
    std::atomic_ref(page[id]).store(kUnsignalledSlot, std::memory_order_relaxed);
  }

  // True when the GPU wrote the slot since the last look.
  bool take_slot(uint32_t id) {
    if (page == nullptr || id >= page_slots) return false;
    const std::atomic_ref slot(page[id]);
    if (slot.load(std::memory_order_relaxed) == kUnsignalledSlot) return false;
    // Acquire: pairs with the release store of the queue that wrote it (GuestMemory::store()).
    return slot.exchange(kUnsignalledSlot, std::memory_order_acquire) != kUnsignalledSlot;
  }
};

EventTable::EventTable() : state_(new State) {}

EventTable::~EventTable() { delete state_; }

int EventTable::create(EventType type, bool auto_reset, uint32_t node_id, EventHandle* handle) {
  State& s = *state_;
  const std::lock_guard lock(s.mutex);
  const bool slot = has_slot(type);
  const uint32_t id = slot ? s.free_signal_id() : s.free_other_id();
  if (id == 0) return slot ? ENOSPC : ENOMEM;

  auto event = std::make_unique<Event>();
  event->type = type;
  event->auto_reset = auto_reset;
  event->node_id = node_id;
  if (slot) {
    if (s.page != nullptr && id < s.page_slots) s.clear_slot(id);
    s.signals[id] = std::move(event);
  } else {
    s.others[id] = std::move(event);
  }
  ++s.live;
  *handle = {id, slot ? id : 0};
  return 0;
}

int EventTable::destroy(uint32_t id) {
  State& s = *state_;
  const std::lock_guard lock(s.mutex);
  Event* event = s.find(id);
  if (event == nullptr) return EINVAL;
  for (WaitSlot* slot : event->waiters) {
    slot->event = nullptr;
    slot->sleeper->wake.notify_one();
  }
  if (id < kSignalEventLimit) {
    s.signals[id].reset();
  } else {
    s.others.erase(id);
  }
  --s.live;
  return 0;
}

int EventTable::set(uint32_t id) {
  State& s = *state_;
  const std::lock_guard lock(s.mutex);
  Event* event = s.find(id);
  if (event == nullptr || event->type != EventType::kSignal) return EINVAL;
  event->trigger();
  return 0;
}

int EventTable::reset(uint32_t id) {
  State& s = *state_;
  const std::lock_guard lock(s.mutex);
  Event* event = s.find(id);
  if (event == nullptr || event->type != EventType::kSignal) return EINVAL;
  event->set = false;
  return 0;
}

int EventTable::set_event_page(uint64_t* page, uint64_t size_bytes) {
  State& s = *state_;
  const std::lock_guard lock(s.mutex);
  if (page == nullptr) {
    s.page = nullptr;
    s.page_slots = 0;
    return 0;
  }
  if (s.page == page) return 0;
  if (s.page != nullptr || size_bytes < sizeof(uint64_t)) return EINVAL;
  s.page = page;
  const uint64_t slots = size_bytes / sizeof(uint64_t);
  s.page_slots = static_cast<uint32_t>(slots < kSignalEventLimit ? slots : kSignalEventLimit);
  for (uint32_t i = 0; i < s.page_slots; ++i) s.clear_slot(i);
  return 0;
}

bool EventTable::has_event_page() const {
  const std::lock_guard lock(state_->mutex);
  return state_->page != nullptr;
}

int EventTable::wait(std::span<EventWait> events, bool wait_for_all, uint32_t timeout_ms,
                     WaitResult* result) {
  State& s = *state_;
  *result = WaitResult::kFail;
  if (events.empty()) return EINVAL;
  const auto deadline =
      WaitClock::now() + std::chrono::milliseconds(timeout_ms >= kForever ? 0 : timeout_ms);
  std::vector<WaitSlot> slots(events.size());
  Sleeper sleeper;

  std::unique_lock lock(s.mutex);
  for (const EventWait& wanted : events) {
    if (s.find(wanted.id) == nullptr) return EINVAL;
  }
  for (size_t i = 0; i < events.size(); ++i)
    slots[i].begin(*s.find(events[i].id), sleeper, events[i].last_event_age);

  bool out_of_time = timeout_ms == 0;
  if (!out_of_time && completed_by_old_news(slots, wait_for_all)) {
    // Once: a wake-up without a reason only shortens the rest.
    sleeper.wake.wait_for(lock, kRestOfToldThread);
  }
  for (;;) {
    *result = state_of(slots, wait_for_all);
    if (*result != WaitResult::kTimeout || out_of_time) break;
    if (timeout_ms >= kForever) {
      sleeper.wake.wait(lock);
    } else {
      out_of_time = sleeper.wake.wait_until(lock, deadline) == std::cv_status::timeout;
    }
  }

  for (WaitSlot& slot : slots) {
    if (slot.event != nullptr) slot.event->remove(&slot);
  }
  for (size_t i = 0; i < events.size(); ++i)
    slots[i].end(*result == WaitResult::kComplete, events[i]);
  return *result == WaitResult::kFail ? EIO : 0;
}

void EventTable::signal(uint32_t id) {
  State& s = *state_;
  const std::lock_guard lock(s.mutex);
  Event* event = s.find(id);
  if (event == nullptr || !has_slot(event->type)) return;
  s.take_slot(id);
  event->trigger();
}

void EventTable::signal_all() {
  State& s = *state_;
  const std::lock_guard lock(s.mutex);
  bool any = false;
  for (uint32_t id = 1; id < s.page_slots; ++id) {
    if (s.signals[id] != nullptr && s.take_slot(id)) {
      s.signals[id]->trigger();
      any = true;
    }
  }
  if (any) return;
  for (uint32_t id = 1; id < kSignalEventLimit; ++id) {
    if (s.signals[id] != nullptr) s.signals[id]->trigger();
  }
}

bool EventTable::post_memory_fault(const MemoryFaultData& fault) {
  State& s = *state_;
  const std::lock_guard lock(s.mutex);
  bool any = false;
  for (auto& [id, event] : s.others) {
    if (event->type != EventType::kMemory) continue;
    event->memory_fault = fault;
    event->trigger();
    any = true;
  }
  return any;
}

bool EventTable::post_hw_exception(const HwExceptionData& exception) {
  State& s = *state_;
  const std::lock_guard lock(s.mutex);
  bool any = false;
  for (auto& [id, event] : s.others) {
    if (event->type != EventType::kHwException) continue;
    event->hw_exception = exception;
    event->trigger();
    any = true;
  }
  return any;
}

void EventTable::after_fork_in_child() { state_ = new State; }

uint32_t EventTable::live_count() const {
  const std::lock_guard lock(state_->mutex);
  return state_->live;
}

}  // namespace wavetap::vgpu
