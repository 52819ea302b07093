#include "replay/replay_run.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>

#include "amd/aql.h"
#include "base/clock.h"
#include "codeobj/container.h"
#include "codeobj/image.h"
#include "emu/engine.h"
#include "replay/host_services.h"
#include "swap/legality.h"
#include "util/file.h"
#include "util/text.h"

namespace wavetap::replay {
namespace {

// A wave that interrupts the host waits for it.
class ReplayHost final : public emu::Host {
 public:
  explicit ReplayHost(HostcallServer* server) : server_(server) {}
  void interrupt() noexcept override {
    if (server_ != nullptr && server_->serve()) return;
    is_refused.store(true, std::memory_order_relaxed);
    cancelled.store(true, std::memory_order_relaxed);
  }
  uint64_t clock_ticks() noexcept override { return to_ticks(now()).value; }
  std::string why() const {
    return server_ != nullptr ? server_->refusal()
                              : "waits for the host, and what for is not known";
  }

  std::atomic<bool> is_refused{false};
  std::atomic<bool> cancelled{false};

 private:
  HostcallServer* const server_;
};

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
void set_workgroups(const std::array<uint32_t, 3>& workgroups, const CapturedKernel& kernel,
                    Patches& patches, emu::Dispatch& dispatch) {
  for (size_t axis = 0; axis < 3; ++axis)
    dispatch.grid_size[axis] = workgroups[axis] * dispatch.workgroup_size[axis];
  patches.write(dispatch.packet + offsetof(amd::KernelDispatchPacket, grid_size),
                dispatch.grid_size, sizeof dispatch.grid_size);
  for (const CapturedArgument& argument : kernel.arguments) {
    const std::string& kind = argument.arg.value_kind;
    uint32_t value = 0;
    bool known = kind.starts_with("hidden_remainder_");
    for (size_t axis = 0; axis < 3; ++axis) {
      if (kind != std::string("hidden_block_count_") + "xyz"[axis]) continue;
      known = true;
      value = workgroups[axis];
    }
    if (known && argument.arg.size_bytes <= sizeof value)
      patches.write(dispatch.kernarg + argument.arg.offset, &value, argument.arg.size_bytes);
  }
}

// In a way a program can act on.
Refusal refusal_of(swap::Reason reason) {
  switch (reason) {
    case swap::Reason::kTarget:
    case swap::Reason::kFeatures:
    case swap::Reason::kWaveSize: return Refusal::kIsa;
    case swap::Reason::kStack: return Refusal::kArgument;
    default: return Refusal::kLayout;
  }
}

// The kernel of the same name from another build, in memory of its own.
ReplayResult swap_kernel(const Capture& capture, const CapturedKernel& captured,
                         const std::string& path, CapturedMemory& memory, emu::Dispatch& dispatch) {
  const char* file = path.c_str();
  if (captured.kernel == nullptr)
    return refuse(
        Refusal::kNoKernel,
        errorf("%s: the captured kernel has no name to look for; it belongs to the runtime", file));
  const Result<std::vector<std::byte>> bytes = util::read_file(path);
  if (!bytes.ok()) return refuse(Refusal::kFile, bytes.error());
  const codeobj::ContainerContents contents = codeobj::find_code_objects(*bytes);
  bool other_isa = false;
  for (const codeobj::ContainedCodeObject& found : contents.code_objects) {
    const Result<codeobj::CodeObject> object = codeobj::CodeObject::open(found.bytes);
    if (!object.ok()) continue;
    if (object->target() != capture.target) {
      other_isa |= object->find_kernel(captured.kernel->name) != nullptr;
      continue;
    }
    const codeobj::Kernel* kernel = object->find_kernel(captured.kernel->name);
    if (kernel == nullptr) continue;
    const swap::KernelInfo original = swap::describe(*captured.object, *captured.kernel);
    const swap::KernelInfo replacement = swap::describe(*object, *kernel);
    if (const swap::Verdict verdict = swap::check(original, replacement, swap::kAllowOwnVariables);
        !verdict.is_legal()) {
      return refuse(
          refusal_of(verdict.reason),
          errorf("%s: %s cannot run in the place of the captured kernel: %s; build one that "
                 "takes the same arguments",
                 file, util::escape_control(codeobj::short_name(kernel->name)).c_str(),
                 verdict.why.c_str()));
    }
    const Result<codeobj::ImageLayout> layout = codeobj::layout_of(*object);
    if (!layout.ok()) return refuse(Refusal::kNoKernel, layout.error());
    const Result<GpuAddr> base = memory.add(layout->size_bytes, /*executable=*/true);
    if (!base.ok()) return refuse(Refusal::kNoMemory, base.error());
    const Status loaded =
        codeobj::load_image(*object, memory.bytes(*base, layout->size_bytes), *base);
    if (!loaded.ok()) return refuse(Refusal::kNoKernel, loaded.error());
    dispatch.kernel_object = *base + kernel->descriptor_address;
    const swap::LaunchRules rules = swap::launch_rules(original, replacement, /*lds_limit=*/0);
    const uint32_t lds = dispatch.group_segment_bytes;
    if (swap::check_launch(rules, capture.dispatch.workgroup_size, lds) != swap::Reason::kNone)
      return refuse(
          Refusal::kLayout,
          errorf("%s: %s", file,
                 swap::describe_launch(rules, capture.dispatch.workgroup_size, lds).c_str()));
    dispatch.group_segment_bytes = swap::lds_for(rules, lds);
    dispatch.private_segment_bytes = swap::scratch_for(rules, dispatch.private_segment_bytes);
    return {};
  }
  const std::string name = util::escape_control(codeobj::short_name(captured.kernel->name));
  const std::string target = amd::to_string(capture.target);
  if (other_isa) {
    return refuse(Refusal::kIsa, errorf("%s: has %s for other GPUs, not for %s; compile it with "
                                        "--offload-arch=%s",
                                        file, name.c_str(), target.c_str(), target.c_str()));
  }
  return refuse(Refusal::kNoKernel,
                errorf("%s: no kernel %s in it; see wavetap gpu coverage %s", file,
                       util::escape_control(captured.kernel->name).c_str(), file));
}

}  // namespace

ReplayResult run_replay(const Capture& capture, const CapturedKernel& kernel,
                        CapturedMemory& memory, const ReplayOptions& options) {
  if (std::string why = needed_and_missing(capture, kernel, memory); !why.empty())
    return refuse(Refusal::kArgument, {std::move(why)});
  emu::Dispatch dispatch = make_dispatch(capture);
  if (!options.swap.empty()) {
    ReplayResult swapped = swap_kernel(capture, kernel, options.swap, memory, dispatch);
    if (swapped.refusal != Refusal::kNone) return swapped;
  }
  const CapturedArgument* const hostcall = hostcall_argument(kernel);
  std::unique_ptr<EngineServices> services;
  if (hostcall != nullptr) {
    Result<std::unique_ptr<EngineServices>> made = EngineServices::make(capture, memory);
    if (!made.ok()) return refuse(Refusal::kNoMemory, made.error());
    services = std::move(*made);
  }
  ReplayHost host(services == nullptr ? nullptr : &services->server());
  dispatch.count = options.count;
  dispatch.watchers = options.watchers;
  dispatch.memory = &memory;
  dispatch.host = &host;
  dispatch.cancelled = &host.cancelled;
  emu::Engine engine({.threads = static_cast<int>(options.threads),
                      .seed = options.seed,
                      .watchdog_instructions = options.watchdog_instructions,
                      .naps = options.watchdog_instructions == 0 || services != nullptr,
                      .compiler = options.compiler});
  ReplayResult result;
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
    if (options.workgroups) set_workgroups(*options.workgroups, kernel, patches, dispatch);
    if (options.before) options.before(dispatch);
    const auto start = std::chrono::steady_clock::now();
    emu::DispatchResult ran = engine.run(dispatch);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (i >= options.warmup) result.seconds.push_back(took.count());
    if (options.after) options.after(dispatch, ran);
    result.counters = ran.counters;
    result.fault = ran.fault;
    if (host.is_refused)
      return refuse(Refusal::kArgument,
                    errorf("%s: %s; capture a launch that does not",
                           util::escape_control(capture.kernel).c_str(), host.why().c_str()));
    if (ran.fault) break;
  }
  for (int axis = 0; axis < 3; ++axis) {
    const uint32_t size = dispatch.workgroup_size[axis];
    result.workgroups[axis] = (dispatch.grid_size[axis] + size - 1) / size;
  }
  return result;
}

}  // namespace wavetap::replay
