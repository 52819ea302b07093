#include "replay/rocm_replay.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstring>
#include <memory>
#include <optional>

#include "amd/aql.h"
#include "amd/gfx_target.h"
#include "amd/hsa_info.h"
#include "base/round_up.h"
#include "replay/host_services.h"
#include "replay/kernarg_size.h"
#include "replay/relocation.h"
#include "replay/rocm_api.h"
#include "replay/steered_mmap.h"
#include "util/text.h"

namespace wavetap::replay {
namespace {

constexpr uint32_t kTimestampFrequency = 3;  // hsa_system_info_t
constexpr uint32_t kMemoryFault = 0;         // hsa_amd_event_type_t
constexpr uint32_t kConditionLess = 2;       // hsa_signal_condition_t
constexpr uint32_t kWaitBlocked = 0;
constexpr uint32_t kCooperativeQueue = 2;
constexpr uint32_t kQueuePackets = 64;
constexpr uint64_t kMostKernargBytes = 4096;
constexpr size_t kStagingBytes = 4u << 20;
constexpr uint64_t kGpuAddressEnd = uint64_t{1} << 47;  // what every GPU of today reaches

// What the runtime's threads tell: it lives as long as the process.
struct Trouble {
  std::atomic<bool> is_fault{false};
  std::atomic<uint64_t> address{0};
  std::atomic<HsaStatus> queue_status{0};
};
Trouble trouble;

struct Agents {
  const RocmApi* api;
  std::string wanted;
  HsaHandle gpu, cpu;
  std::string others;
};

HsaStatus note_agent(HsaHandle agent, void* data) {
  auto& agents = *static_cast<Agents*>(data);
  uint32_t device = 0;
  agents.api->agent_get_info(agent, amd::kAgentDevice, &device);
  if (device != amd::kDeviceGpu) {
    if (device == 0 && agents.cpu.handle == 0) agents.cpu = agent;
    return 0;
  }
  char name[64] = {};
  agents.api->agent_get_info(agent, amd::kAgentName, name);
  if (agents.wanted == name && agents.gpu.handle == 0) agents.gpu = agent;
  agents.others += (agents.others.empty() ? "" : ", ") + std::string(name);
  return 0;
}

struct Pools {
  const RocmApi* api;
  HsaHandle coarse, kernarg;
};

HsaStatus note_pool(HsaHandle pool, void* data) {
  auto& pools = *static_cast<Pools*>(data);
  uint32_t segment = 0;
  uint32_t flags = 0;
  bool may_allocate = false;
  pools.api->pool_get_info(pool, amd::kPoolSegment, &segment);
  pools.api->pool_get_info(pool, amd::kPoolFlags, &flags);
  pools.api->pool_get_info(pool, amd::kPoolMayAllocate, &may_allocate);
  if (segment != amd::kSegmentGlobal || !may_allocate) return 0;
  if ((flags & amd::kPoolKernarg) != 0) pools.kernarg = pool;
  else if (pools.coarse.handle == 0) pools.coarse = pool;
  return 0;
}

HsaStatus on_event(const HsaEvent* event, void*) {
  if (event->type != kMemoryFault) return 0;
  trouble.address = event->address;
  trouble.is_fault = true;
  return 0;
}

void on_queue_error(HsaStatus status, HsaQueue*, void*) { trouble.queue_status = status; }

bool has_room(uint64_t size, uint64_t offset, uint64_t bytes) {
  return offset <= size && bytes <= size - offset;
}

// A kernel that is to be run.
struct Code {
  const SwappedKernel* swapped = nullptr;  // null: the captured one
  uint64_t at = 0;                         // where the code of another one lies
};

class Replay {
 public:
  Replay(const Capture& capture, const CapturedKernel& kernel, CapturedMemory& memory,
         const RocmOptions& options)
      : capture_(capture), kernel_(kernel), memory_(memory), options_(options), heap_(capture) {}

  RocmResult run(const std::vector<format::CaptureTouchedPage>& touched, HeldRanges& held);

