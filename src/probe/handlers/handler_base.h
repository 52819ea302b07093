// What the built-in handlers have in common: a C++ class per dispatch and per strand behind the C
// functions of wavetap/handler.h.
//
//   struct Strand { void memory(const wavetap_memory&); … };          one workgroup at a time
//   struct Dispatch { explicit Dispatch(const wavetap_dispatch&);
//                     void add(Strand&);                              one strand at a time
//                     void report(JsonText&, const wavetap_dispatch&, const wavetap_host&); };
#pragma once

#include <atomic>
#include <memory>

#include "probe/handlers/json_text.h"
#include "wavetap/handler.h"

namespace wavetap::probe {

// A handler, which lives as long as the process (wavetap/handler.h). They are in a list, so that none counts
// as lost.
template <class Handler>
Handler& make_handler() {
  struct Kept {
    Handler handler;
    Kept* next = nullptr;
  };
  static constinit std::atomic<Kept*> all{nullptr};
  auto* const made = new Kept;
  made->next = all.load(std::memory_order_relaxed);
  while (!all.compare_exchange_weak(made->next, made, std::memory_order_release)) {
  }
  return made->handler;
}

template <class Dispatch, class Strand>
class HandlerOf {
 public:
  static const wavetap_handler* open(const wavetap_host* host, const char* name, uint32_t wants) {
    auto& self = make_handler<HandlerOf>();
    self.host_ = host;
    wavetap_handler& calls = self.calls_;
    calls.size = sizeof calls;
    calls.name = name;
    calls.wants = wants;
    calls.self = &self;
    calls.dispatch_begin = [](void*, const wavetap_dispatch* described) -> void* {
      return new Dispatch(*described);
    };
    calls.strand_begin = [](void*, void* dispatch) -> void* {
      return new Strand(*static_cast<Dispatch*>(dispatch));
    };
    if constexpr (requires(Strand s, const wavetap_wave_event& e) { s.wave(e); })
      calls.wave = [](void* strand, const wavetap_wave_event* event) {
        static_cast<Strand*>(strand)->wave(*event);
      };
    if constexpr (requires(Strand s, const wavetap_block& e) { s.block(e); })
      calls.block = [](void* strand, const wavetap_block* event) {
        static_cast<Strand*>(strand)->block(*event);
      };
    if constexpr (requires(Strand s, const wavetap_memory& e) { s.memory(e); })
      calls.memory = [](void* strand, const wavetap_memory* event) {
        static_cast<Strand*>(strand)->memory(*event);
      };
    if constexpr (requires(Strand s, const wavetap_sum& e) { s.sum(e); })
      calls.sum = [](void* strand, const wavetap_sum* event) {
        static_cast<Strand*>(strand)->sum(*event);
      };
    calls.strand_end = [](void*, void* dispatch, void* strand) {
      const std::unique_ptr<Strand> ended(static_cast<Strand*>(strand));
      static_cast<Dispatch*>(dispatch)->add(*ended);
    };
    calls.dispatch_end = [](void* of, void* dispatch, const wavetap_dispatch* described) {
      const wavetap_host& to = *static_cast<HandlerOf*>(of)->host_;
      const std::unique_ptr<Dispatch> ended(static_cast<Dispatch*>(dispatch));
      JsonText json;
      ended->report(json, *described, to);
      to.result(to.context, described, json.string().data(), json.size());
    };
    return &calls;
  }

 private:
  const wavetap_host* host_ = nullptr;
  wavetap_handler calls_{};
};

}  // namespace wavetap::probe
