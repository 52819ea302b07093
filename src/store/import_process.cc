#include "store/import_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <queue>

#include "codeobj/code_object.h"
#include "store/import_clock.h"
#include "store/import_device_figures.h"
#include "store/queue_order.h"
#include "store/schema.h"

namespace wavetap::store {

using format::Kind;

namespace {

constexpr size_t kCachedTexts = 1 << 13;
constexpr size_t kProgressCalls = 1 << 16;

// Kernels ROCm's runtime launches on its own account.
constexpr std::string_view kRuntimePrefix = "__amd_rocclr_";

constexpr const char* kCopyTypes[] = {"CopyHostToHost", "CopyHostToDevice", "CopyDeviceToHost",
                                      "CopyDeviceToDevice"};

std::string hex(uint64_t value) {
  std::string out;
  append_hex(out, value);
  return out;
}

// A kernel whose code object was loaded before the recorder could see it.
std::string unnamed_kernel(uint64_t kernel_object) {
  std::string out = "kernel ";
  append_hex(out, kernel_object);
  return out;
}

const char* control_name(format::Control event) {
  switch (event) {
    case format::Control::kStarted: return "started";
    case format::Control::kStopped: return "stopped";
    case format::Control::kFlushed: return "flushed";
    case format::Control::kExited: return "exited";
    case format::Control::kForked: return "forked";
  }
  return "other";
}

const char* library_event_name(format::LibraryEvent event) {
  switch (event) {
    case format::LibraryEvent::kStartup: return "startup";
    case format::LibraryEvent::kOpened: return "opened";
    case format::LibraryEvent::kClosed: return "closed";
  }
  return "other";
}

}  // namespace

// --- ImportDevices

int64_t ImportDevices::id(const RawAgent* agent) {
  if (agent == nullptr || agent->fact.is_gpu == 0) return -1;
  const auto same = [&](const RawAgent& other) {
    return other.fact.driver_node == agent->fact.driver_node && other.fact.bdf == agent->fact.bdf &&
           other.uuid == agent->uuid && other.name == agent->name;
  };
  for (const auto& [id, device] : devices)
    if (same(device.agent)) return id;
  int64_t id = agent->fact.gpu_index;
  while (devices.contains(id)) ++id;
  devices[id].agent = *agent;
  return id;
}

// --- ProcessImport

ProcessImport::ProcessImport(ImportFile& file, ImportDevices& devices, ImportResult& result,
                             int64_t session, std::string folder)
    : file_(file),
      devices_(devices),
      result_(result),
      session_(session),
      offset_(session << kSessionShift),
      folder_(std::move(folder)),
      strings_(session << kSessionShift),
      cache_(kCachedTexts) {}

void ProcessImport::run(const format::ProcessStreams& streams, uint64_t raw_bytes,
                        const std::function<void(double)>& progress) {
  facts_ = std::make_unique<RawFacts>(streams.id);
  events_.id_limit = raw_bytes / sizeof(format::CompleteRecord) + 1;
  if (format::StreamReader* facts = streams.facts()) {
    format::Record record;
    while (facts->next(record)) {
      facts_->take(record);
      events_.take_operation(record);
    }
  }
  if (!streams.streams.empty())
    facts_->clock.set_frequency(streams.streams.back()->clock(), facts_->process().clock_hz);
  events_.read(streams, *facts_);
  find_clock_rate(*facts_, events_);
  if (progress) progress(0.3);
  code_ = std::make_unique<KernelCode>(*facts_, folder_);
  symbols_ = std::make_unique<Symbolizer>(*facts_);
  empty_id_ = strings_.id("");
  add_ustring("");
  first_ns_ = ns(events_.first_time == UINT64_MAX ? events_.last_time : events_.first_time);
  last_ns_ = ns(events_.last_time);

  prepare_kernels();
  find_owners_by_order();
  write_calls(progress);
  write_markers();
  write_operations();
  write_memory();
  write_facts();
  write_unseen();
  strings_.write(*file_.string);
}

int64_t ProcessImport::add_ustring(std::string_view text) {
  const int64_t id = offset_ + ++ustrings_;
  file_.ustring->begin(id);
  file_.ustring->null();
  file_.ustring->text(text);
  file_.ustring->end();
  return id;
}

const ProcessImport::Function& ProcessImport::function(uint32_t number) {
  if (number < by_number_.size() && by_number_[number] != nullptr) return *by_number_[number];
  Function& out = functions_[number];
  out.raw = facts_->function(number);
  if (by_number_.size() <= number) by_number_.resize(number + 1);
  by_number_[number] = &out;
  if (out.raw == nullptr) {
    out.name_id = strings_.id(fmt::format("function {}", number));
    out.domain_id = empty_id_;
    return out;
  }
  const std::string_view name = out.raw->name;
  const CallLayout& layout = out.raw->layout;
  out.name_id = strings_.id(name);
  out.domain_id = strings_.id(api_name(out.raw->api));
  out.is_graph_launch = name.starts_with("hipGraphLaunch");
  out.is_copy = name.starts_with("hipMemcpy") || name.starts_with("hipDrvMemcpy");
  out.is_launch =
      !out.is_copy && name.find("Launch") != std::string_view::npos && !out.is_graph_launch;
  out.synchronous = name.find("Async") == std::string_view::npos;
  out.fixed_kind =
      name.find("HtoD") != std::string_view::npos   ? 1
      : name.find("DtoH") != std::string_view::npos ? 2
      : name.find("DtoD") != std::string_view::npos || name.find("Peer") != std::string_view::npos
          ? 3
          : 4;
  out.stream = layout.word_of({"stream", "hStream", "streamId"});
  out.dst = layout.word_of({"dst", "dstDevice_ptr", "symbol"});
  out.src = layout.word_of({"src", "symbol"});
  out.size = layout.word_of({"sizeBytes", "ByteCount", "count", "size"});
  out.width = layout.word_of({"width"});
  out.height = layout.word_of({"height"});
  out.kind = layout.word_of({"kind"});
  out.dst_device = layout.word_of({"dstDeviceId", "dstDevice"});
  out.src_device = layout.word_of({"srcDeviceId", "srcDevice"});
  out.function = layout.word_of({"function_address", "hostFunction", "func", "f", "hostFun"});
  out.grid = layout.word_of({"numBlocks", "gridDim", "gridDimX", "globalWorkSizeX"});
  out.block =
      layout.word_of({"dimBlocks", "blockDim", "blockDimX", "localWorkSizeX", "blockDimX_"});
  out.shared = layout.word_of({"sharedMemBytes", "sharedMem"});
  return out;
}

void ProcessImport::prepare_kernels() {
  kernels_.resize(facts_->kernels.size());
  for (auto& [number, object] : facts_->code_objects) {
    code_object_ids_[number] = session_ * 1'000'000 + number;
    file_.add("wavetap_code_object",
              {code_object_ids_[number], pid(), devices_.id(facts_->agent(object.fact.agent)),
               code_->target(number), object.uri, static_cast<int64_t>(object.fact.bytes),
               hex(object.fact.load_base), ns(object.fact.time),
               object.unloaded == 0 ? ImportFile::Cell() : ImportFile::Cell(ns(object.unloaded))});
  }
  for (size_t i = 0; i < kernels_.size(); ++i) {
    const RawKernel& raw = facts_->kernels[i];
    Kernel& kernel = kernels_[i];
    kernel.id = session_ * 1'000'000 + static_cast<int64_t>(i) + 1;
    const std::string name = codeobj::demangle(raw.name);
    kernel.name_id = strings_.id(name);
    kernel.internal = raw.name.starts_with(kRuntimePrefix);
    if (kernel.internal) {
      const std::string_view rest = std::string_view(raw.name).substr(kRuntimePrefix.size());
      kernel.fixed_type = rest.starts_with("fill")   ? kFillType
                          : rest.starts_with("copy") ? nullptr
                                                     : "RuntimeKernel";
    }
    const codeobj::Kernel* code = code_->find(raw);
    const auto known = [&](uint64_t value) {
      return code == nullptr ? ImportFile::Cell() : ImportFile::Cell(static_cast<int64_t>(value));
    };
    const auto object = code_object_ids_.find(raw.fact.code_object);
    file_.add(
        "wavetap_kernel",
        {kernel.id, pid(),
         object == code_object_ids_.end() ? ImportFile::Cell() : ImportFile::Cell(object->second),
         name, raw.name, int64_t{kernel.internal}, known(code ? code->vgpr_count : 0),
         known(code ? code->agpr_count : 0), known(code ? code->sgpr_count : 0),
         known(code ? code->vgpr_spill_count : 0), known(code ? code->sgpr_spill_count : 0),
         int64_t{raw.fact.group_bytes}, int64_t{raw.fact.private_bytes},
         int64_t{raw.fact.kernarg_bytes}, known(code ? code->wave_size : 0)});
  }
}

const ProcessImport::Kernel* ProcessImport::kernel(const format::DispatchRecord& dispatch) {
  const std::optional<size_t> index = facts_->kernel(dispatch.kernel_object, dispatch.time);
  return index ? &kernels_[*index] : nullptr;
}

// --- calls

void ProcessImport::write_calls(const std::function<void(double)>& progress) {
  struct Head {
    uint64_t start;
    size_t stream;
  };
  const auto later = [](const Head& a, const Head& b) {
    return a.start != b.start ? a.start > b.start : a.stream > b.stream;
  };
  std::priority_queue<Head, std::vector<Head>, decltype(later)> heads(later);
  std::vector<size_t> next(events_.streams.size()), owned(events_.streams.size()),
      stacks(events_.streams.size());
  uint64_t total = 0;
  for (size_t i = 0; i < events_.streams.size(); ++i) {
    StreamEvents& stream = events_.streams[i];
    total += stream.calls.size();
    stream.ids.reserve(stream.calls.size());
    if (!stream.calls.empty()) heads.push({stream.calls[0]->start, i});
  }
  int64_t id = 0;
  while (!heads.empty()) {
    const size_t at = heads.top().stream;
    heads.pop();
    StreamEvents& stream = events_.streams[at];
    // Calls of this thread until another thread's turn comes.
    const uint64_t until = heads.empty() ? UINT64_MAX : heads.top().start;
    size_t& i = next[at];
    do {
      stream.ids.push_back(static_cast<uint32_t>(++id));
      write_call(stream, *stream.calls[i], offset_ + id, owned[at], stacks[at]);
      if (progress && static_cast<size_t>(id) % kProgressCalls == 0)
        progress(0.3 + 0.5 * static_cast<double>(id) / static_cast<double>(total));
      ++i;
    } while (i < stream.calls.size() && stream.calls[i]->start <= until);
    if (i < stream.calls.size()) heads.push({stream.calls[i]->start, at});
  }
  result_.calls += static_cast<uint64_t>(id);
}

void ProcessImport::write_call(StreamEvents& stream, const format::CallRecord& call, int64_t id,
                               size_t& owned_at, size_t& stack_at) {
  const Function& f = function(call.function);
  const RecordedCall recorded(call);
  const CallWords& words = recorded.arguments();
  const int64_t start = ns(call.start), end = std::max(start, ns(call.start + recorded.duration()));
  if (call.depth == 0) result_.recorded_ns += end - start;
  BulkTable& api = *file_.api;
  api.begin(id);
  api.null();
  api.integer(pid());
  api.integer(stream.tid);
  api.integer(start);
  api.integer(end);
  api.integer(f.name_id);
  api.integer(empty_id_);
  api.integer(f.domain_id);
  api.integer(arguments(f, call, recorded));
  api.end();

  while (owned_at < stream.owned.size() && stream.owned[owned_at].call < call.call) ++owned_at;
  const size_t first = owned_at;
  while (owned_at < stream.owned.size() && stream.owned[owned_at].call == call.call) {
    const RawOp& op = events_.ops[stream.owned[owned_at].op];
    if (op.complete || op.untimed()) {
      file_.api_ops->begin(static_cast<int64_t>(file_.api_ops->rows()) + 1);
      file_.api_ops->null();
      file_.api_ops->integer(id);
      file_.api_ops->integer(offset_ + static_cast<int64_t>(stream.owned[owned_at].op) + 1);
      file_.api_ops->end();
    }
    ++owned_at;
  }
  const std::span<const OwnedOp> owned(stream.owned.data() + first, owned_at - first);
  if (f.is_copy) write_copy(f, words, id, owned);
  else if (!f.is_graph_launch && (f.is_launch || !owned.empty()))
    write_launch(f, words, call, id, owned);

  while (stack_at < stream.stacks.size() && stream.stacks[stack_at]->call < call.call) ++stack_at;
  if (stack_at < stream.stacks.size() && stream.stacks[stack_at]->call == call.call)
    write_stack(*stream.stacks[stack_at++], f, id);
}

int64_t ProcessImport::arguments(const Function& f, const format::CallRecord& call,
                                 const RecordedCall& recorded) {
  const std::span<const std::byte> bytes = recorded.recorded();
  const bool failed = call.result != 0 && f.raw != nullptr && f.raw->result_type == 0;
  if (bytes.empty() && !failed) return offset_ + 1;
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
  text_.clear();
  if (f.raw != nullptr) append_arguments(text_, f.raw->layout, recorded.arguments());
  if (failed) {
    if (!text_.empty()) text_ += " | ";
    text_ += "result = ";
    const std::string_view name =
        f.raw->api == format::Api::kHip      ? enum_name("hipError_t", call.result)
        : f.raw->api == format::Api::kHiprtc ? enum_name("hiprtcResult", call.result)
                                             : std::string_view();
    if (name.empty()) append_decimal(text_, call.result);
    else text_ += name;
  }
  if (text_.empty()) return offset_ + 1;
  cached = {&call, add_ustring(text_)};
  return cached.id;
}

void ProcessImport::write_copy(const Function& f, const CallWords& words, int64_t id,
                               std::span<const OwnedOp> owned) {
  int64_t bytes = 0, dst_device = -1, src_device = -1;
  uint64_t dst = words.at(f.dst).value_or(0), src = words.at(f.src).value_or(0);
  int64_t kind =
      static_cast<int32_t>(words.at(f.kind).value_or(static_cast<uint64_t>(f.fixed_kind)));
  bool moved = false;
  for (const OwnedOp& o : owned) {
    const RawOp& op = events_.ops[o.op];
    if (op.kind() != Kind::kCopy) continue;
    const auto& copy = op.as<format::CopyRecord>();
    bytes += static_cast<int64_t>(copy.bytes);
    if (!moved) {
      dst_device = devices_.id(facts_->agent(copy.destination_agent));
      src_device = devices_.id(facts_->agent(copy.source_agent));
      if (dst == 0) dst = copy.destination;
      if (src == 0) src = copy.source;
    }
    moved = true;
  }
  // A copy by the runtime's own kernels is what the call says, or by default within the device.
  for (const OwnedOp& o : owned) {
    RawOp& op = events_.ops[o.op];
    if (op.kind() != Kind::kDispatch) continue;
    const Kernel* k = kernel(op.as<format::DispatchRecord>());
    if (k != nullptr && k->internal && k->fixed_type == nullptr)
      op.type_id = strings_.id(kCopyTypes[kind >= 0 && kind <= 3 ? kind : 3]);
  }
  const std::optional<uint64_t> size = words.at(f.size), width = words.at(f.width),
                                height = words.at(f.height);
  if (size) bytes = static_cast<int64_t>(*size);
  else if (width && height) bytes = static_cast<int64_t>(*width * *height);
  if (words.bytes().empty() && !moved) return;
  if (const auto device = words.at(f.dst_device)) dst_device = static_cast<int32_t>(*device);
  if (const auto device = words.at(f.src_device)) src_device = static_cast<int32_t>(*device);
  BulkTable& table = *file_.copyapi;
  table.begin(static_cast<int64_t>(table.rows()) + 1);
  table.integer(id);
  table.text(hex(words.at(f.stream).value_or(0)));
  table.integer(std::max<int64_t>(bytes, 0));
  table.integer(static_cast<int64_t>(width.value_or(0)));
  table.integer(static_cast<int64_t>(height.value_or(0)));
  table.integer(kind);
  table.text(hex(dst));
  table.text(hex(src));
  table.integer(dst_device);
  table.integer(src_device);
  table.integer(f.synchronous ? 1 : 0);
  table.integer(0);
  table.end();
}

void ProcessImport::write_launch(const Function& f, const CallWords& words,
                                 const format::CallRecord& call, int64_t id,
                                 std::span<const OwnedOp> owned) {
  const format::DispatchRecord* dispatch = nullptr;
  int64_t name_id = 0;
  for (const OwnedOp& o : owned) {
    const RawOp& op = events_.ops[o.op];
    if (op.kind() != Kind::kDispatch) continue;
    const Kernel* k = kernel(op.as<format::DispatchRecord>());
    if (k != nullptr && k->internal) continue;
    dispatch = &op.as<format::DispatchRecord>();
    name_id = k != nullptr ? k->name_id : strings_.id(unnamed_kernel(dispatch->kernel_object));
    break;
  }
  uint32_t grid[3] = {0, 0, 0}, block[3] = {0, 0, 0};
  int64_t group = 0, scratch = 0;
  if (dispatch != nullptr) {
    // Workgroups, as the program asked for them, whatever unit its launch function counts in.
    for (int i = 0; i < 3; ++i) {
      block[i] = dispatch->workgroup[i];
      grid[i] =
          block[i] == 0
              ? 0
              : static_cast<uint32_t>((uint64_t{dispatch->grid[i]} + block[i] - 1) / block[i]);
    }
    group = dispatch->group_bytes;
    scratch = dispatch->private_bytes;
  } else {
    // Launched, but nothing came of it that was seen: what the arguments say.
    const std::optional<uint64_t> target = words.at(f.function);
    if (!f.is_launch || !target || call.result != 0) return;
    const std::string& device_name = facts_->host_function(*target, call.start);
    if (device_name.empty()) return;
    name_id = strings_.id(codeobj::demangle(device_name));
    const LaunchShape shape = shape_asked(f, words);
    for (size_t i = 0; i < 3; ++i) {
      block[i] = shape.workgroup[i];
      grid[i] =
          block[i] == 0 ? 0 : static_cast<uint32_t>((shape.grid[i] + block[i] - 1) / block[i]);
    }
    group = static_cast<int64_t>(words.at(f.shared).value_or(0));
  }
  BulkTable& table = *file_.kernelapi;
  table.begin(static_cast<int64_t>(table.rows()) + 1);
  table.integer(id);
  text_.clear();
  append_hex(text_, words.at(f.stream).value_or(0));
  table.text(text_);
  for (const uint32_t n : grid) table.integer(n);
  for (const uint32_t n : block) table.integer(n);
  table.integer(group);
  table.integer(scratch);
  table.integer(name_id);
  table.end();
}

LaunchShape ProcessImport::shape_asked(const Function& f, const CallWords& words) {
  const auto three = [&](std::optional<size_t> word, bool packed) {
    std::array<uint32_t, 3> out{};
    for (size_t i = 0; word && i < 3; ++i) {
      const uint64_t value = words.at(*word + (packed ? i / 2 : i)).value_or(0);
      out[i] = static_cast<uint32_t>(packed && i == 1 ? value >> 32 : value);
    }
    return out;
  };
  const CallLayout& layout = f.raw->layout;
  const bool packed = layout.word_of({"numBlocks", "gridDim"}).has_value();
  const bool in_work_items = layout.word_of("globalWorkSizeX").has_value();
  LaunchShape shape;
  shape.workgroup = three(f.block, packed);
  const std::array<uint32_t, 3> grid = three(f.grid, packed);
  for (size_t i = 0; i < 3; ++i)
    shape.grid[i] = uint64_t{grid[i]} * (in_work_items ? 1 : shape.workgroup[i]);
  return shape;
}

void ProcessImport::write_stack(const format::StackRecord& stack, const Function& f, int64_t id) {
  const size_t room = (size_t{stack.header.words} * 8 - sizeof stack) / 8;
  const size_t frames = std::min<size_t>(stack.frames, room);
  const auto* addresses = reinterpret_cast<const uint64_t*>(&stack + 1);
  for (size_t depth = 0; depth <= frames; ++depth) {
    BulkTable& table = *file_.stackframe;
    table.begin(static_cast<int64_t>(table.rows()) + 1);
    table.null();
    table.integer(id);
    table.integer(static_cast<int64_t>(depth));
    // The call itself, then who called it.
    table.integer(depth == 0 ? f.name_id : strings_.id(symbols_->name(addresses[depth - 1])));
    table.end();
  }
}

// --- markers

void ProcessImport::write_markers() {
  const int64_t user_marker = strings_.id("UserMarker");
  int64_t id = offset_ + kFirstMarkerId;
  for (const MarkerEvent& marker : events_.markers) {
    int64_t name = user_marker, domain = user_marker, category = empty_id_;
    if (marker.named) {
      name = strings_.id(marker.category);
      if (!marker.domain.empty()) domain = strings_.id(marker.domain);
    } else {
      // NVTX-style domains and categories have their place in the category column.
      text_ = marker.domain;
      if (!text_.empty() && !marker.category.empty()) text_ += '/';
      text_ += marker.category;
      category = strings_.id(text_);
    }
    const int64_t args = marker.message.empty() ? offset_ + 1 : add_ustring(marker.message);
    const int64_t start = ns(marker.start);
    BulkTable& api = *file_.api;
    api.begin(id++);
    api.null();
    api.integer(pid());
    api.integer(marker.tid);
    api.integer(start);
    api.integer(std::max(start, ns(marker.end)));
    api.integer(name);
    api.integer(category);
    api.integer(domain);
    api.integer(args);
    api.end();
  }
  result_.markers += events_.markers.size();
  if (events_.unmatched_pops > 0)
    result_.notes.push_back(fmt::format("process {}: {} marker ends without a beginning", pid(),
                                        events_.unmatched_pops));
}

// --- GPU work

int64_t ProcessImport::device_of_queue(uint32_t queue) {
  const RawQueue* raw = facts_->queue(queue);
  return raw == nullptr ? 0 : std::max<int64_t>(devices_.id(facts_->agent(raw->fact.agent)), 0);
}

int64_t ProcessImport::lane(uint32_t queue) {
  const auto [at, added] = lanes_.try_emplace(queue, 0);
  if (!added) return at->second;
  at->second = devices_.next_lane();
  const RawQueue* raw = facts_->queue(queue);
  file_.add("wavetap_queue",
            {at->second, pid(), device_of_queue(queue), std::string("compute"),
             raw == nullptr ? ImportFile::Cell() : hex(raw->fact.address),
             raw == nullptr ? ImportFile::Cell() : int64_t{raw->fact.size},
             raw == nullptr ? ImportFile::Cell() : ns(raw->fact.time),
             raw == nullptr || raw->destroyed == 0 ? ImportFile::Cell() : ns(raw->destroyed)});
  return at->second;
}

int64_t ProcessImport::copy_lane(int64_t device, const char* direction) {
  const auto [at, added] = copy_lanes_.try_emplace({device, direction}, 0);
  if (!added) return at->second;
  at->second = devices_.next_lane();
  file_.add("wavetap_queue", {at->second, pid(), device, std::string(direction), {}, {}, {}, {}});
  return at->second;
}

const char* ProcessImport::copy_direction(const format::CopyRecord& copy, int64_t& device) {
  const int64_t to = devices_.id(facts_->agent(copy.destination_agent)),
                from = devices_.id(facts_->agent(copy.source_agent));
  if (static_cast<format::CopyKind>(copy.header.flags) == format::CopyKind::kFill) {
    device = std::max<int64_t>(to, 0);
    return "FillBuffer";
  }
  device = to >= 0 ? to : std::max<int64_t>(from, 0);
  return kCopyTypes[(from >= 0 ? 2 : 0) + (to >= 0 ? 1 : 0)];
}

int64_t ProcessImport::api_of(format::Owner owner) const {
  const auto found = events_.stream_index.find(owner.stream);
  if (owner.call == 0 || found == events_.stream_index.end()) return 0;
  const StreamEvents& stream = events_.streams[found->second];
  const auto at = std::lower_bound(stream.calls.begin(), stream.calls.end(), owner.call,
                                   [](const auto* call, uint32_t n) { return call->call < n; });
  if (at == stream.calls.end() || (*at)->call != owner.call) return 0;
  return offset_ + stream.ids[static_cast<size_t>(at - stream.calls.begin())];
}

void ProcessImport::write_operations() {
  for (size_t i = 0; i < events_.ops.size(); ++i) {
    const RawOp& op = events_.ops[i];
    if (op.record == nullptr) continue;
    if (!op.complete && !op.untimed()) {
      write_inflight(op);
      continue;
    }
    const int64_t id = offset_ + static_cast<int64_t>(i) + 1;
    int64_t device = 0, queue = 0, sequence = 0, description = empty_id_, type = empty_id_;
    uint64_t submitted = 0;
    const Kernel* k = nullptr;
    switch (op.kind()) {
      case Kind::kDispatch: {
        const auto& dispatch = op.as<format::DispatchRecord>();
        k = kernel(dispatch);
        device = device_of_queue(dispatch.queue);
        queue = lane(dispatch.queue);
        sequence = op.ordinal_of(dispatch);
        submitted = dispatch.time;
        description =
            k != nullptr ? k->name_id : strings_.id(unnamed_kernel(dispatch.kernel_object));
        type = op.type_id != 0
                   ? op.type_id
                   : strings_.id(k == nullptr || k->fixed_type != nullptr
                                     ? (k == nullptr ? "KernelExecution" : k->fixed_type)
                                     : "CopyDeviceToDevice");
        ++result_.dispatches;
        if (k == nullptr || !k->internal) ++result_.program_kernels;
        break;
      }
      case Kind::kBarrier: {
        const auto& barrier = op.as<format::BarrierRecord>();
        device = device_of_queue(barrier.queue);
        queue = lane(barrier.queue);
        submitted = barrier.time;
        type = strings_.id("Barrier");
        ++result_.barriers;
        break;
      }
      default: {
        const auto& copy = op.as<format::CopyRecord>();
        const char* direction = copy_direction(copy, device);
        queue = copy_lane(device, direction);
        submitted = copy.time;
        type = strings_.id(direction);
        ++result_.copies;
        break;
      }
    }
    const int64_t start =
        op.complete ? facts_->clock.monotonic_of_boottime(op.start_ns) : ns(submitted);
    const int64_t end =
        op.complete ? std::max(start, facts_->clock.monotonic_of_boottime(op.end_ns)) : start;
    last_ns_ = std::max(last_ns_, end);
    BulkTable& table = *file_.op;
    table.begin(id);
    table.null();
    table.integer(device);
    table.integer(queue);
    table.integer(sequence);
    table.integer(start);
    table.integer(end);
    table.integer(description);
    table.integer(type);
    table.end();
    if (op.kind() == Kind::kDispatch) write_dispatch(id, op, op.as<format::DispatchRecord>(), k);
  }
}

namespace {

std::span<const std::byte> kernarg_of(const format::DispatchRecord& dispatch) {
  if ((dispatch.header.flags & format::kDispatchHasArguments) == 0) return {};
  const size_t room = size_t{dispatch.header.words} * 8 - sizeof dispatch;
  return {reinterpret_cast<const std::byte*>(&dispatch + 1),
          std::min<size_t>(dispatch.kernarg_bytes, room)};
}

}  // namespace

void ProcessImport::write_dispatch(int64_t op_id, const RawOp& op, const format::DispatchRecord& d,
                                   const Kernel* k) {
  const std::optional<size_t> index = facts_->kernel(d.kernel_object, d.time);
  const uint32_t fixed = index ? facts_->kernels[*index].fact.group_bytes : 0;
  BulkTable& table = *file_.dispatch;
  table.begin(op_id);
  table.null();
  if (k == nullptr) table.null();
  else table.integer(k->id);
  table.integer(ns(d.time));
  for (const uint32_t n : d.grid) table.integer(n);
  for (const uint16_t n : d.workgroup) table.integer(n);
  table.integer(d.group_bytes);
  table.integer(d.group_bytes > fixed ? d.group_bytes - fixed : 0);
  table.integer(d.private_bytes);
  text_.clear();
  append_hex(text_, d.kernarg_address);
  table.text(text_);
  const std::span<const std::byte> kernarg = kernarg_of(d);
  if (kernarg.empty()) table.null();
  else table.blob(kernarg.data(), kernarg.size());
  table.integer(op.ordinal_of(d));
  table.integer((d.packet_header >> 8) & 1);
  table.integer(op.complete ? 1 : 0);
  table.integer(op.by_order.call != 0 ? 1 : 0);
  table.end();
}

void ProcessImport::write_inflight(const RawOp& op) {
  ++result_.unfinished;
  const int64_t api = api_of(op.owner());
  std::vector<ImportFile::Cell> cells = {
      {}, pid(), api == 0 ? ImportFile::Cell() : ImportFile::Cell(api)};
  const auto add = [&](auto... values) { (cells.emplace_back(ImportFile::Cell(values)), ...); };
  switch (op.kind()) {
    case Kind::kDispatch: {
      const auto& d = op.as<format::DispatchRecord>();
      const std::optional<size_t> index = facts_->kernel(d.kernel_object, d.time);
      const RawKernel* raw = index ? &facts_->kernels[*index] : nullptr;
      if (!index || !kernels_[*index].internal) ++result_.program_kernels;
      const std::span<const std::byte> kernarg = kernarg_of(d);
      add(std::string("kernel"), device_of_queue(d.queue), lane(d.queue), ns(d.time),
          raw == nullptr ? unnamed_kernel(d.kernel_object) : codeobj::demangle(raw->name),
          int64_t{d.grid[0]}, int64_t{d.grid[1]}, int64_t{d.grid[2]}, int64_t{d.workgroup[0]},
          int64_t{d.workgroup[1]}, int64_t{d.workgroup[2]},
          kernarg.empty() ? std::string()
                          : kernarg_text(raw == nullptr ? nullptr : code_->find(*raw), kernarg));
      break;
    }
    case Kind::kBarrier: {
      const auto& barrier = op.as<format::BarrierRecord>();
      add(std::string("barrier"), device_of_queue(barrier.queue), lane(barrier.queue),
          ns(barrier.time), std::string("barrier"));
      break;
    }
    default: {
      const auto& copy = op.as<format::CopyRecord>();
      int64_t device = 0;
      const char* direction = copy_direction(copy, device);
      add(std::string("copy"), device, copy_lane(device, direction), ns(copy.time),
          std::string(direction));
      cells.resize(14);
      add(fmt::format("dst = {:#x} | src = {:#x} | bytes = {}", copy.destination, copy.source,
                      copy.bytes));
      break;
    }
  }
  cells.resize(15);
  file_.add("wavetap_inflight", std::move(cells));
}

// --- memory

void ProcessImport::write_memory() {
  std::unordered_map<uint64_t, size_t> live;
  std::vector<format::Owner> owners;
  for (const MemoryEvent& event : events_.memory) {
    if (event.allocate != nullptr) {
      const format::AllocateRecord& a = *event.allocate;
      const auto kind = static_cast<format::MemoryKind>(a.header.flags);
      const bool on_device = kind == format::MemoryKind::kDevice ||
                             kind == format::MemoryKind::kFineGrained ||
                             kind == format::MemoryKind::kVirtual;
      live[a.address] = allocations_.size();
      allocations_.push_back({a.address, a.bytes,
                              on_device ? devices_.id(facts_->agent(a.agent)) : -1, kind,
                              ns(a.time), 0});
      owners.push_back(a.owner);
    } else if (const auto found = live.find(event.free->address); found != live.end()) {
      Allocation& ended = allocations_[found->second];
      ended.end = std::max(ended.start, ns(event.free->time));
      live.erase(found);
    }
  }
  for (size_t i = 0; i < allocations_.size(); ++i) {
    const Allocation& a = allocations_[i];
    const int64_t api = api_of(owners[i]);
    BulkTable& table = *file_.allocation;
    table.begin(static_cast<int64_t>(table.rows()) + 1);
    table.null();
    table.integer(pid());
    if (api == 0) table.null();
    else table.integer(api);
    table.integer(a.device);
    table.text(memory_kind_name(a.kind));
    table.text(hex(a.address));
    table.integer(static_cast<int64_t>(a.bytes));
    table.integer(a.start);
    if (a.end == 0) table.null();
    else table.integer(a.end);
    table.end();
    if (a.device < 0) continue;
    devices_.held.push_back({a.start, a.device, static_cast<int64_t>(a.bytes)});
    devices_.held.push_back(
        {a.end == 0 ? last_ns_ : a.end, a.device, -static_cast<int64_t>(a.bytes)});
  }
}

std::string ProcessImport::owner_of(uint64_t address, int64_t time) const {
  // The youngest allocation that holds the address wins over one that was freed before it.
  const Allocation* best = nullptr;
  const Allocation* below = nullptr;
  for (const Allocation& a : allocations_) {
    if (a.start > time) continue;
    if (address >= a.address && address - a.address < a.bytes) {
      if (best == nullptr || a.start >= best->start) best = &a;
    } else if (a.address <= address && (below == nullptr || a.address > below->address) &&
               (a.end == 0 || a.end > time)) {
      below = &a;
    }
  }
  const auto describe = [&](const Allocation& a) {
    return fmt::format("{} bytes of {} memory at {:#x}", a.bytes, memory_kind_name(a.kind),
                       a.address);
  };
  if (best != nullptr && best->end != 0 && best->end <= time)
    return fmt::format("inside {}, freed {:.3f} ms before", describe(*best),
                       static_cast<double>(time - best->end) / 1e6);
  if (best != nullptr)
    return fmt::format("inside {}, {} bytes from its start", describe(*best),
                       address - best->address);
  if (below != nullptr)
    return fmt::format("in no allocation; {} bytes past the end of {}",
                       address - below->address - below->bytes, describe(*below));
  return "in no allocation";
}

// --- facts

void ProcessImport::write_facts() {
  const RawFacts& facts = *facts_;
  bool exited = false;
  for (const format::ControlFact& control : facts.controls) {
    const auto event = static_cast<format::Control>(control.header.flags);
    exited = exited || event == format::Control::kExited;
    file_.add("wavetap_control", {{},
                                  pid(),
                                  ns(control.time),
                                  std::string(control_name(event)),
                                  int64_t{control.by_pid},
                                  int64_t{control.count}});
  }
  std::string command = facts.command;
  while (!command.empty() && command.back() == '\0') command.pop_back();
  std::replace(command.begin(), command.end(), '\0', ' ');
  file_.add("wavetap_process", {session_, pid(), int64_t{facts.process().parent},
                                facts.has_process() ? ns(facts.process().time) : first_ns_,
                                std::max({last_ns_, facts.clock.last_sample(), ended_ns_}),
                                facts.executable, command, facts.hostname, facts.agent_version,
                                int64_t{facts.process().emulated}, int64_t{exited}});
  write_device_figures(facts, devices_, file_);
  for (const RawThread& thread : facts.threads)
    file_.add("wavetap_thread", {{}, pid(), int64_t{thread.tid}, thread.name});
  for (const RawLibrary& library : facts.libraries)
    file_.add("wavetap_library", {{},
                                  pid(),
                                  ns(library.time),
                                  library.path,
                                  library.soname,
                                  library.build_id,
                                  library.answers_for,
                                  std::string(library_event_name(library.event))});
  for (const StreamEvents& stream : events_.streams) {
    if (stream.open_call == 0 || exited) continue;
    const RawFunction* raw = facts.function(static_cast<uint32_t>(stream.open_call >> 32));
    file_.add("wavetap_open_call", {{},
                                    pid(),
                                    int64_t{stream.tid},
                                    raw == nullptr ? std::string("?") : raw->name,
                                    ns(stream.open_since)});
  }
  for (const RawFault& fault : facts.faults) {
    const int64_t time = ns(fault.fact.time);
    file_.add("wavetap_fault", {{},
                                pid(),
                                time,
                                std::max<int64_t>(devices_.id(facts.agent(fault.fact.agent)), 0),
                                fault.fact.queue == 0 ? ImportFile::Cell()
                                                      : ImportFile::Cell(lane(fault.fact.queue)),
                                hex(fault.fact.address),
                                int64_t{fault.fact.reason},
                                fault.what,
                                owner_of(fault.fact.address, time)});
    ++result_.faults;
  }
  for (const RawLoss& loss : facts.losses) {
    file_.add("wavetap_loss", {{},
                               pid(),
                               ns(loss.time),
                               std::string(loss_name(loss.reason)),
                               static_cast<int64_t>(loss.count),
                               loss.what});
    if (loss.reason != format::Loss::kTextTruncated) result_.losses += loss.count;
    if (loss.reason == format::Loss::kBypassed)
      result_.notes.push_back(fmt::format("process {}: {}", pid(), loss.what));
    else
      result_.notes.push_back(fmt::format("process {}: {} events, {}{}{}", pid(), loss.count,
                                          loss_name(loss.reason), loss.what.empty() ? "" : ": ",
                                          loss.what));
  }
  if (const ClockDoubt doubt = clock_doubt(facts.clock); doubt.reason != nullptr) {
    file_.add("wavetap_loss",
              {{}, pid(), first_ns_, std::string(doubt.reason), int64_t{0}, doubt.what});
    result_.notes.push_back(fmt::format("process {}: {}", pid(), doubt.what));
  }
  for (const std::string& note : facts.notes)
    result_.notes.push_back(fmt::format("process {}: {}", pid(), note));
  if (events_.bad_operations > 0) {
    result_.losses += events_.bad_operations;
    result_.notes.push_back(fmt::format("process {}: {} GPU operations with impossible numbers",
                                        pid(), events_.bad_operations));
  }
  if (const uint64_t unknown = events_.unknown_records + facts.unknown_records; unknown > 0)
    result_.notes.push_back(
        fmt::format("process {}: {} records of kinds this version does not know", pid(), unknown));
}

}  // namespace wavetap::store
