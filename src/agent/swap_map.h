// SwapMap: kernel object to what is known of its replacement. Read by threads that submit, without a
// lock; changed under the lock of its owner. Grows by making a larger one; the smaller one stays for
// readers that still look at it.
#pragma once

#include <atomic>
#include <cstdint>
#include <new>

namespace wavetap::agent {

template <class Value>
class SwapMap {
 public:
  // Null: none.
  Value* find(uint64_t key) const {
    const Slots* slots = slots_.load(std::memory_order_acquire);
    if (slots == nullptr) return nullptr;
    for (uint32_t i = place(key, *slots);; i = (i + 1) & slots->mask) {
      const uint64_t found = slots->slot[i].key.load(std::memory_order_acquire);
      if (found == key) return slots->slot[i].value.load(std::memory_order_acquire);
      if (found == 0) return nullptr;
    }
  }

  // Null takes it out. False: there is no memory.
  bool set(uint64_t key, Value* value) {
    Slots* slots = slots_.load(std::memory_order_relaxed);
    if (slots == nullptr || (used_ + 1) * 2 > slots->mask) {
      if (!grow()) return false;
      slots = slots_.load(std::memory_order_relaxed);
    }
    put(*slots, key, value);
    return true;
  }

  // Takes out those for which `is_out` is true.
  template <class F>
  void remove_if(F&& is_out) {
    if (Slots* slots = slots_.load(std::memory_order_relaxed))
      for (uint32_t i = 0; i <= slots->mask; ++i) {
        const Value* const value = slots->slot[i].value.load(std::memory_order_relaxed);
        if (value != nullptr && is_out(*value))
          slots->slot[i].value.store(nullptr, std::memory_order_release);
      }
  }

  // For a runtime that is gone: no reader is left.
  void clear() {
    if (Slots* slots = slots_.load(std::memory_order_relaxed))
      for (uint32_t i = 0; i <= slots->mask; ++i)
        slots->slot[i].value.store(nullptr, std::memory_order_relaxed);
  }

 private:
  struct Slot {
    std::atomic<uint64_t> key;
    std::atomic<Value*> value;
  };
  struct Slots {
    uint32_t mask;
    Slot* slot;
  };
  static constexpr uint32_t kFirstSize = 256;

  static uint32_t place(uint64_t key, const Slots& slots) {
    // Descriptors lie at multiples of 64.
    return static_cast<uint32_t>(((key >> 6) * 0x9e3779b97f4a7c15) >> 32) & slots.mask;
  }

  void put(Slots& slots, uint64_t key, Value* value) {
    uint32_t i = place(key, slots);
    uint64_t found = 0;
    while ((found = slots.slot[i].key.load(std::memory_order_relaxed)) != 0 && found != key)
      i = (i + 1) & slots.mask;
    // The value first: who finds the key finds it.
    slots.slot[i].value.store(value, std::memory_order_release);
    if (found == key) return;
    ++used_;
    slots.slot[i].key.store(key, std::memory_order_release);
  }

  bool grow() {
    Slots* const old = slots_.load(std::memory_order_relaxed);
    const uint32_t size = old == nullptr ? kFirstSize : (old->mask + 1) * 2;
    auto* fresh = new (std::nothrow) Slots{size - 1, new (std::nothrow) Slot[size]{}};
    if (fresh == nullptr || fresh->slot == nullptr) return false;
    used_ = 0;
    for (uint32_t i = 0; old != nullptr && i <= old->mask; ++i)
      if (Value* value = old->slot[i].value.load(std::memory_order_relaxed))
        put(*fresh, old->slot[i].key.load(std::memory_order_relaxed), value);
    slots_.store(fresh, std::memory_order_release);
    return true;
  }

  std::atomic<Slots*> slots_{nullptr};
  uint32_t used_ = 0;
};

}  // namespace wavetap::agent
