#include "replay/replay_run.h"

#include <algorithm>
#include <cstring>

#include "amd/aql.h"
#include "codeobj/image.h"
#include "replay/dispatch_runner.h"
#include "replay/host_services.h"
#include "util/text.h"

namespace wavetap::replay {
namespace {

// What the kernel wanted of the host.
std::string why_stopped(const HostcallServer* server) {
  return server != nullptr ? server->refusal() : "waits for the host, and what for is not known";
}

ReplayResult refuse(Refusal refusal, Error why) {
  ReplayResult result;
  result.refusal = refusal;
  result.why = std::move(why.message);
  return result;
}

emu::Dispatch make_dispatch(const Capture& capture) {
  const format::CaptureDispatch& from = capture.dispatch;
  emu::Dispatch dispatch;
  dispatch.target = capture.target;
  dispatch.kernel_object = {from.kernel_object};
  dispatch.kernarg = {from.kernarg};
  dispatch.packet = {from.packet_address};
  dispatch.queue = {from.queue_address};
  dispatch.dispatch_id = from.dispatch_id;
  for (int axis = 0; axis < 3; ++axis) {
    dispatch.grid_size[axis] = std::max(from.grid_size[axis], 1u);
    dispatch.workgroup_size[axis] = std::max<uint16_t>(from.workgroup_size[axis], 1);
  }
  dispatch.group_segment_bytes = from.group_segment_bytes;
  dispatch.private_segment_bytes = from.private_segment_bytes;
  dispatch.sram_ecc = (from.flags & format::kCaptureSramEcc) != 0;
  dispatch.cu_count = std::max(from.compute_units, 1u);
  dispatch.xcc_count = std::max(from.xccs, 1u);
  dispatch.cooperative = (from.flags & format::kCaptureCooperative) != 0;
  return dispatch;
}

// Values written over captured memory for the time of a run, so that they are not taken for something
// the kernel wrote.
class Patches {
 public:
  explicit Patches(CapturedMemory& memory) : memory_(memory) {}
  ~Patches() {
    for (const Patch& patch : patches_)
      std::memcpy(patch.place.data(), patch.old.data(), patch.old.size());
  }
  Patches(const Patches&) = delete;
  Patches& operator=(const Patches&) = delete;

  void write(GpuAddr address, const void* bytes, uint64_t size) {
    const std::span<std::byte> place = memory_.bytes(address, size);
    if (place.empty()) return;
    patches_.push_back({place, {place.begin(), place.end()}});
    std::memcpy(place.data(), bytes, size);
  }

