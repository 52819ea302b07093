// What stream 0 of a process says, in a form that answers questions: what a function number means,
// which kernel lies at an address, which GPU a queue belongs to, what a counter reading is in
// nanoseconds. Import takes all facts at once; followers of a running program take them as they
// come.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "format/reader.h"
#include "store/call_text.h"
#include "store/clock_map.h"

namespace wavetap::store {

struct RawFunction {
  std::string name;
  format::Api api = format::Api::kOther;
  format::ResultType result_type = format::ResultType::kErrorCode;
  CallLayout layout;
};

struct RawAgent {
  format::AgentFact fact{};
  std::string name, product, uuid;
};

// What one layer said of one GPU: "name value" lines.
struct RawDevice {
  format::DeviceLayer layer{};
  format::DeviceFact fact{};
  std::string figures;
  std::string told;  // what the program was told instead
};

struct RawQueue {
  format::QueueFact fact{};
  uint64_t destroyed = 0;  // 0: not
};

struct RawCodeObject {
  format::CodeObjectFact fact{};
  std::string uri, file;
  uint64_t unloaded = 0;
};

struct RawKernel {
  format::KernelFact fact{};
  std::string name;  // mangled
};

struct RawImage {
  format::ImageFact fact{};
  std::string path;
};

struct RawLibrary {
  format::LibraryEvent event{};
  uint64_t time = 0;
  std::string path, soname, build_id, answers_for;
};

struct RawLoss {
  format::Loss reason{};
  uint64_t time = 0;
  uint64_t count = 0;
  std::string what;
};

struct RawFault {
  format::FaultFact fact{};
  std::string what;
};

struct RawSwap {
  format::SwapEvent event{};
  format::SwapFact fact{};
  std::string file, reason, why;
};

struct RawThread {
  uint32_t stream = 0;
  uint32_t tid = 0;
  uint64_t time = 0;  // of its first record
  std::string name;
};

struct RawHostFunction {
  uint64_t time = 0;
  std::string name;
};

class RawFacts {
 public:
  explicit RawFacts(format::ProcessId id) : id_(id) {}

  // Takes a record of stream 0; kinds that are not facts are ignored.
  void take(const format::Record& record);

  format::ProcessId id() const { return id_; }
  bool has_process() const { return has_process_; }
  const format::ProcessFact& process() const { return process_; }
  std::string executable, command, hostname, boot_id, agent_version;

  ClockMap clock;
  const RawFunction* function(uint32_t number) const;
  const RawAgent* agent(uint32_t number) const;
  const RawQueue* queue(uint32_t number) const;
  // The kernel whose descriptor was at this address at that time; an index into kernels.
  std::optional<size_t> kernel(uint64_t kernel_object, uint64_t time) const;
  // The device function behind a host stub or hipFunction_t; "" when unknown.
  const std::string& host_function(uint64_t function, uint64_t time) const;

  std::map<uint32_t, RawFunction> functions;
  std::map<uint32_t, RawAgent> agents;
  std::vector<RawDevice> devices;
  std::map<uint32_t, RawQueue> queues;
  std::map<uint32_t, RawCodeObject> code_objects;
  std::vector<RawKernel> kernels;
  std::vector<RawImage> images;
  std::vector<RawLibrary> libraries;
  std::vector<RawLoss> losses;
  std::vector<RawFault> faults;
  std::vector<RawSwap> swaps;
  std::vector<RawThread> threads;
  std::vector<format::ControlFact> controls;
  std::vector<std::string> notes;
  uint64_t unknown_records = 0;

 private:
  // What a fact says, with the flags of its record and the texts behind it.
  using Texts = format::TextCursor;
  void add(const format::ProcessFact& fact, uint8_t flags, Texts& texts);
  void add(const format::ThreadFact& fact, uint8_t flags, Texts& texts);
  void add(const format::ClockSampleFact& fact, uint8_t flags, Texts& texts);
  void add(const format::FunctionFact& fact, uint8_t flags, Texts& texts);
  void add(const format::LibraryFact& fact, uint8_t flags, Texts& texts);
  void add(const format::ImageFact& fact, uint8_t flags, Texts& texts);
  void add(const format::AgentFact& fact, uint8_t flags, Texts& texts);
  void add(const format::DeviceFact& fact, uint8_t flags, Texts& texts);
  void add(const format::QueueFact& fact, uint8_t flags, Texts& texts);
  void add(const format::CodeObjectFact& fact, uint8_t flags, Texts& texts);
  void add(const format::KernelFact& fact, uint8_t flags, Texts& texts);
  void add(const format::HostFunctionFact& fact, uint8_t flags, Texts& texts);
  void add(const format::ControlFact& fact, uint8_t flags, Texts& texts);
  void add(const format::LossFact& fact, uint8_t flags, Texts& texts);
  void add(const format::FaultFact& fact, uint8_t flags, Texts& texts);
  void add(const format::NoteFact& fact, uint8_t flags, Texts& texts);
  void add(const format::SwapFact& fact, uint8_t flags, Texts& texts);
  // Nothing when the record is too short to be one.
  template <class Fact>
  void add_whole(const format::Record& record) {
    const auto* fact = record.as<Fact>();
    if (fact == nullptr) return;
    Texts texts(record.after<Fact>());
    add(*fact, record.header.flags, texts);
  }

  format::ProcessId id_;
  bool has_process_ = false;
  format::ProcessFact process_{};
  std::vector<const RawFunction*> by_number_;
  std::unordered_map<uint64_t, std::vector<size_t>> kernels_at_;
  std::unordered_map<uint64_t, std::vector<RawHostFunction>> host_functions_;
};

const char* api_name(format::Api api);  // "hip", "hsa", "hiprtc", "roctx", "other"
const char* loss_name(format::Loss reason);
const char* memory_kind_name(format::MemoryKind kind);

}  // namespace wavetap::store
