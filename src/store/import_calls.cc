#include <algorithm>
#include <cstring>
#include <queue>
#include <span>

#include "codeobj/code_object.h"
#include "store/import_parts.h"
#include "store/live_memory.h"
#include "store/symbolize.h"

namespace wavetap::store {
namespace {

using amd::HipDoes;
using amd::HipRole;
using format::Kind;

constexpr size_t kCachedTexts = 1 << 13;
constexpr size_t kProgressCalls = 1 << 16;

// hipMemcpyKind.
constexpr int64_t kCopyToDevice = 1, kCopyToHost = 2, kCopyOnDevices = 3, kCopyByAddress = 4;

class CallImport {
 public:
  CallImport(ImportContext& import, std::vector<MemoryCall>& memory_calls)
      : import_(import),
        memory_(import.facts, import.devices, import.events.memory),
        symbols_(import.facts.images),
        cache_(kCachedTexts),
        memory_calls_(memory_calls) {}

  void run(const std::function<void(double)>& progress);

 private:
  // Where a stream's lists have been followed to.
  struct Cursor {
    size_t next = 0, owned = 0, stack = 0;
    uint32_t device = 0;  // HIP's, of the thread
  };
  using Owned = std::span<const OwnedOp>;
  struct CopyWork {
    uint64_t bytes = 0;                          // that engines moved
    const format::CopyRecord* engine = nullptr;  // the first of a copy engine
    std::vector<RawOp*> kernels;                 // of the runtime
  };
  struct CopyEnds {
    uint64_t dst = 0, src = 0;
    int64_t dst_device = -1, src_device = -1;
  };
  struct Launch {
    LaunchShape shape;
    int64_t group_bytes = 0, private_bytes = 0, name_id = 0;
  };

  void write_call(StreamEvents& stream, Cursor& at, const format::CallRecord& call, int64_t id);
  Owned link_owned(const StreamEvents& stream, Cursor& at, uint32_t call, int64_t id);
  int64_t arguments(const ImportFunction& f, const format::CallRecord& call,
                    const RecordedCall& recorded);
  const std::string& arguments_text(const ImportFunction& f, const format::CallRecord& call,
                                    const RecordedCall& recorded, bool failed);
  CopyWork copy_work(Owned owned);
  CopyEnds copy_ends(const ImportFunction& f, const format::CallRecord& call,
                     const CallWords& words, int64_t kind, const CopyWork& work);
  void write_copy(const ImportFunction& f, const format::CallRecord& call, const CallWords& words,
                  int64_t id, Owned owned);
  std::optional<Launch> launch_of(const ImportFunction& f, const format::CallRecord& call,
                                  const CallWords& words, Owned owned);
  void write_launch(const ImportFunction& f, const format::CallRecord& call, const CallWords& words,
                    int64_t id, Owned owned);
  void write_stack(const format::StackRecord& stack, const ImportFunction& f, int64_t id);
  int64_t device_of_hip(uint32_t number);
  void note_memory(const ImportFunction& f, const format::CallRecord& call, const CallWords& words,
                   MemoryCall memory);

  struct CachedText {
    const format::CallRecord* call = nullptr;
    int64_t id = 0;
  };