 private:
  struct Patch {
    std::span<std::byte> place;
    std::vector<std::byte> old;
  };
  CapturedMemory& memory_;
  std::vector<Patch> patches_;
};

// Another number of workgroups, everywhere a kernel can read it.
void set_workgroups(const ChangedGrid& changed, Patches& patches, emu::Dispatch& dispatch) {
  std::copy(std::begin(changed.grid_size), std::end(changed.grid_size), dispatch.grid_size);
  patches.write(dispatch.packet + offsetof(amd::KernelDispatchPacket, setup), &changed.setup,
                sizeof changed.setup);
  patches.write(dispatch.packet + offsetof(amd::KernelDispatchPacket, workgroup_size),
                changed.workgroup_size, sizeof changed.workgroup_size);
  patches.write(dispatch.packet + offsetof(amd::KernelDispatchPacket, grid_size), changed.grid_size,
                sizeof changed.grid_size);
  for (const GridArgument& argument : changed.arguments)
    patches.write(dispatch.kernarg + argument.offset, &argument.value, argument.size_bytes);
  for (const auto& [number, value] : changed.wave_sync)
    dispatch.memory->wave_sync.resource[number].store(value, std::memory_order_relaxed);
}

// The kernel of the same name from another build, in memory of its own.
ReplayResult swap_kernel(const Capture& capture, const CapturedKernel& captured,
                         const std::string& path, CapturedMemory& memory, emu::Dispatch& dispatch) {
  const SwappedKernel swapped = open_swapped(capture, captured, path);
  if (swapped.refusal != Refusal::kNone) return refuse(swapped.refusal, {swapped.why});
  const uint64_t size = swapped.layout.size_bytes;
  const Result<GpuAddr> base = memory.add(size, /*executable=*/true);
  if (!base.ok()) return refuse(Refusal::kNoMemory, base.error());
  const Status loaded = codeobj::load_image(*swapped.object, memory.bytes(*base, size), *base);
  if (!loaded.ok()) return refuse(Refusal::kNoKernel, loaded.error());
  dispatch.kernel_object = *base + swapped.descriptor_offset;
  dispatch.group_segment_bytes = swapped.group_segment_bytes;
  dispatch.private_segment_bytes = swapped.private_segment_bytes;
  return {};
}

// What the options ask for otherwise than captured; refused where the kernel cannot be run at all.
ReplayResult change_launch(const Capture& capture, const CapturedKernel& kernel,
                           CapturedMemory& memory, const ReplayOptions& options,
                           emu::Dispatch& dispatch, std::optional<ChangedGrid>& grid) {
  if (std::string why = needed_and_missing(capture, kernel, memory); !why.empty())
    return refuse(Refusal::kArgument, {std::move(why)});
  if (options.workgroups) {
    Result<ChangedGrid> changed = change_grid(capture, kernel, *options.workgroups);
    if (!changed.ok()) return refuse(Refusal::kArgument, changed.error());
    grid = std::move(*changed);
  }
  if (options.swap.empty()) return {};
  return swap_kernel(capture, kernel, options.swap, memory, dispatch);
}

}  // namespace

ReplayResult run_replay(const Capture& capture, const CapturedKernel& kernel,
                        CapturedMemory& memory, const ReplayOptions& options) {
  emu::Dispatch dispatch = make_dispatch(capture);
  std::optional<ChangedGrid> grid;
  ReplayResult result = change_launch(capture, kernel, memory, options, dispatch, grid);
  if (result.refusal != Refusal::kNone) return result;
  const CapturedArgument* const hostcall = hostcall_argument(kernel);
  std::unique_ptr<EngineServices> services;
  if (hostcall != nullptr) {
    Result<std::unique_ptr<EngineServices>> made = EngineServices::make(capture, memory);
    if (!made.ok()) return refuse(Refusal::kNoMemory, made.error());
    services = std::move(*made);
  }
  HostcallServer* const server = services == nullptr ? nullptr : &services->server();
  dispatch.count = options.count;
  dispatch.watchers = options.watchers;
  dispatch.memory = &memory;
  DispatchRunner runner({.threads = static_cast<int>(options.threads),
                         .seed = options.seed,
                         .watchdog_instructions = options.watchdog_instructions,
                         .naps = options.watchdog_instructions == 0 || services != nullptr,
                         .initial_fill = options.initial_fill,
                         .compiler = options.compiler},
                        [server] { return server != nullptr && server->serve(); });
  result.kernel_object = dispatch.kernel_object;
  for (uint32_t i = 0; i < options.warmup + std::max(options.iterations, 1u); ++i) {
    if (i > 0 && options.recopy) memory.restore();
    Patches patches(memory);
    if (services != nullptr) {
      if (i == 0 || options.recopy) services->reset();
      services->print_to(i == options.warmup ? options.printed : nullptr);
      const uint64_t address = services->server().address();
      patches.write(dispatch.kernarg + hostcall->arg.offset, &address, sizeof address);
    }
    if (grid) set_workgroups(*grid, patches, dispatch);
    if (options.before) options.before(dispatch);
    DispatchRunner::Run run = runner.run(dispatch);
    if (i >= options.warmup) result.seconds.push_back(run.seconds);
    if (options.after) options.after(dispatch, run.result);
    result.counters = run.result.counters;
    result.fault = run.result.fault;
    if (run.is_stopped)
      return refuse(Refusal::kArgument, errorf("%s: %s; capture a launch that does not",
                                               util::escape_control(capture.kernel).c_str(),
                                               why_stopped(server).c_str()));
    if (result.fault) break;
  }
  const Workgroups workgroups = options.workgroups.value_or(captured_workgroups(capture));
  std::copy(workgroups.begin(), workgroups.end(), result.workgroups);
  return result;
}

}  // namespace wavetap::replay