 private:
  Status find_gpu();
  void keep_addresses_low();
  void find_ranges(const std::vector<format::CaptureTouchedPage>& touched, HeldRanges& held);
  bool uses_memory_twice() const;
  Status run_from_captured(const Code& code, bool anew, double* seconds);
  Status run_all();
  void place(HeldRanges& held);
  Status load(const Code& code);
  amd::KernelDispatchPacket make_packet(const Code& code) const;
  Status wait_for_end();
  Status move(RocmMemory& memory, const AddressRange& range);
  Status prepare();
  Status prepare_services();
  uint64_t allocate(uint64_t size_bytes);
  Status copy(uint64_t to, const void* from, bool to_gpu, uint64_t size);
  void find_copies(const std::vector<format::CaptureTouchedPage>& touched);
  Status copy_all(bool to_gpu);
  Status dispatch(const Code& code, double* seconds);
  // Where nothing says how many there are, as many as there may be.
  uint64_t kernarg_bytes() const {
    const uint64_t said = kernarg_bytes_of(kernel_);
    const CapturedRegion* region = capture_.region_at(capture_.dispatch.kernarg);
    if (said != 0 || region == nullptr) return said;
    return std::min<uint64_t>(region->end() - capture_.dispatch.kernarg, kMostKernargBytes);
  }
  Error failed(const char* what, HsaStatus status) const {
    return errorf("%s: %s: %s; look with wavetap doctor", result_.gpu.c_str(), what,
                  api_.text(status));
  }

