// Session: the chosen tools at work on one dispatch, and on the next when that is over. Whoever runs
// dispatches has one for each that runs at the same time, and keeps it: code lowered for its watchers is
// shared by all dispatches of a session.
//
//   session.begin(map);
//   dispatch.watchers = session.watchers();
//   engine.run(dispatch);
//   for (const Finding& finding : session.take().findings) …
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "sanitize/check.h"
#include "sanitize/finding.h"
#include "sanitize/kinds.h"
#include "sanitize/memory_map.h"

namespace wavetap::sanitize {

struct SessionOptions {
  ToolSet tools = ToolSet::defaults();
};

// Findings that cannot wait until the dispatch is over: it may never be. Called inside a slice (emu/watch.h). When it ends
// after all, they were none.
using TellNow = std::function<void(const Finding& finding)>;

// What one dispatch gave.
struct SessionFindings {
  std::vector<Finding> findings;  // tool by tool, in order of addresses
  bool depends_on_order = false;  // what was found may; in another order there may be more
  uint64_t shadow_bytes = 0;      // that tools took, the most so far
  uint64_t dropped = 0;           // instances of findings for which there was no room
};

class Synccheck;

class Session {
 public:
  explicit Session(const SessionOptions& options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void set_tell_now(TellNow tell);

  // Before a dispatch. `map` lives until take().
  void begin(const MemoryMap& map);
  // Of the dispatch that has begun.
  std::span<emu::Watcher* const> watchers() const { return watchers_; }
  // For a dispatch in which nothing is to be found: the tools that must see it all the same.
  std::span<emu::Watcher* const> begin_quietly(const MemoryMap& map);
  // After begin(): the runtime's own kernel moves memory, and does not use what it moves.
  void set_moves_memory();
  // After it.
  SessionFindings take();

 private:
  void choose(const MemoryMap& map, bool moves_memory);

  std::vector<std::unique_ptr<Check>> checks_;
  Synccheck* synccheck_ = nullptr;  // one of them
  const MemoryMap* map_ = nullptr;
  std::vector<emu::Watcher*> watchers_;
  std::vector<emu::Watcher*> keepers_;  // those that see every dispatch
};

}  // namespace wavetap::sanitize
