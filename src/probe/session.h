// Session: the watcher that turns what the engine tells into the events of wavetap/handler.h.
//
// Handlers run here, in the probed process, and keep sums per site: a kernel of a second makes
// records of gigabytes, and writing, reading and adding them up costs more than adding at once. Only
// what a dispatch adds up to leaves the process, when the dispatch ends, so that it survives whatever
// happens to the program afterwards. What needs every record (the handler `log`) writes a file.
//
// One session per process. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emu/dispatch.h"
#include "emu/watch.h"
#include "probe/code.h"
#include "probe/surroundings.h"
#include "wavetap/handler.h"

namespace wavetap::probe {

// What of a handler's wishes needs addresses.
inline constexpr uint32_t kAnyMemory = WAVETAP_MEMORY | WAVETAP_VALUES;

struct ActiveDispatch;  // session_state.h
struct HandlerHost;
struct SessionHandler;
struct Strand;

// A handler that wants an event, and its number in of_handler.
struct Listener {
  SessionHandler* handler;
  size_t number;
  const wavetap_handler* free;  // its functions, when they may be called at any time; else null
};

class Session final : public emu::Watcher {
 public:
  explicit Session(Surroundings& surroundings);
  ~Session() override;

  // --- Before the first dispatch.
  // What a handler is opened with; lives as long as the session. `name` is for messages until the
  // handler is known.
  const wavetap_host* make_host(const std::string& name);
  // What the handler said to host->refuse(); "" when nothing.
  const std::string& refusal(const wavetap_host* host) const;
  // False when there are too many, or the handler is broken: why() says how.
  bool add(const wavetap_handler* given, const wavetap_host* host, std::string* why);
  bool empty() const { return handlers_.empty(); }

  // --- Around each dispatch that is probed; `dispatch` is what the engine gets.
  // Returns wavetap_dispatch::id; 0 when it cannot be probed.
  uint64_t begin(const emu::Dispatch& dispatch, DispatchFacts facts);
  void end(const emu::Dispatch& dispatch, uint32_t status);
  // Code that came up since the last call, for whoever keeps what sites are.
  std::vector<const Code*> take_new_code();

  // --- emu::Watcher
  emu::Wants wants(const isa::Program& program, int32_t index) noexcept override;
  void workgroup_began(const emu::Workgroup& group, void*& state) noexcept override;
  void wave_began(const emu::Wave& wave, void*& state) noexcept override;
  void wave_ended(const emu::Wave& wave, void*& state) noexcept override;
  void workgroup_ended(const emu::Workgroup& group, void*& state) noexcept override;
  bool hears_barriers() const noexcept override { return (wants_ & WAVETAP_BARRIERS) != 0; }
  void barrier_reached(const emu::Wave& wave, GpuAddr pc, void*& state) noexcept override;
  void barrier_passed(const emu::Workgroup& group, void*& state) noexcept override;
  void before(const emu::WatchPoint& at) noexcept override;
  void accessing(const emu::WatchPoint& at,
                 std::span<const emu::MemoryAccess> accesses) noexcept override;
  void accessed(const emu::WatchPoint& at,
                std::span<const emu::MemoryAccess> accesses) noexcept override;

 private:
  friend struct HandlerHost;
  friend class Narrator;

  // A handler that is being added.
  void listen(SessionHandler& handler);
  // Null: wants() was never asked about it.
  const Code* code_of(const isa::Program& program);
  const Code* learn(const isa::Program& program);
  // Where a wave is that is between two instructions.
  void put_site(const emu::Wave& wave, wavetap_point* at);
  void tell_wave(const emu::Wave& wave, void* state, uint32_t what);
  void tell_barrier(const wavetap_point& at, const Strand& strand, uint32_t what);
  void tell_block(const emu::WatchPoint& at, Strand& strand, const SiteTag& tag);
  void tell_block_to_all(const Strand& strand, const wavetap_block& event);
  // At an instruction that sends a message, and may begin a block.
  void before_message(const emu::WatchPoint& at, Strand& strand, const SiteTag& tag);
  void tell_message(const emu::WatchPoint& at, const Strand& strand, const SiteTag& tag);
  // Describes each access; handle(access, event) goes on with it.
  template <class Handle>
  void for_each_access(const emu::WatchPoint& at, std::span<const emu::MemoryAccess> accesses,
                       Handle&& handle);

  Surroundings& surroundings_;
  std::vector<std::unique_ptr<HandlerHost>> hosts_;
  std::vector<std::unique_ptr<SessionHandler>> handlers_;
  uint32_t wants_ = 0;  // of all handlers
  // Who hears what comes often. Who asks for values hears of an access once, after it.
  std::vector<Listener> of_blocks_, of_accesses_, of_values_;
  // When it is a single one who hears of blocks, at any time: its function and number. Else null.
  void (*sole_block_)(void* strand, const wavetap_block* event) = nullptr;
  size_t sole_number_ = 0;

  std::mutex code_mutex_;
  std::vector<std::unique_ptr<Code>> codes_;
  std::map<const isa::Program*, const Code*> by_program_;
  std::map<uint64_t, const Code*> by_fingerprint_;
  size_t taken_ = 0;  // of codes_

  std::mutex active_mutex_;
  std::vector<std::unique_ptr<ActiveDispatch>> active_;
  uint64_t last_id_ = 0;
};

}  // namespace wavetap::probe
