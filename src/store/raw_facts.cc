#include "store/raw_facts.h"

namespace wavetap::store {

using format::Kind;

void RawFacts::take(const format::Record& record) {
  switch (record.header.kind) {
    case Kind::kProcess: return add_whole<format::ProcessFact>(record);
    case Kind::kThread: return add_whole<format::ThreadFact>(record);
    case Kind::kClockSample: return add_whole<format::ClockSampleFact>(record);
    case Kind::kFunction: return add_whole<format::FunctionFact>(record);
    case Kind::kLibrary: return add_whole<format::LibraryFact>(record);
    case Kind::kImage: return add_whole<format::ImageFact>(record);
    case Kind::kAgent: return add_whole<format::AgentFact>(record);
    case Kind::kDevice: return add_whole<format::DeviceFact>(record);
    case Kind::kQueue: return add_whole<format::QueueFact>(record);
    case Kind::kCodeObject: return add_whole<format::CodeObjectFact>(record);
    case Kind::kKernel: return add_whole<format::KernelFact>(record);
    case Kind::kHostFunction: return add_whole<format::HostFunctionFact>(record);
    case Kind::kControl: return add_whole<format::ControlFact>(record);
    case Kind::kLoss: return add_whole<format::LossFact>(record);
    case Kind::kFault: return add_whole<format::FaultFact>(record);
    case Kind::kNote: return add_whole<format::NoteFact>(record);
    case Kind::kSwap: return add_whole<format::SwapFact>(record);
    default:
      // Completions and other events may be written to stream 0 too; whoever reads it takes them.
      if (static_cast<uint8_t>(record.header.kind) > static_cast<uint8_t>(Kind::kSwap))
        ++unknown_records;
  }
}

void RawFacts::add(const format::ProcessFact& fact, uint8_t, Texts& texts) {
  has_process_ = true;
  process_ = fact;
  executable = texts.next();
  command = texts.next();
  hostname = texts.next();
  boot_id = texts.next();
  agent_version = texts.next();
}

void RawFacts::add(const format::ThreadFact& fact, uint8_t, Texts& texts) {
  threads.push_back({.stream = fact.stream,
                     .tid = fact.tid,
                     .time = fact.time,
                     .name = std::string(texts.next())});
}

void RawFacts::add(const format::ClockSampleFact& fact, uint8_t, Texts&) { clock.add(fact); }

void RawFacts::add(const format::FunctionFact& fact, uint8_t flags, Texts& texts) {
  if (fact.number > UINT16_MAX) return;  // no call can name it
  RawFunction& function = functions[fact.number];
  function.name = texts.next();
  function.api = static_cast<format::Api>(flags);
  function.result_type = static_cast<format::ResultType>(fact.result_type);
  function.layout = CallLayout::parse(texts.next());
  if (by_number_.size() <= fact.number) by_number_.resize(fact.number + 1);
  by_number_[fact.number] = &function;
}

void RawFacts::add(const format::LibraryFact& fact, uint8_t flags, Texts& texts) {
  RawLibrary& library = libraries.emplace_back();
  library.event = static_cast<format::LibraryEvent>(flags);
  library.time = fact.time;
  library.path = texts.next();
  library.soname = texts.next();
  library.build_id = texts.next();
  library.answers_for = texts.next();
}

void RawFacts::add(const format::ImageFact& fact, uint8_t, Texts& texts) {
  images.push_back({.fact = fact, .path = std::string(texts.next())});
}

void RawFacts::add(const format::AgentFact& fact, uint8_t, Texts& texts) {
  RawAgent& agent = agents[fact.number];
  agent.fact = fact;
  agent.name = texts.next();
  agent.product = texts.next();
  agent.uuid = texts.next();
}

void RawFacts::add(const format::DeviceFact& fact, uint8_t flags, Texts& texts) {
  RawDevice& device = devices.emplace_back();
  device.layer = static_cast<format::DeviceLayer>(flags);
  device.fact = fact;
  device.figures = texts.next();
  device.told = texts.next();
}

void RawFacts::add(const format::QueueFact& fact, uint8_t flags, Texts&) {
  RawQueue& queue = queues[fact.number];
  const bool is_end = static_cast<format::QueueEvent>(flags) == format::QueueEvent::kDestroyed;
  if (is_end) queue.destroyed = fact.time;
  if (!is_end || queue.fact.number == 0) queue.fact = fact;
}

void RawFacts::add(const format::CodeObjectFact& fact, uint8_t flags, Texts& texts) {
  RawCodeObject& object = code_objects[fact.number];
  if (static_cast<format::CodeObjectEvent>(flags) == format::CodeObjectEvent::kUnloaded) {
    object.unloaded = fact.time;
    return;
  }
  object.fact = fact;
  object.uri = texts.next();
  object.file = texts.next();
}

void RawFacts::add(const format::KernelFact& fact, uint8_t, Texts& texts) {
  kernels_at_[fact.kernel_object].push_back(kernels.size());
  kernels.push_back({.fact = fact, .name = std::string(texts.next())});
}

void RawFacts::add(const format::HostFunctionFact& fact, uint8_t, Texts& texts) {
  host_functions_[fact.function].push_back({.time = fact.time, .name = std::string(texts.next())});
}

void RawFacts::add(const format::ControlFact& fact, uint8_t, Texts&) { controls.push_back(fact); }

void RawFacts::add(const format::LossFact& fact, uint8_t flags, Texts& texts) {
  losses.push_back({.reason = static_cast<format::Loss>(flags),
                    .time = fact.time,
                    .count = fact.count,
                    .what = std::string(texts.next())});
}

void RawFacts::add(const format::FaultFact& fact, uint8_t, Texts& texts) {
  faults.push_back({.fact = fact, .what = std::string(texts.next())});
}

void RawFacts::add(const format::NoteFact&, uint8_t, Texts& texts) {
  notes.emplace_back(texts.next());
}

void RawFacts::add(const format::SwapFact& fact, uint8_t flags, Texts& texts) {
  RawSwap& swap = swaps.emplace_back();
  swap.event = static_cast<format::SwapEvent>(flags);
  swap.fact = fact;
  swap.file = texts.next();
  swap.reason = texts.next();
  swap.why = texts.next();
}

const RawFunction* RawFacts::function(uint32_t number) const {
  return number < by_number_.size() ? by_number_[number] : nullptr;
}

const RawAgent* RawFacts::agent(uint32_t number) const {
  const auto found = agents.find(number);
  return found == agents.end() ? nullptr : &found->second;
}

const RawQueue* RawFacts::queue(uint32_t number) const {
  const auto found = queues.find(number);
  return found == queues.end() ? nullptr : &found->second;
}

std::optional<size_t> RawFacts::kernel(uint64_t kernel_object, uint64_t time) const {
  const auto found = kernels_at_.find(kernel_object);
  if (found == kernels_at_.end()) return std::nullopt;
  // The newest that was there at the time; addresses are used again once a code object is unloaded.
  for (size_t i = found->second.size(); i-- > 1;)
    if (kernels[found->second[i]].fact.time <= time) return found->second[i];
  return found->second[0];
}

const std::string& RawFacts::host_function(uint64_t function, uint64_t time) const {
  static const std::string kNone;
  const auto found = host_functions_.find(function);
  if (found == host_functions_.end()) return kNone;
  for (size_t i = found->second.size(); i-- > 1;)
    if (found->second[i].time <= time) return found->second[i].name;
  return found->second[0].name;
}

const char* api_name(format::Api api) {
  switch (api) {
    case format::Api::kHip: return "hip";
    case format::Api::kHsa: return "hsa";
    case format::Api::kHiprtc: return "hiprtc";
    case format::Api::kRoctx: return "roctx";
    case format::Api::kOther: break;
  }
  return "other";
}

const char* loss_name(format::Loss reason) {
  switch (reason) {
    case format::Loss::kDiskFull: return "disk full";
    case format::Loss::kNoMemory: return "no memory";
    case format::Loss::kUntimed: return "untimed";
    case format::Loss::kTextTruncated: return "text truncated";
    case format::Loss::kFolder: return "session folder";
    case format::Loss::kBypassed: return "bypassed";
    case format::Loss::kOther: break;
  }
  return "other";
}

const char* memory_kind_name(format::MemoryKind kind) {
  switch (kind) {
    case format::MemoryKind::kDevice: return "device";
    case format::MemoryKind::kFineGrained: return "fine-grained";
    case format::MemoryKind::kHost: return "host";
    case format::MemoryKind::kKernarg: return "kernarg";
    case format::MemoryKind::kVirtual: return "virtual";
    case format::MemoryKind::kManaged: return "managed";
  }
  return "other";
}

}  // namespace wavetap::store
