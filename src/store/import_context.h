// What the parts of an import share about the process they are at: what was recorded, where it goes,
// and the numbers it got there.
//
//   import_process.cc     the order of the parts
//     import_kernels        code objects and kernels           import_owners   whose operations are they?
//     import_calls          calls, copies, launches, stacks    import_memory   allocations
//     import_markers        markers                            import_facts    the process itself
//     import_operations     what GPUs did                      import_unseen   what went past the recorder
//     import_counters       what they counted
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/import_devices.h"
#include "store/import_events.h"
#include "store/import_functions.h"
#include "store/import_result.h"
#include "store/kernel_code.h"
#include "store/raw_counters.h"
#include "store/raw_facts.h"
#include "store/trace_writer.h"

namespace wavetap::store {

// What ROCm's runtime does with a kernel of its own; everything else is the program's.
enum class KernelUseKind : uint8_t { kProgram, kCopy, kFill, kOtherInternal };

struct ImportKernel {
  int64_t id = 0;       // wavetap_kernel
  int64_t name_id = 0;  // demangled
  KernelUseKind use = KernelUseKind::kProgram;
  bool is_internal() const { return use != KernelUseKind::kProgram; }
};

// Queues and copy directions as lanes of the file: queueId, a row of wavetap_queue when first used.
class ImportLanes {
 public:
  ImportLanes(const RawFacts& facts, ImportDevices& devices, TraceWriter& writer)
      : facts_(facts), devices_(devices), writer_(writer) {}

  int64_t device_of_queue(uint32_t queue);
  int64_t of_queue(uint32_t queue);
  int64_t of_copies(int64_t device, const char* direction);

 private:
  int64_t pid() const { return facts_.id().pid; }

  const RawFacts& facts_;
  ImportDevices& devices_;
  TraceWriter& writer_;
  std::map<uint32_t, int64_t> queues_;
  std::map<std::pair<int64_t, std::string>, int64_t> copies_;
};

// Memory that HSA gave to the process.
struct HeldMemory {
  uint64_t address = 0, bytes = 0;
  int64_t device = -1;  // the host
  format::MemoryKind kind{};
  int64_t start = 0, end = 0;  // 0: not freed
  format::Owner owner{};
};

// What processes of one recording have in common.
struct ImportTarget {
  const std::string& folder;  // of the raw recording
  uint64_t raw_bytes = 0;     // its size; no number of an event can be larger
  TraceWriter& writer;
  ImportDevices& devices;
  RawCounters& counters;
  ImportResult& result;
};

struct ImportContext {
  ImportContext(ImportTarget& target, int64_t number, const RawFacts& recorded);

  int64_t pid() const { return facts.id().pid; }
  int64_t ns(uint64_t ticks) const { return facts.clock.monotonic(ticks); }
  // The session's nth id, from 1, in any table.
  int64_t id(int64_t n) const { return texts.offset() + n; }
  // 0 when the call is not in the trace.
  int64_t api_of(format::Owner owner) const;
  // Null when the code object was loaded before the recorder could see it.
  const ImportKernel* kernel(const format::DispatchRecord& dispatch) const;
  std::string kernel_name(const format::DispatchRecord& dispatch) const;  // demangled
  int64_t device_of_agent(uint32_t agent) { return devices.id(facts.agent(agent)); }
  void note(std::string text) { result.notes.push_back(std::move(text)); }

  TraceWriter& writer;
  ImportDevices& devices;
  RawCounters& counters;
  ImportResult& result;
  const int64_t session;
  const RawFacts& facts;
  KernelCode code;
  ProcessEvents events;
  SessionTexts texts;
  ImportFunctions functions;
  ImportLanes lanes;
  std::vector<ImportKernel> kernels;  // as RawFacts::kernels
  std::vector<HeldMemory> memory;     // by start
  int64_t first_ns = 0, last_ns = 0;
  int64_t ended_ns = 0;  // when the process ended, by somebody who saw it; 0: nobody did
};

// "CopyHostToDevice" of a hipMemcpyKind; where that leaves it open, of the GPUs at both ends (-1: the
// host, or not known).
const char* copy_type(int64_t kind, int64_t dst_device, int64_t src_device);
inline constexpr const char* kKernelType = "KernelExecution";
inline constexpr const char* kFillType = "FillBuffer";

}  // namespace wavetap::store
