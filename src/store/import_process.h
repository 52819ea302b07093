// One recorded process into the file: a session of its own.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "format/reader.h"
#include "store/import.h"
#include "store/import_events.h"
#include "store/import_tables.h"
#include "store/kernel_code.h"
#include "store/raw_facts.h"
#include "store/symbolize.h"

namespace wavetap::store {

struct LaunchShape;
struct QueuedCall;

// What processes share: GPUs and their lanes are numbered once for the whole file. The same GPU has
// one number even where processes see it under different ones.
class ImportDevices {
 public:
  struct Device {
    RawAgent agent;
    int64_t held_bytes = 0, peak_bytes = 0, peak_time = 0;
  };
  // -1 for CPUs.
  int64_t id(const RawAgent* agent);
  int64_t next_lane() { return lanes_++; }

  struct Held {
    int64_t time = 0;
    int64_t device = 0;
    int64_t delta = 0;
  };
  std::vector<Held> held;  // memory taken and given back, by all processes
  std::map<int64_t, Device> devices;
  // Rows of wavetap_device_figure without their process.
  std::set<std::vector<std::vector<ImportFile::Cell>>> figures;

 private:
  int64_t lanes_ = 0;
};

class ProcessImport {
 public:
  ProcessImport(ImportFile& file, ImportDevices& devices, ImportResult& result, int64_t session,
                std::string folder);

  // `stream 0` is read first, then all others.
  void run(const format::ProcessStreams& streams, uint64_t raw_bytes,
           const std::function<void(double)>& progress);

  // When the process ended, by somebody who saw it.
  void set_ended(int64_t monotonic_ns) { ended_ns_ = monotonic_ns; }

  const RawFacts& facts() const { return *facts_; }
  int64_t first_ns() const { return first_ns_; }
  int64_t last_ns() const { return last_ns_; }

 private:
  // What the importer needs to know of a function, looked up once.
  struct Function {
    const RawFunction* raw = nullptr;
    int64_t name_id = 0;
    int64_t domain_id = 0;
    bool is_copy = false;
    bool is_graph_launch = false;
    bool is_launch = false;
    bool synchronous = true;
    int64_t fixed_kind = 0;
    std::optional<size_t> stream, dst, src, size, width, height, kind, dst_device, src_device;
    std::optional<size_t> function, grid, block, shared;
  };
  struct Kernel {
    int64_t id = 0;         // wavetap_kernel
    int64_t name_id = 0;    // demangled
    bool internal = false;  // the runtime's own
    const char* fixed_type = "KernelExecution";
    bool is_fill() const { return fixed_type == kFillType; }
  };
  static constexpr const char* kFillType = "FillBuffer";

  const Function& function(uint32_t number);
  const Kernel* kernel(const format::DispatchRecord& dispatch);
  int64_t lane(uint32_t queue);
  int64_t copy_lane(int64_t device, const char* direction);
  int64_t device_of_queue(uint32_t queue);

  void prepare_kernels();
  static LaunchShape shape_asked(const Function& function, const CallWords& words);
  std::vector<QueuedCall> queued_calls();
  void find_owners_by_order();
  void write_calls(const std::function<void(double)>& progress);
  void write_call(StreamEvents& stream, const format::CallRecord& call, int64_t id, size_t& owned,
                  size_t& stack);
  int64_t arguments(const Function& function, const format::CallRecord& call,
                    const RecordedCall& recorded);
  int64_t add_ustring(std::string_view text);
  void write_copy(const Function& function, const CallWords& words, int64_t id,
                  std::span<const OwnedOp> owned);
  void write_launch(const Function& function, const CallWords& words,
                    const format::CallRecord& call, int64_t id, std::span<const OwnedOp> owned);
  void write_stack(const format::StackRecord& stack, const Function& function, int64_t id);
  void write_markers();
  void write_operations();
  void write_dispatch(int64_t op_id, const RawOp& op, const format::DispatchRecord& dispatch,
                      const Kernel* kernel);
  void write_inflight(const RawOp& op);
  void write_memory();
  void write_facts();
  void write_unseen();
  void add_loss(const char* reason, uint64_t count, const std::string& what);
  std::string owner_of(uint64_t address, int64_t time) const;
  int64_t api_of(format::Owner owner) const;  // 0 when the call is not in the trace
  const char* copy_direction(const format::CopyRecord& copy, int64_t& device);

  int64_t ns(uint64_t ticks) const { return facts_->clock.monotonic(ticks); }
  int64_t pid() const { return facts_->id().pid; }

  struct Allocation {
    uint64_t address = 0, bytes = 0;
    int64_t device = -1;
    format::MemoryKind kind{};
    int64_t start = 0, end = 0;  // 0: not freed
  };
  struct CachedText {
    const format::CallRecord* call = nullptr;
    int64_t id = 0;
  };

  ImportFile& file_;
  ImportDevices& devices_;
  ImportResult& result_;
  const int64_t session_;
  const int64_t offset_;
  const std::string folder_;
  std::unique_ptr<RawFacts> facts_;
  std::unique_ptr<KernelCode> code_;
  std::unique_ptr<Symbolizer> symbols_;
  ProcessEvents events_;
  SessionStrings strings_;
  std::map<uint32_t, Function> functions_;
  std::vector<const Function*> by_number_;
  std::vector<Kernel> kernels_;  // as RawFacts::kernels
  std::map<uint32_t, int64_t> lanes_;
  std::map<std::pair<int64_t, std::string>, int64_t> copy_lanes_;
  std::map<uint32_t, int64_t> code_object_ids_;
  std::vector<Allocation> allocations_;
  std::vector<CachedText> cache_;
  int64_t ustrings_ = 0;
  std::string text_;
  int64_t empty_id_ = 0;
  int64_t first_ns_ = 0, last_ns_ = 0;
  int64_t ended_ns_ = 0;
};

}  // namespace wavetap::store
