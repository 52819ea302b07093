// What a Session is made of; private to session.cc and session_events.cc.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "emu/dispatch.h"
#include "probe/code.h"
#include "probe/surroundings.h"
#include "wavetap/handler.h"

namespace wavetap::probe {

class Session;
struct ActiveDispatch;

inline constexpr size_t kMaxHandlers = 12;

// What one handler was opened with.
struct HandlerHost {
  wavetap_host described{};
  Session* session = nullptr;
  std::string name;
  std::string refusal;

  static HandlerHost& of(void* context) { return *static_cast<HandlerHost*>(context); }
};

struct SessionHandler {
  wavetap_handler copy{};  // with null for what its version of the header does not have
  const wavetap_handler* calls = &copy;
  std::mutex serial;  // of one that asked for it
  bool is_serial = false;

  // Calls f with the handler's lock held, if it has one.
  template <class F>
  auto call(F&& f) {
    if (!is_serial) return f(*calls);
    const std::lock_guard lock(serial);
    return f(*calls);
  }
};

// A workgroup's place in the stream of events, used by one workgroup after the other.
struct Strand {
  struct alignas(64) WaveTrack {  // a line of the cache: every event looks here
    wavetap_wave wave{};
    const wavetap_code* from = nullptr;  // the block it is in
    uint32_t from_block = 0;
    uint64_t from_exec = 0;
  };
  ActiveDispatch* active = nullptr;
  void* of_handler[kMaxHandlers] = {};
  std::vector<WaveTrack> waves;
};

// A dispatch that runs.
struct ActiveDispatch {
  const emu::Dispatch* dispatch = nullptr;
  DispatchFacts facts;
  std::string target;
  wavetap_dispatch described{};
  void* of_handler[kMaxHandlers] = {};
  std::mutex mutex;
  std::vector<std::unique_ptr<Strand>> strands;
  std::vector<Strand*> idle;
};

}  // namespace wavetap::probe
