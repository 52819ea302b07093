#include "store/raw_facts.h"

namespace wavetap::store {

using format::Kind;
using format::TextCursor;

void RawFacts::take(const format::Record& record) {
  switch (record.header.kind) {
    case Kind::kProcess:
      if (const auto* fact = record.as<format::ProcessFact>()) {
        has_process_ = true;
        process_ = *fact;
        TextCursor texts(record.after<format::ProcessFact>());
        executable = texts.next();
        command = texts.next();
        hostname = texts.next();
        boot_id = texts.next();
        agent_version = texts.next();
      }
      break;
    case Kind::kThread:
      if (const auto* fact = record.as<format::ThreadFact>())
        threads.push_back({fact->stream, fact->tid, fact->time,
                           std::string(TextCursor(record.after<format::ThreadFact>()).next())});
      break;
    case Kind::kClockSample:
      if (const auto* fact = record.as<format::ClockSampleFact>()) clock.add(*fact);
      break;
    case Kind::kFunction:
      if (const auto* fact = record.as<format::FunctionFact>();
          fact != nullptr && fact->number <= UINT16_MAX) {
        TextCursor texts(record.after<format::FunctionFact>());
        RawFunction& function = functions[fact->number];
        function.name = texts.next();
        function.api = static_cast<format::Api>(record.header.flags);
        function.result_type = fact->result_type;
        function.layout = CallLayout::parse(texts.next());
        if (by_number_.size() <= fact->number) by_number_.resize(fact->number + 1);
        by_number_[fact->number] = &function;
      }
      break;
    case Kind::kLibrary:
      if (const auto* fact = record.as<format::LibraryFact>()) {
        TextCursor texts(record.after<format::LibraryFact>());
        RawLibrary library{
            static_cast<format::LibraryEvent>(record.header.flags), fact->time, {}, {}, {}, {}};
        library.path = texts.next();
        library.soname = texts.next();
        library.build_id = texts.next();
        library.answers_for = texts.next();
        libraries.push_back(std::move(library));
      }
      break;
    case Kind::kImage:
      if (const auto* fact = record.as<format::ImageFact>())
        images.push_back(
            {*fact, std::string(TextCursor(record.after<format::ImageFact>()).next())});
      break;
    case Kind::kAgent:
      if (const auto* fact = record.as<format::AgentFact>()) {
        TextCursor texts(record.after<format::AgentFact>());
        RawAgent& agent = agents[fact->number];
        agent.fact = *fact;
        agent.name = texts.next();
        agent.product = texts.next();
        agent.uuid = texts.next();
      }
      break;
    case Kind::kDevice:
      if (const auto* fact = record.as<format::DeviceFact>()) {
        TextCursor texts(record.after<format::DeviceFact>());
        RawDevice device{static_cast<format::DeviceLayer>(record.header.flags), *fact, {}, {}};
        device.figures = texts.next();
        device.told = texts.next();
        devices.push_back(std::move(device));
      }
      break;
    case Kind::kQueue:
      if (const auto* fact = record.as<format::QueueFact>()) {
        RawQueue& queue = queues[fact->number];
        if (record.header.flags == 2) queue.destroyed = fact->time;
        if (record.header.flags != 2 || queue.fact.number == 0) queue.fact = *fact;
      }
      break;
    case Kind::kCodeObject:
      if (const auto* fact = record.as<format::CodeObjectFact>()) {
        RawCodeObject& object = code_objects[fact->number];
        if (record.header.flags == 2) {
          object.unloaded = fact->time;
          break;
        }
        TextCursor texts(record.after<format::CodeObjectFact>());
        object.fact = *fact;
        object.uri = texts.next();
        object.file = texts.next();
      }
      break;
    case Kind::kKernel:
      if (const auto* fact = record.as<format::KernelFact>()) {
        kernels_at_[fact->kernel_object].push_back(kernels.size());
        kernels.push_back(
            {*fact, std::string(TextCursor(record.after<format::KernelFact>()).next())});
      }
      break;
    case Kind::kHostFunction:
      if (const auto* fact = record.as<format::HostFunctionFact>())
        host_functions_[fact->function].push_back(
            {fact->time, std::string(TextCursor(record.after<format::HostFunctionFact>()).next())});
      break;
    case Kind::kControl:
      if (const auto* fact = record.as<format::ControlFact>()) controls.push_back(*fact);
      break;
    case Kind::kLoss:
      if (const auto* fact = record.as<format::LossFact>())
        losses.push_back({static_cast<format::Loss>(record.header.flags), fact->time, fact->count,
                          std::string(TextCursor(record.after<format::LossFact>()).next())});
      break;
    case Kind::kFault:
      if (const auto* fact = record.as<format::FaultFact>())
        faults.push_back(
            {*fact, std::string(TextCursor(record.after<format::FaultFact>()).next())});
      break;
    case Kind::kNote:
      if (record.as<format::NoteFact>() != nullptr)
        notes.emplace_back(TextCursor(record.after<format::NoteFact>()).next());
      break;
    default:
      // Completions and other events may be written to stream 0 too; whoever reads it takes them.
      if (static_cast<uint8_t>(record.header.kind) > static_cast<uint8_t>(Kind::kDevice))
        ++unknown_records;
      break;
  }
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
