// What a replayed kernel may ask of its host: what is served, where it lies, what is refused.
//
// The replay brings a hostcall buffer of its own (hostcall.h) and puts its address in place of the
// captured one: the captured buffer belongs to a listener that is gone. Memory that the device's heap
// asks for lies where the captured run got it (the capture knows what appeared while the kernel ran), so
// that pointers into the heap are the same as long as waves ask in the same order; what is asked beyond
// that comes from fresh memory.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "replay/capture_file.h"
#include "replay/captured_kernel.h"
#include "replay/captured_memory.h"
#include "replay/hostcall.h"

namespace wavetap::replay {

struct HostRange {
  uint64_t begin = 0;
  uint64_t size_bytes = 0;
};
// Memory that appeared while the captured kernel ran.
std::vector<HostRange> allocated_ranges(const Capture& capture);
// Where the replay's own memory lies on the engine: addresses that no captured memory has.
HostRange hostcall_range(const Capture& capture);
HostRange fresh_heap_range(const Capture& capture);

// The device's heap in a captured state: where it lies depends on the order of waves and on the clock,
// so that two runs of one kernel need not agree.
struct HeapMemory {
  std::vector<HostRange> own;     // its lists and slabs, which only its own code writes
  std::vector<HostRange> blocks;  // where pointers from malloc may point

  bool is_own(uint64_t address) const;
  bool is_block(uint64_t address) const;
};
HeapMemory find_heap(const CaptureFile& file, const Capture& capture, const CapturedKernel& kernel);

// The argument that names the hostcall buffer; null when the kernel makes no calls.
const CapturedArgument* hostcall_argument(const CapturedKernel& kernel);
uint64_t wave_count(const Capture& capture);

// Why the kernel cannot be replayed for what it needs of others: "" or a sentence.
std::string needed_and_missing(const Capture& capture, const CapturedKernel& kernel,
                               const CapturedMemory& memory);

// Gives out the captured addresses first. allocate() and release() from any thread.
class HeapPlaces {
 public:
  explicit HeapPlaces(const Capture& capture);

  // One of the captured ranges that is not in use and has room.
  std::optional<HostRange> take(uint64_t size_bytes);
  void give_back(uint64_t address);
  void reset();
  const std::vector<HostRange>& ranges() const { return ranges_; }

 private:
  const std::vector<HostRange> ranges_;
  std::mutex mutex_;
  std::vector<bool> used_;
};

// The services of one kernel on the engine.
class EngineServices {
 public:
  static Result<std::unique_ptr<EngineServices>> make(const Capture& capture,
                                                      CapturedMemory& memory);

  // The state before the first run: nobody waits, nothing is allocated.
  void reset();
  // What is printed from now on goes there.
  void print_to(std::function<void(std::string_view, bool)> print) { print_ = std::move(print); }
  HostcallServer& server() { return *server_; }

 private:
  EngineServices(const Capture& capture, CapturedMemory& memory)
      : memory_(memory), captured_(capture), fresh_(fresh_heap_range(capture)) {}
  uint64_t allocate(uint64_t size_bytes);

  CapturedMemory& memory_;
  HeapPlaces captured_;
  const HostRange fresh_;
  std::mutex mutex_;
  uint64_t fresh_used_ = 0;
  std::function<void(std::string_view, bool)> print_;
  std::unique_ptr<HostcallServer> server_;
};

}  // namespace wavetap::replay
