// A session folder followed while its programs run: what tail prints, top adds up and status looks
// at.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "format/reader.h"
#include "store/raw_facts.h"

namespace wavetap::cli {

// A dispatch, barrier or copy that has been submitted.
struct LiveOperation {
  format::Kind kind{};
  uint64_t submitted = 0;
  std::string name;     // of the kernel, demangled; CopyHostToDevice ...
  uint32_t tid = 0;     // that submitted it
  uint32_t queue = 0;   // 0 for copies
  int64_t device = -1;  // index of the GPU
  uint32_t grid[3] = {};
  uint32_t workgroup[3] = {};
  uint64_t bytes = 0;
};

struct LiveProcess {
  explicit LiveProcess(format::ProcessId id) : facts(id) {}
  store::RawFacts facts;
  std::unordered_map<uint64_t, LiveOperation> pending;  // by operation number
  // Device memory: address -> GPU, bytes.
  std::unordered_map<uint64_t, std::pair<int64_t, uint64_t>> held;
  std::map<int64_t, uint64_t> memory_bytes;  // held per GPU
};

class LiveSession {
 public:
  // What is seen, in the order it is read: of each thread in order, of several threads as it comes.
  struct Visitor {
    std::function<void(LiveProcess&, uint32_t tid, const format::CallRecord&)> call;
    // Finished; CLOCK_BOOTTIME.
    std::function<void(LiveProcess&, const LiveOperation&, int64_t start_ns, int64_t end_ns)>
        operation;
    std::function<void(LiveProcess&, uint32_t tid, const format::Record&)> marker;
    std::function<void(LiveProcess&, uint32_t tid, const format::Record&)> memory;
  };

  static Result<LiveSession> open(const std::string& folder);

  // Reads what has arrived. True when there was anything.
  bool poll(const Visitor& visitor);
  // No process of the session runs any more.
  bool ended() const;

  std::map<format::ProcessId, std::unique_ptr<LiveProcess>>& processes() { return processes_; }
  format::SessionReader& reader() { return *reader_; }

 private:
  void take(LiveProcess& process, uint32_t tid, const format::Record& record,
            const Visitor& visitor);
  void take_facts(LiveProcess& process, const format::ProcessStreams& streams,
                  const Visitor& visitor);

  std::unique_ptr<format::SessionReader> reader_;
  std::map<format::ProcessId, std::unique_ptr<LiveProcess>> processes_;
};

}  // namespace wavetap::cli