  ImportContext& import_;
  LiveMemory memory_;
  Symbolizer symbols_;
  std::vector<CachedText> cache_;
  std::string text_;  // of the call at hand; kept for its memory
  std::vector<MemoryCall>& memory_calls_;
};

// Threads are merged by the start of their calls, which is the order of ids.
void CallImport::run(const std::function<void(double)>& progress) {
  struct Head {
    uint64_t start;
    size_t stream;
  };
  const auto later = [](const Head& a, const Head& b) {
    return a.start != b.start ? a.start > b.start : a.stream > b.stream;
  };
  std::vector<StreamEvents>& streams = import_.events.streams;
  std::priority_queue<Head, std::vector<Head>, decltype(later)> heads(later);
  std::vector<Cursor> cursors(streams.size());
  uint64_t total = 0;
  for (size_t i = 0; i < streams.size(); ++i) {
    total += streams[i].calls.size();
    streams[i].ids.reserve(streams[i].calls.size());
    if (!streams[i].calls.empty()) heads.push({streams[i].calls[0]->start, i});
  }
  int64_t number = 0;
  while (!heads.empty()) {
    const size_t at = heads.top().stream;
    heads.pop();
    StreamEvents& stream = streams[at];
    // Calls of this thread until another thread's turn comes.
    const uint64_t until = heads.empty() ? UINT64_MAX : heads.top().start;
    size_t& next = cursors[at].next;
    do {
      stream.ids.push_back(static_cast<uint32_t>(++number));
      write_call(stream, cursors[at], *stream.calls[next], import_.id(number));
      if (progress && static_cast<size_t>(number) % kProgressCalls == 0)
        progress(static_cast<double>(number) / static_cast<double>(total));
      ++next;
    } while (next < stream.calls.size() && stream.calls[next]->start <= until);
    if (next < stream.calls.size()) heads.push({stream.calls[next]->start, at});
  }
  import_.result.events.calls += static_cast<uint64_t>(number);
}

void CallImport::write_call(StreamEvents& stream, Cursor& at, const format::CallRecord& call,
                            int64_t id) {
  const ImportFunction& f = import_.functions[call.function];
  const RecordedCall recorded(call);
  const CallWords& words = recorded.arguments();
  const int64_t start = import_.ns(call.start);
  const int64_t end = std::max(start, import_.ns(call.start + recorded.duration()));
  if (call.depth == 0) import_.result.recorded_ns += end - start;
  import_.writer.put(rows::Call{.id = id,
                                .pid = import_.pid(),
                                .tid = stream.tid,
                                .start = start,
                                .end = end,
                                .name = f.name_id,
                                .category = import_.texts.no_string(),
                                .domain = f.domain_id,
                                .args = arguments(f, call, recorded)});

  const Owned owned = link_owned(stream, at, call.call, id);
  switch (f.does) {
    case HipDoes::kCopy: write_copy(f, call, words, id, owned); break;
    case HipDoes::kGraphLaunch: break;
    case HipDoes::kAllocate:
    case HipDoes::kAllocateHost:
    case HipDoes::kFree:
      note_memory(f, call, words,
                  {.api = id,
                   .start = start,
                   .end = end,
                   .owner = {stream.number, call.call},
                   .device = device_of_hip(at.device)});
      [[fallthrough]];
    default:
      if (f.does == HipDoes::kSetDevice && call.result == 0)
        at.device = static_cast<uint32_t>(f.value(HipRole::kDevice, words).value_or(0));
      if (f.does == HipDoes::kLaunch || !owned.empty()) write_launch(f, call, words, id, owned);
  }

  while (at.stack < stream.stacks.size() && stream.stacks[at.stack]->call < call.call) ++at.stack;
  if (at.stack < stream.stacks.size() && stream.stacks[at.stack]->call == call.call)
    write_stack(*stream.stacks[at.stack++], f, id);
}

// What the GPU did for the call, and the links to it.
CallImport::Owned CallImport::link_owned(const StreamEvents& stream, Cursor& at, uint32_t call,
                                         int64_t id) {
  const std::vector<OwnedOp>& owned = stream.owned;
  while (at.owned < owned.size() && owned[at.owned].call < call) ++at.owned;
  const size_t first = at.owned;
  for (; at.owned < owned.size() && owned[at.owned].call == call; ++at.owned) {
    const RawOp& op = import_.events.ops[owned[at.owned].op];
    if (op.is_done())
      import_.writer.put(
          rows::Link{.call = id, .op = import_.id(static_cast<int64_t>(owned[at.owned].op) + 1)});
  }
  return {owned.data() + first, at.owned - first};
}

int64_t CallImport::arguments(const ImportFunction& f, const format::CallRecord& call,
                              const RecordedCall& recorded) {
  const std::span<const std::byte> bytes = recorded.recorded();
  const bool failed = f.failed(call.result);
  if (bytes.empty() && !failed) return import_.texts.no_text();
  // Loops call with the same arguments again and again; such calls share a text.
  uint64_t hash = call.function * 0x9e3779b97f4a7c15ull ^ static_cast<uint32_t>(call.result);
  for (size_t i = 0; i + 8 <= bytes.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + i, sizeof word);
    hash = (hash ^ word) * 0xff51afd7ed558ccdull, hash ^= hash >> 32;
  }
  CachedText& cached = cache_[hash % kCachedTexts];
  if (cached.call != nullptr && cached.call->function == call.function &&
      cached.call->result == call.result) {
    const RecordedCall before(*cached.call);
    if (before.recorded().size() == bytes.size() &&
        (bytes.empty() || std::memcmp(before.recorded().data(), bytes.data(), bytes.size()) == 0))
      return cached.id;
  }
  const std::string& text = arguments_text(f, call, recorded, failed);
  if (text.empty()) return import_.texts.no_text();
  cached = {&call, import_.texts.text(text)};
  return cached.id;
}

const std::string& CallImport::arguments_text(const ImportFunction& f,
                                              const format::CallRecord& call,
                                              const RecordedCall& recorded, bool failed) {
  std::string& text = text_;
  text.clear();
  if (f.raw != nullptr) append_arguments(text, f.raw->layout, recorded.arguments());
  if (!failed) return text;
  if (!text.empty()) text += " | ";
  text += "result = ";
  const std::string_view name =
      f.raw->api == format::Api::kHip      ? enum_name("hipError_t", call.result)
      : f.raw->api == format::Api::kHiprtc ? enum_name("hiprtcResult", call.result)
                                           : std::string_view();
  if (name.empty()) append_decimal(text, call.result);
  else text += name;
  return text;
}

// How the GPU did what a copy asked for.
CallImport::CopyWork CallImport::copy_work(Owned owned) {
  CopyWork work;
  for (const OwnedOp& o : owned) {
    RawOp& op = import_.events.ops[o.op];
    if (op.kind() == Kind::kCopy) {
      const auto& copy = op.as<format::CopyRecord>();
      work.bytes += copy.bytes;
      if (work.engine == nullptr) work.engine = &copy;
    } else if (op.kind() == Kind::kDispatch) {
      const ImportKernel* k = import_.kernel(op.as<format::DispatchRecord>());
      if (k != nullptr && k->use == KernelUseKind::kCopy) work.kernels.push_back(&op);
    }
  }
  return work;
}

// Who holds both ends: the copy engine was told; otherwise the addresses say it, the device whose
// kernel did it where the memory was there before the recording, and above all the call itself.
CallImport::CopyEnds CallImport::copy_ends(const ImportFunction& f, const format::CallRecord& call,
                                           const CallWords& words, int64_t kind,
                                           const CopyWork& work) {
  CopyEnds ends;
  ends.dst = f.value(HipRole::kDst, words).value_or(0);
  ends.src = f.value(HipRole::kSrc, words).value_or(0);
  if (work.engine != nullptr) {
    if (ends.dst == 0) ends.dst = work.engine->destination;
    if (ends.src == 0) ends.src = work.engine->source;
    ends.dst_device = import_.device_of_agent(work.engine->destination_agent);
    ends.src_device = import_.device_of_agent(work.engine->source_agent);
  } else {
    memory_.advance_to(call.start);
    ends.dst_device = memory_.device_of(ends.dst);
    ends.src_device = memory_.device_of(ends.src);
  }
  if (!work.kernels.empty()) {
    const auto& dispatch = work.kernels.front()->as<format::DispatchRecord>();
    const int64_t here = import_.lanes.device_of_queue(dispatch.queue);
    if (kind == kCopyByAddress && ends.dst_device < 0 && ends.src_device < 0)
      ends.dst_device = ends.src_device = here;
    if (ends.dst_device < 0 && (kind == kCopyToDevice || kind == kCopyOnDevices))
      ends.dst_device = here;
    if (ends.src_device < 0 && (kind == kCopyToHost || kind == kCopyOnDevices))
      ends.src_device = here;
  }
  if (const auto device = f.value(HipRole::kDstDevice, words))
    ends.dst_device = static_cast<int32_t>(*device);
  if (const auto device = f.value(HipRole::kSrcDevice, words))
    ends.src_device = static_cast<int32_t>(*device);
  return ends;
}

void CallImport::write_copy(const ImportFunction& f, const format::CallRecord& call,
                            const CallWords& words, int64_t id, Owned owned) {
  const CopyWork work = copy_work(owned);
  if (words.bytes().empty() && work.engine == nullptr) return;
  const auto kind = static_cast<int32_t>(f.value(HipRole::kKind, words).value_or(kCopyByAddress));
  const CopyEnds ends = copy_ends(f, call, words, kind, work);
  for (RawOp* op : work.kernels) op->type = copy_type(kind, ends.dst_device, ends.src_device);
  const auto bytes = static_cast<int64_t>(f.bytes(words).value_or(work.bytes));
  import_.writer.put(rows::CopyCall{.call = id,
                                    .stream = f.value(HipRole::kStream, words).value_or(0),
                                    .size = std::max<int64_t>(bytes, 0),
                                    .width = f.value(HipRole::kWidth, words).value_or(0),
                                    .height = f.value(HipRole::kHeight, words).value_or(0),
                                    .kind = kind,
                                    .dst = ends.dst,
                                    .src = ends.src,
                                    .dst_device = ends.dst_device,
                                    .src_device = ends.src_device,
                                    .sync = f.has(amd::kBlocking),
                                    .pinned = false});
}

// What was launched: the program's first kernel of the call, or, when nothing came of it that was
// seen, what the arguments say.
std::optional<CallImport::Launch> CallImport::launch_of(const ImportFunction& f,
                                                        const format::CallRecord& call,
                                                        const CallWords& words, Owned owned) {
  Launch launch;
  for (const OwnedOp& o : owned) {
    const RawOp& op = import_.events.ops[o.op];
    if (op.kind() != Kind::kDispatch) continue;
    const auto& dispatch = op.as<format::DispatchRecord>();
    const ImportKernel* k = import_.kernel(dispatch);
    if (k != nullptr && k->is_internal()) continue;
    for (size_t i = 0; i < 3; ++i) launch.shape.grid[i] = dispatch.grid[i];
    for (size_t i = 0; i < 3; ++i) launch.shape.workgroup[i] = dispatch.workgroup[i];
    launch.group_bytes = dispatch.group_bytes;
    launch.private_bytes = dispatch.private_bytes;
    launch.name_id =
        k != nullptr ? k->name_id : import_.texts.string(import_.kernel_name(dispatch));
    return launch;
  }
  const std::optional<uint64_t> target = f.value(HipRole::kFunction, words);
  if (f.does != HipDoes::kLaunch || !target || call.result != 0) return std::nullopt;
  const std::string& device_name = import_.facts.host_function(*target, call.start);
  if (device_name.empty()) return std::nullopt;
  launch.shape = f.shape(words);
  launch.group_bytes = static_cast<int64_t>(f.value(HipRole::kLds, words).value_or(0));
  launch.name_id = import_.texts.string(codeobj::demangle(device_name));
  return launch;
}

void CallImport::write_launch(const ImportFunction& f, const format::CallRecord& call,
                              const CallWords& words, int64_t id, Owned owned) {
  const std::optional<Launch> launch = launch_of(f, call, words, owned);
  if (!launch) return;
  // Workgroups, as the program asked for them, whatever unit its launch function counts in.
  const auto& workgroup = launch->shape.workgroup;
  std::array<uint32_t, 3> grid{};
  for (size_t i = 0; i < 3; ++i)
    if (workgroup[i] != 0)
      grid[i] = static_cast<uint32_t>((launch->shape.grid[i] + workgroup[i] - 1) / workgroup[i]);
  import_.writer.put(rows::LaunchCall{.call = id,
                                      .stream = f.value(HipRole::kStream, words).value_or(0),
                                      .grid_x = grid[0],
                                      .grid_y = grid[1],
                                      .grid_z = grid[2],
                                      .workgroup_x = workgroup[0],
                                      .workgroup_y = workgroup[1],
                                      .workgroup_z = workgroup[2],
                                      .group_bytes = launch->group_bytes,
                                      .private_bytes = launch->private_bytes,
                                      .kernel = launch->name_id});
}

void CallImport::write_stack(const format::StackRecord& stack, const ImportFunction& f,
                             int64_t id) {
  const size_t room = (size_t{stack.header.words} * 8 - sizeof stack) / 8;
  const size_t frames = std::min<size_t>(stack.frames, room);
  const auto* addresses = reinterpret_cast<const uint64_t*>(&stack + 1);
  // The call itself, then who called it.
  for (size_t depth = 0; depth <= frames; ++depth)
    import_.writer.put(rows::StackFrame{
        .api = id,
        .depth = depth,
        .name =
            depth == 0 ? f.name_id : import_.texts.string(symbols_.name(addresses[depth - 1]))});
}

// GPUs as HIP counts them are those that HSA shows, in order.
int64_t CallImport::device_of_hip(uint32_t number) {
  for (const auto& [id, agent] : import_.facts.agents)
    if (agent.fact.is_gpu != 0 && agent.fact.gpu_index == number) return import_.devices.id(&agent);
  return 0;
}

// Only what the program asked for itself: calls inside calls are the runtime's way of doing it.
void CallImport::note_memory(const ImportFunction& f, const format::CallRecord& call,
                             const CallWords& words, MemoryCall memory) {
  if (call.depth != 0 || call.result != 0) return;
  memory.is_free = f.does == HipDoes::kFree;
  if (f.does == HipDoes::kAllocateHost) memory.device = -1;
  memory.pointer = f.value(HipRole::kPointer, words).value_or(0);
  if (!memory.is_free) memory.bytes = f.bytes(words).value_or(0);
  memory_calls_.push_back(memory);
}

}  // namespace

std::vector<MemoryCall> import_calls(ImportContext& import,
                                     const std::function<void(double)>& progress) {
  std::vector<MemoryCall> memory_calls;
  CallImport(import, memory_calls).run(progress);
  return memory_calls;
}

}  // namespace wavetap::store
