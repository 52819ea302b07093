// Modelled caches for counted dispatches: hands each a watcher of its GPU (src/cachesim), and writes
// what it found into the dispatch's line of counters.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cachesim/memory_watch.h"
#include "vgpu/dispatch_hook.h"

namespace wavetap::vgpu {

// Thread-safe.
class MemoryCounting {
 public:
  // One dispatch's: its watcher, and the list of watchers with it in.
  struct Watching {
    Watching(const model::Model& model, cachesim::Start start) : watch(model, start) {}
    cachesim::MemoryWatch watch;
    emu::Watcher* watchers[emu::kMaxWatchers] = {};
  };

  explicit MemoryCounting(cachesim::Start start) : start_(start) {}

  // Before a dispatch. Null when it is watched by too many already, or there is no memory.
  Watching* begin(DispatchView& view);
  // After it: adds keys to `line`, and takes the watcher back.
  void finish(const DispatchView& view, Watching* watching, std::string& line);

 private:
  struct Place {
    std::string text;     // of the instruction
    std::string source;   // keys of JSON; may be empty
    uint64_t offset = 0;  // from the kernel's first instruction
    bool has_offset = false;
  };
  const Place& place_of(const DispatchView& view, GpuAddr pc);
  void append_sites(const DispatchView& view, const std::vector<cachesim::SiteCounts>& sites,
                    std::string& line);

  const cachesim::Start start_;
  std::mutex mutex_;
  // By GPU. Lowered code belongs to a watcher, and warm caches do, so they are used again, the last one
  // first.
  std::map<uint32_t, std::vector<std::unique_ptr<Watching>>> idle_;
  // Address spaces are not used twice for other code within a run, or so rarely that a stale text
  // for a line of a report is the worst of it.
  std::map<std::pair<uint32_t, uint64_t>, Place> places_;  // by GPU and address
};

}  // namespace wavetap::vgpu