  const Capture& capture_;
  const CapturedKernel& kernel_;
  CapturedMemory& memory_;
  const RocmOptions options_;
  RocmApi api_{};
  std::optional<SteeredMmap> low_;  // as long as the runtime allocates
  RocmResult result_;
  HsaHandle gpu_, cpu_;
  HsaHandle vram_pool_, kernarg_pool_;
  std::vector<AddressRange> ranges_;
  std::vector<AddressRange> pieces_;  // the same, as they are placed
  std::vector<AddressRange> copies_;  // at most kStagingBytes each
  void* staging_ = nullptr;
  void* kernarg_ = nullptr;
  HsaQueue* queue_ = nullptr;
  HsaHandle done_, copied_;
  uint64_t frequency_ = 0;
  HeapPlaces heap_;
  std::optional<ChangedGrid> grid_;
  std::vector<Code> codes_;                 // what is replayed, and what it is held against
  std::unique_ptr<HostcallServer> server_;  // null: the kernel makes no calls
  bool prints_ = false;
  Relocation relocation_;
  const std::vector<format::CaptureTouchedPage>* touched_ = nullptr;
  bool is_first_copy_ = true;
};

// Captured where the thunk takes addresses from mmap: so must this one. Also where memory is held inside
// the range that it would have of its own, because it uses some of that itself.
void Replay::keep_addresses_low() {
  if (!options_.hold && std::none_of(pieces_.begin(), pieces_.end(), [](const AddressRange& piece) {
        return piece.end > kThunkRangeEnd;
      }))
    return;
  low_.emplace(api_.kmt_allocate != nullptr ? reinterpret_cast<const void*>(api_.kmt_allocate)
                                            : reinterpret_cast<const void*>(api_.init));
  if (low_->works()) low_->keep_below(kGpuAddressEnd);
}

Status Replay::find_gpu() {
  Result<RocmApi> api = RocmApi::open();
  if (!api.ok()) return api.error();
  api_ = *api;
  keep_addresses_low();
  if (const HsaStatus status = api_.init(); status != 0)
    return errorf("hsa_init: %s; look with wavetap doctor", api_.text(status));
  Agents agents{&api_, amd::to_string(capture_.target), {}, {}, ""};
  api_.iterate_agents(note_agent, &agents);
  if (agents.gpu.handle == 0) {
    result_.refusal = Refusal::kIsa;
    return errorf("captured on a %s, and ROCm shows %s; choose a GPU of that kind with --gpu",
                  agents.wanted.c_str(), agents.others.empty() ? "no GPU" : agents.others.c_str());
  }
  gpu_ = agents.gpu;
  cpu_ = agents.cpu;
  char name[64] = {};
  api_.agent_get_info(gpu_, amd::kAgentProductName, name);
  result_.gpu = name[0] != '\0' ? name : agents.wanted;
  Pools gpu_pools{&api_, {}, {}};
  Pools cpu_pools{&api_, {}, {}};
  api_.iterate_pools(gpu_, note_pool, &gpu_pools);
  api_.iterate_pools(cpu_, note_pool, &cpu_pools);
  vram_pool_ = gpu_pools.coarse;
  kernarg_pool_ = cpu_pools.kernarg;
  if (vram_pool_.handle == 0 || kernarg_pool_.handle == 0)
    return errorf("%s: shows no memory to use; look with wavetap doctor", result_.gpu.c_str());
  return {};
}

void Replay::place(HeldRanges& held) {
  uint32_t node = 0;
  api_.agent_get_info(gpu_, amd::kAgentDriverNode, &node);
  RocmMemory memory(api_, gpu_, vram_pool_, node);
  result_.method = memory.method();
  for (const AddressRange& range : options_.relocate ? ranges_ : pieces_) {
    held.release(range);
    // All or none: a place that was tried in vain confuses the thunk's own book-keeping.
    const Status placed = options_.relocate ? move(memory, range) : memory.place(range);
    if (placed.ok()) result_.placed_bytes += range.size();
    else result_.taken.push_back(placed.error().message);
  }
  for (Code& code : codes_) {
    if (code.swapped == nullptr || !result_.taken.empty()) continue;
    const uint64_t size = round_up(code.swapped->layout.size_bytes, format::kCapturePageBytes);
    const Result<uint64_t> at = memory.place_elsewhere({0, size, nullptr});
    if (at.ok()) code.at = *at;
    else result_.taken.push_back(at.error().message);
  }
}

// The code that runs instead, once: what it writes to its own variables stays.
Status Replay::load(const Code& code) {
  if (code.swapped == nullptr) return {};
  std::vector<std::byte> image(code.swapped->layout.size_bytes);
  Status status = codeobj::load_image(*code.swapped->object, image, {code.at});
  for (uint64_t at = 0; status.ok() && at < image.size(); at += kStagingBytes)
    status = copy(code.at + at, image.data() + at, /*to_gpu=*/true,
                  std::min<uint64_t>(image.size() - at, kStagingBytes));
  return status;
}

Status Replay::move(RocmMemory& memory, const AddressRange& range) {
  if (range.region == nullptr) return memory.place(range);
  const Result<uint64_t> elsewhere = memory.place_elsewhere(range);
  if (!elsewhere.ok()) return elsewhere.error();
  relocation_.move(*range.region, range.begin, range.size(), *elsewhere);
  ++result_.moved_ranges;
  result_.moved_bytes += range.size();
  return {};
}

Status Replay::prepare() {
  HsaStatus status = api_.pool_allocate(kernarg_pool_, kStagingBytes, 0, &staging_);
  if (status == 0) status = api_.allow_access(1, &gpu_, nullptr, staging_);
  if (status == 0)
    status = api_.pool_allocate(kernarg_pool_, std::max<uint64_t>(kernarg_bytes(), 64) + 64, 0,
                                &kernarg_);
  if (status == 0) status = api_.allow_access(1, &gpu_, nullptr, kernarg_);
  if (status == 0) status = api_.signal_create(1, 0, nullptr, &done_);
  if (status == 0) status = api_.signal_create(1, 0, nullptr, &copied_);
  if (status == 0) status = api_.system_get_info(kTimestampFrequency, &frequency_);
  const bool cooperative = (capture_.dispatch.flags & format::kCaptureCooperative) != 0;
  if (status == 0)
    status = api_.queue_create(gpu_, kQueuePackets, cooperative ? kCooperativeQueue : 0,
                               on_queue_error, nullptr, UINT32_MAX, UINT32_MAX, &queue_);
  if (status == 0) status = api_.enable_times(queue_, 1);
  if (status == 0) status = api_.on_event(on_event, nullptr);
  if (status != 0) return failed("cannot be prepared", status);
  const std::span<const std::byte> arguments =
      memory_.bytes({capture_.dispatch.kernarg}, kernarg_bytes());
  if (!arguments.empty()) {
    std::memcpy(kernarg_, arguments.data(), arguments.size());
    const std::span<std::byte> own(static_cast<std::byte*>(kernarg_), arguments.size());
    result_.changed_words += relocation_.change(capture_.dispatch.kernarg, own, nullptr);
    for (const GridArgument& argument : grid_ ? grid_->arguments : std::vector<GridArgument>())
      if (has_room(own.size(), argument.offset, argument.size_bytes))
        std::memcpy(own.data() + argument.offset, &argument.value, argument.size_bytes);
  }
  Status ready = prepare_services();
  for (const Code& code : codes_)
    if (ready.ok()) ready = load(code);
  return ready;
}

// A hostcall buffer in host memory. Nobody is woken: whoever waits for the kernel looks.
Status Replay::prepare_services() {
  const CapturedArgument* const argument = hostcall_argument(kernel_);
  if (argument == nullptr) return {};
  const uint32_t packets = HostcallServer::packets_for(wave_count(capture_));
  const uint64_t size = HostcallServer::bytes_for(packets);
  void* buffer = nullptr;
  HsaStatus status = api_.pool_allocate(kernarg_pool_, size, 0, &buffer);
  if (status == 0) status = api_.allow_access(1, &gpu_, nullptr, buffer);
  if (status != 0) return failed("has no memory for the kernel's calls", status);
  const auto address = reinterpret_cast<uint64_t>(buffer);
  server_ = std::make_unique<HostcallServer>(
      std::span(static_cast<std::byte*>(buffer), size), address, packets, /*interrupts=*/false,
      HostServices{[this](std::string_view text, bool is_error) {
                     if (prints_ && options_.printed) options_.printed(text, is_error);
                   },
                   [this](uint64_t wanted) { return allocate(wanted); },
                   [this](uint64_t at) { heap_.give_back(at); }});
  if (has_room(kernarg_bytes(), argument->arg.offset, sizeof address))
    std::memcpy(static_cast<std::byte*>(kernarg_) + argument->arg.offset, &address, sizeof address);
  return {};
}

// Where the captured run got it, or anywhere. Fresh memory stays with the process, which ends soon.
uint64_t Replay::allocate(uint64_t size_bytes) {
  if (const std::optional<HostRange> place = heap_.take(size_bytes)) return place->begin;
  void* memory = nullptr;
  if (api_.pool_allocate(vram_pool_, size_bytes, 0, &memory) != 0) return 0;
  const auto address = reinterpret_cast<uint64_t>(memory);
  result_.heap.push_back({address, size_bytes});
  return address;
}

Status Replay::copy(uint64_t at, const void* host, bool to_gpu, uint64_t size) {
  void* const device = reinterpret_cast<void*>(at);
  if (to_gpu) std::memcpy(staging_, host, size);
  api_.signal_store(copied_, 1);
  const HsaStatus status =
      to_gpu ? api_.async_copy(device, gpu_, staging_, cpu_, size, 0, nullptr, copied_)
             : api_.async_copy(staging_, cpu_, device, gpu_, size, 0, nullptr, copied_);
  if (status != 0) return failed("memory cannot be copied", status);
  if (api_.signal_wait(copied_, kConditionLess, 1, UINT64_MAX, kWaitBlocked) < 0)
    return errorf("%s: a copy failed; look with wavetap doctor", result_.gpu.c_str());
  if (!to_gpu) std::memcpy(const_cast<void*>(host), staging_, size);
  return {};
}

// What the kernel touches of the ranges: they may be large and hardly used.
void Replay::find_copies(const std::vector<format::CaptureTouchedPage>& touched) {
  for (const AddressRange& range : ranges_) {
    for (const format::CaptureTouchedPage& page : touched) {
      if (page.address < range.begin || page.address >= range.end) continue;
      const bool follows = !copies_.empty() && copies_.back().region == range.region &&
                           copies_.back().end == page.address &&
                           copies_.back().size() < kStagingBytes;
      const uint64_t end = std::min(page.address + format::kCapturePageBytes, range.region->end());
      if (follows) copies_.back().end = end;
      else copies_.push_back({page.address, end, range.region});
    }
  }
}

Status Replay::copy_all(bool to_gpu) {
  for (const AddressRange& part : copies_) {
    const std::span<std::byte> host = memory_.bytes({part.begin}, part.size());
    if (host.empty()) continue;
    const uint64_t at = relocation_.to_new(part.begin);
    std::vector<std::byte> changed;
    if (to_gpu && !relocation_.empty()) {
      changed.assign(host.begin(), host.end());
      const uint64_t words = relocation_.change(part.begin, changed, touched_);
      if (is_first_copy_) result_.changed_words += words;
    }
    const Status copied =
        copy(at, changed.empty() ? host.data() : changed.data(), to_gpu, part.size());
    if (!copied.ok()) return copied;
    if (!to_gpu) relocation_.change_back(part.begin, host);
  }
  is_first_copy_ = false;
  return {};
}

amd::KernelDispatchPacket Replay::make_packet(const Code& code) const {
  amd::KernelDispatchPacket packet{};
  std::memcpy(&packet, capture_.dispatch.packet, sizeof packet);
  packet.kernel_object = relocation_.to_new(packet.kernel_object);
  packet.kernarg_address = reinterpret_cast<uint64_t>(kernarg_);
  packet.completion_signal = done_.handle;
  packet.reserved2 = 0;
  if (grid_) {
    packet.setup = grid_->setup;
    std::copy(std::begin(grid_->grid_size), std::end(grid_->grid_size), packet.grid_size);
    std::copy(std::begin(grid_->workgroup_size), std::end(grid_->workgroup_size),
              packet.workgroup_size);
  }
  if (code.swapped != nullptr) {
    packet.kernel_object = code.at + code.swapped->descriptor_offset;
    packet.group_segment_size = code.swapped->group_segment_bytes;
    packet.private_segment_size = code.swapped->private_segment_bytes;
  }
  return packet;
}

Status Replay::dispatch(const Code& code, double* seconds) {
  constexpr uint16_t kKernelDispatch = 2;
  constexpr uint16_t kSystemFences = 2 << 9 | 2 << 11;
  const uint16_t header = kKernelDispatch | 1 << 8 | kSystemFences;
  amd::KernelDispatchPacket packet = make_packet(code);
  api_.signal_store(done_, 1);
  const uint64_t index = api_.add_write_index(queue_, 1);
  auto* slot = static_cast<amd::KernelDispatchPacket*>(queue_->base_address) + index % queue_->size;
  packet.header = slot->header;
  std::memcpy(static_cast<void*>(slot), &packet, sizeof packet);
  const uint32_t first = header | uint32_t{packet.setup} << 16;
  __atomic_store_n(reinterpret_cast<uint32_t*>(slot), first, __ATOMIC_RELEASE);
  api_.signal_store(queue_->doorbell, static_cast<int64_t>(index));
  const Status ended = wait_for_end();
  if (!ended.ok() || !result_.fault.empty()) return ended;
  HsaTimes times{};
  const HsaStatus status = api_.dispatch_time(gpu_, done_, &times);
  if (status != 0) return failed("the dispatch has no times", status);
  *seconds = static_cast<double>(times.end - times.start) / static_cast<double>(frequency_);
  return {};
}

// Of the dispatch; result_.fault says when it does not come.
Status Replay::wait_for_end() {
  const auto start = std::chrono::steady_clock::now();
  // A wave that calls waits for us.
  const uint64_t slice = std::max<uint64_t>(frequency_ / (server_ == nullptr ? 10 : 10'000), 1);
  while (api_.signal_wait(done_, kConditionLess, 1, slice, kWaitBlocked) >= 1) {
    if (server_ != nullptr && !server_->serve()) {
      result_.refusal = Refusal::kArgument;
      return errorf("%s: %s; capture a launch that does not",
                    util::escape_control(capture_.kernel).c_str(), server_->refusal().c_str());
    }
    if (trouble.is_fault) {
      char text[64];
      std::snprintf(text, sizeof text, "page fault at 0x%" PRIx64, trouble.address.load());
      result_.fault = text;
      return {};
    }
    if (const HsaStatus status = trouble.queue_status; status != 0) {
      result_.fault = api_.text(status);
      return {};
    }
    if (std::chrono::steady_clock::now() - start > std::chrono::seconds(options_.timeout_s)) {
      result_.fault = "it did not end in " + std::to_string(options_.timeout_s) + " seconds";
      return {};
    }
  }
  return {};
}

// What has to be placed, and where it must not be taken in the meantime.
void Replay::find_ranges(const std::vector<format::CaptureTouchedPage>& touched, HeldRanges& held) {
  ranges_ = needed_ranges(capture_, kernarg_bytes(), touched);
  find_copies(touched);
  touched_ = &touched;
  if (hostcall_argument(kernel_) != nullptr)
    for (const HostRange& range : heap_.ranges())
      ranges_.push_back({range.begin, range.begin + range.size_bytes, nullptr});
  pieces_ = pieces_to_place(ranges_);
  result_.ranges = pieces_.size();
  if (!options_.hold) return;
  held.release_all();
  held.hold(pieces_);
}

bool Replay::uses_memory_twice() const {
  return std::any_of(ranges_.begin(), ranges_.end(), [&](const AddressRange& range) {
    const uint64_t alias = range.region == nullptr ? 0 : capture_.alias_of(*range.region);
    return alias != 0 &&
           std::any_of(ranges_.begin(), ranges_.end(), [&](const AddressRange& other) {
             return other.region != nullptr && other.region->contains(alias);
           });
  });
}

Status Replay::run_from_captured(const Code& code, bool anew, double* seconds) {
  if (anew)
    if (const Status copied = copy_all(/*to_gpu=*/true); !copied.ok()) return copied;
  if (server_ != nullptr && anew) {
    server_->reset();
    heap_.reset();
  }
  if (options_.before_run) options_.before_run();
  return dispatch(code, seconds);
}

// Until a kernel faults. Where two take turns, the first of a pair is now one and now the other, so that
// what slows down over time meets both alike; and the one that is replayed runs once more, since what it
// leaves is looked at.
Status Replay::run_all() {
  std::vector<double>* const kept[] = {&result_.seconds, &result_.against};
  const bool takes_turns = codes_.size() > 1;
  for (uint32_t i = 0; i < options_.warmup + options_.iterations; ++i) {
    for (size_t turn = 0; turn < codes_.size(); ++turn) {
      const size_t which = (i + turn) % codes_.size();
      prints_ = i == options_.warmup && which == 0;
      const bool anew = i == 0 || options_.recopy || takes_turns;
      double seconds = 0;
      const Status ran = run_from_captured(codes_[which], anew, &seconds);
      if (!ran.ok() || !result_.fault.empty()) return ran;
      if (i >= options_.warmup) kept[which]->push_back(seconds);
    }
  }
  double last = 0;
  prints_ = false;
  if (takes_turns)
    if (const Status ran = run_from_captured(codes_[0], /*anew=*/true, &last);
        !ran.ok() || !result_.fault.empty())
      return ran;
  return copy_all(/*to_gpu=*/false);
}

RocmResult Replay::run(const std::vector<format::CaptureTouchedPage>& touched, HeldRanges& held) {
  find_ranges(touched, held);
  const auto refuse = [&](const Status& status, Refusal refusal) {
    if (result_.refusal == Refusal::kNone) result_.refusal = refusal;
    result_.why = status.error().message;
    return result_;
  };
  if (const std::string why = needed_and_missing(capture_, kernel_, memory_); !why.empty())
    return refuse(Error{why}, Refusal::kArgument);
  if (uses_memory_twice())
    return refuse(
        errorf("%s: uses one piece of memory at two addresses, which cannot be had through "
               "ROCm here; replay it on the engine, without --gpu and --hsa",
               util::escape_control(capture_.kernel).c_str()),
        Refusal::kNoMemory);
  result_.workgroups = options_.workgroups.value_or(captured_workgroups(capture_));
  if (options_.workgroups) {
    Result<ChangedGrid> grid = change_grid(capture_, kernel_, *options_.workgroups);
    if (!grid.ok()) return refuse(grid.error(), Refusal::kArgument);
    grid_ = std::move(*grid);
  }
  codes_.push_back({options_.swapped});
  if (options_.against) codes_.push_back({*options_.against});
  Status status = find_gpu();
  if (!status.ok()) return refuse(status, Refusal::kFile);
  place(held);
  if (!result_.taken.empty()) {
    result_.refusal = Refusal::kNoMemory;
    result_.why = result_.taken.front();
  }
  if (!result_.taken.empty() || options_.check_only) return result_;
  status = prepare();
  if (status.ok()) status = run_all();
  return status.ok() ? result_ : refuse(status, Refusal::kFile);
}

}  // namespace

RocmResult replay_on_rocm(const Capture& capture, const CapturedKernel& kernel,
                          CapturedMemory& memory,
                          const std::vector<format::CaptureTouchedPage>& touched, HeldRanges& held,
                          const RocmOptions& options) {
  return Replay(capture, kernel, memory, options).run(touched, held);
}

}  // namespace wavetap::replay
