#include "agent/capture_policy.h"

#include <regex.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>

#include "agent/allocations.h"
#include "agent/capture_memory.h"
#include "agent/capture_request.h"
#include "agent/captured_code.h"
#include "agent/dispatch_policy.h"
#include "agent/hsa_facts.h"
#include "agent/hsa_table.h"
#include "agent/recording.h"
#include "amd/gfx_target.h"
#include "base/sys_files.h"
#include "capture/capture_facts.h"
#include "capture/capture_writer.h"

namespace wavetap::agent {
namespace {

using capture::Payload;
using format::CapturePhase;
using format::CaptureRecordType;

struct State {
  const CaptureRequest& request;
  regex_t pattern{};
  bool has_pattern = false;
  std::atomic<uint64_t> matched{0};
  std::atomic<uint64_t> taken{0};
  std::atomic<bool> failed{false};

  // Under g_capture_lock.
  struct Chosen {
    uint64_t dispatch = 0;
    uint64_t launch = 0;
    const CapturableKernel* kernel = nullptr;
  };
  std::vector<Chosen> chosen;  // not frozen yet
  std::unique_ptr<capture::CaptureWriter> writer;
  uint32_t writer_pid = 0;
  uint32_t captures = 0;
  // What was frozen last and has not run yet: one dispatch at a time runs alone.
  struct Range {
    ReachableRange range;
    capture::PageRuns pages;
  };
  std::vector<Range> ranges;

  explicit State(const CaptureRequest& asked) : request(asked) {}
};

constinit State* g_capture = nullptr;  // set once
constinit LockWord g_capture_lock;

bool is_chosen(const std::string& shown, const std::string& symbol) {
  if (g_capture->has_pattern)
    return ::regexec(&g_capture->pattern, shown.c_str(), 0, nullptr, 0) == 0;
  return !symbol.starts_with("__amd_rocclr_");
}

bool wants_launch(const CaptureRequest& request, uint64_t launch) {
  if (!request.launches.empty()) return request.launches.contains(launch);
  return (launch - 1) % request.every == 0;
}

// ---- records --------------------------------------------------------------------------------------

std::string agent_text(uint64_t agent, uint32_t attribute) {
  char text[128] = {};
  return hsa().hsa_agent_get_info(agent, attribute, text) == kHsaSuccess ? text : "";
}

uint32_t agent_value(uint64_t agent, uint32_t attribute, uint32_t otherwise) {
  uint32_t value = 0;
  return hsa().hsa_agent_get_info(agent, attribute, &value) == kHsaSuccess && value != 0
             ? value
             : otherwise;
}

// "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-": from the target on.
std::string target_id(uint64_t agent) {
  uint64_t isa = 0;
  char name[256] = {};
  if (hsa().hsa_agent_get_info(agent, amd::kAgentIsa, &isa) != kHsaSuccess ||
      hsa().hsa_isa_get_info_alt == nullptr ||
      hsa().hsa_isa_get_info_alt(isa, amd::kIsaName, name) != kHsaSuccess)
    return agent_text(agent, amd::kAgentName);
  const char* const gfx = std::strstr(name, "gfx");
  return gfx == nullptr ? name : gfx;
}

uint32_t gpu_index(uint64_t agent) {
  for (uint32_t i = 0; gpu_agent(i) != 0; ++i)
    if (gpu_agent(i) == agent) return i;
  return 0;
}

void put_dispatch(State& state, const DispatchView& view, const State::Chosen& chosen,
                  bool is_alone) {
  const amd::KernelDispatchPacket& packet = view.packet;
  const std::string id = target_id(view.agent);
  const amd::GfxTarget target = amd::parse_gfx_target(id).value_or(amd::GfxTarget{});
  format::CaptureDispatch record{};
  record.capture = state.captures;
  record.flags = (is_alone ? 0 : format::kCaptureUnordered) |
                 (view.queue->type == kQueueCooperative ? format::kCaptureCooperative : 0) |
                 (amd::expects_sram_ecc(id) ? format::kCaptureSramEcc : 0);
  record.launch = chosen.launch;
  record.dispatch = chosen.dispatch;
  std::memcpy(record.packet, &packet, sizeof record.packet);
  record.packet_address = view.packet_address;
  record.queue_address = reinterpret_cast<uint64_t>(view.real_queue);
  record.dispatch_id = view.packet_number;
  record.kernel_object = packet.kernel_object;
  record.kernarg = packet.kernarg_address;
  for (int axis = 0; axis < 3; ++axis) {
    record.grid_size[axis] = std::max<uint32_t>(packet.grid_size[axis], 1);
    record.workgroup_size[axis] = std::max<uint16_t>(packet.workgroup_size[axis], 1);
  }
  record.group_segment_bytes = packet.group_segment_size;
  record.private_segment_bytes = packet.private_segment_size;
  record.queue = view.queue_number;
  record.gpu = gpu_index(view.agent);
  record.compute_units = agent_value(view.agent, amd::kAgentComputeUnits, 1);
  record.xccs = agent_value(view.agent, amd::kAgentXccs, 1);
  record.target[0] = target.major;
  record.target[1] = target.minor;
  record.target[2] = target.stepping;
  record.pid = sys::pid();
  timespec wall{};
  ::clock_gettime(CLOCK_REALTIME, &wall);
  record.wall_ns = wall.tv_sec * 1'000'000'000LL + wall.tv_nsec;
  Payload payload(record);
  payload.text(chosen.kernel->name);
  payload.text(agent_text(view.agent, amd::kAgentName));
  payload.text(agent_text(view.agent, amd::kAgentProductName));
  payload.text(capture::command_line());
  state.writer->put(CaptureRecordType::kDispatch, payload);
}

void put_facts(State& state, const DispatchView& view) {
  capture::FactList facts(state.captures);
  const auto device = [&](const char* key, uint32_t attribute) {
    facts.add(key, std::to_string(agent_value(view.agent, attribute, 0)));
  };
  facts.add("wavetap", WAVETAP_VERSION);
  facts.add("device.target", target_id(view.agent));
  device("device.compute_units", amd::kAgentComputeUnits);
  device("device.clock_mhz", amd::kAgentMaxClockMhz);
  device("device.wavefront", amd::kAgentWavefrontSize);
  facts.add("device.lds_bytes", std::to_string(lds_bytes_of(view.agent)));
  capture::add_libraries(facts);
  if (view.launch != nullptr)
    capture::add_host_stack(facts, std::span(view.launch->stack, view.launch->frames));
  allocations(MemoryLayer::kHip).each([&](const LiveAllocation& allocation) {
    facts.add(format::kCaptureRequestedFact + std::to_string(allocation.address),
              std::to_string(allocation.bytes));
  });
  each_hip_allocation(
      [](void* list, const format::HipAllocation* allocation) {
        capture::add_hip_allocation(*static_cast<capture::FactList*>(list), *allocation);
      },
      &facts);
  state.writer->put(facts);
}

void put_code(State& state, const DispatchView& view) {
  constexpr uint64_t kPageBytes = format::kCapturePageBytes;
  uint32_t number = 0;
  for_each_code(view.agent, [&](const CodeInMemory& code) {
    const std::byte* const image = code.copy.empty() ? code.image : code.copy.data();
    const uint64_t bytes = code.copy.empty() ? code.image_bytes : code.copy.size();
    if (image == nullptr) return;
    capture::PageRuns pages;
    for (uint64_t at = 0; at < bytes; at += kPageBytes) {
      std::byte page[kPageBytes] = {};
      std::memcpy(page, image + at, std::min<uint64_t>(kPageBytes, bytes - at));
      if (const uint32_t id = state.writer->put_page(page); id != 0)
        pages.add(static_cast<uint32_t>(at / kPageBytes), id);
    }
    Payload payload(format::CaptureCodeObject{state.captures, number, code.load_delta, bytes});
    payload.text(code.uri);
    state.writer->put(CaptureRecordType::kCodeObject, payload);
    state.writer->put_runs(state.captures, number, CapturePhase::kCodeObject, pages);
    ++number;
  });
}

// The packet as the GPU will find it lies there only once it is submitted.
void place_packet(const DispatchView& view, const ReachableRange& range, uint32_t page,
                  std::byte* bytes) {
  const uint64_t begin = range.address + uint64_t{page} * format::kCapturePageBytes;
  const uint64_t at = view.packet_address - begin;
  if (at <= format::kCapturePageBytes - sizeof view.packet)
    std::memcpy(bytes + at, &view.packet, sizeof view.packet);
}

void put_range(State& state, const DispatchView& view, RangeReader& reader, State::Range& of,
               uint32_t number) {
  const ReachableRange& range = of.range;
  format::CaptureRegion record{};
  record.capture = state.captures;
  record.region = number;
  record.address = range.address;
  record.size_bytes = range.bytes;
  record.kind = range.kind;
  record.origin = range.origin;
  record.rights = range.rights;
  record.flags = range.flags;
  record.allocation_address = range.allocation;
  record.allocation_bytes = range.allocation_bytes;
  const bool all_read = reader.read(range, [&](uint32_t page, const std::byte* bytes) {
    std::byte copy[format::kCapturePageBytes];
    std::memcpy(copy, bytes, sizeof copy);
    place_packet(view, range, page, copy);
    if (const uint32_t id = state.writer->put_page(copy); id != 0) of.pages.add(page, id);
  });
  if (!all_read) record.flags |= format::kCaptureUnreadable;
  state.writer->put(CaptureRecordType::kRegion, Payload(record));
  state.writer->put_runs(state.captures, number, CapturePhase::kBefore, of.pages);
}

// ---- before and after -----------------------------------------------------------------------------

void finish(State& state, int error) {
  if (error == 0 || state.failed.exchange(true, std::memory_order_relaxed)) return;
  say("error: capture: %s: cannot be written: %s; nothing more is captured",
      state.writer->path().c_str(), strerrordesc_np(error));
}

// A file per process, also where a child of fork() goes on.
bool open_file(State& state) {
  if (state.writer_pid != sys::pid()) {
    state.writer_pid = sys::pid();
    state.captures = 0;
    state.writer.reset(new (std::nothrow) capture::CaptureWriter(
        state.request.folder + "/" + std::to_string(sys::pid()) + ".wtcap"));
  }
  return state.writer != nullptr;
}

void freeze(State& state, const DispatchView& view, bool is_alone) {
  const Locked locked(g_capture_lock);
  const auto found =
      std::find_if(state.chosen.begin(), state.chosen.end(),
                   [&](const State::Chosen& chosen) { return chosen.dispatch == view.number; });
  state.ranges.clear();
  if (found == state.chosen.end()) return;
  const State::Chosen chosen = *found;
  state.chosen.erase(found);
  if (!open_file(state)) return;
  int error = state.writer->begin();
  if (error == 0) {
    ++state.captures;
    put_dispatch(state, view, chosen, is_alone);
    put_facts(state, view);
    put_code(state, view);
    RangeReader reader;
    for (const ReachableRange& range : reachable_ranges(view)) state.ranges.push_back({range, {}});
    for (uint32_t i = 0; i < state.ranges.size(); ++i)
      put_range(state, view, reader, state.ranges[i], i);
    state.writer->put(CaptureRecordType::kBeforeDone,
                      Payload(format::CaptureMark{state.captures, 0}));
    error = state.writer->end();
  }
  finish(state, error);
}

void put_changes(State& state, const DispatchView& view, RangeReader& reader) {
  for (uint32_t number = 0; number < state.ranges.size(); ++number) {
    const State::Range& of = state.ranges[number];
    capture::PageRuns changes;
    reader.read(of.range, [&](uint32_t page, const std::byte* bytes) {
      std::byte copy[format::kCapturePageBytes];
      std::memcpy(copy, bytes, sizeof copy);
      place_packet(view, of.range, page, copy);
      if (!state.writer->holds(of.pages.id_of(page), copy))
        changes.add(page, state.writer->put_page(copy));
    });
    state.writer->put_runs(state.captures, number, CapturePhase::kAfter, changes);
  }
}

class CapturePolicy final : public DispatchPolicy {
 public:
  Verdict before(DispatchView& dispatch) noexcept override {
    State& state = *g_capture;
    if (state.failed.load(std::memory_order_relaxed)) return Verdict::kPass;
    const CapturableKernel* const kernel = find_capturable(dispatch.packet.kernel_object);
    if (kernel == nullptr) return Verdict::kPass;
    if (!state.request.range.empty() &&
        (dispatch.launch == nullptr || dispatch.launch->is_in_range == 0))
      return Verdict::kPass;
    const uint64_t launch = state.matched.fetch_add(1, std::memory_order_relaxed) + 1;
    if (!wants_launch(state.request, launch)) return Verdict::kPass;
    if (state.request.max != 0 &&
        state.taken.fetch_add(1, std::memory_order_relaxed) >= state.request.max)
      return Verdict::kPass;
    const Locked locked(g_capture_lock);
    state.chosen.push_back({dispatch.number, launch, kernel});
    return Verdict::kAlone;
  }

  void alone_before(DispatchView& dispatch) noexcept override {
    freeze(*g_capture, dispatch, true);
  }

  void alone_after(const DispatchView& dispatch, const DispatchTimes& times) noexcept override {
    State& state = *g_capture;
    const Locked locked(g_capture_lock);
    if (state.ranges.empty() || state.failed.load(std::memory_order_relaxed)) return;
    int error = state.writer->begin();
    if (error == 0) {
      const bool ended = times.start != 0 || times.end != 0;
      if (ended) {
        RangeReader reader;
        put_changes(state, dispatch, reader);
      }
      format::CaptureEnd end{};
      end.capture = state.captures;
      // Without times it never ended, and what it did to memory is not known.
      end.flags = ended ? 0 : format::kCaptureFaulted | format::kCaptureCancelled;
      end.begin_ticks = times.start;
      end.end_ticks = times.end;
      Payload payload(end);
      payload.text(ended ? "" : "the queue stopped");
      state.writer->put(CaptureRecordType::kEnd, payload);
      error = state.writer->end();
    }
    state.ranges.clear();
    finish(state, error);
  }

  void alone_given_up(const DispatchView&) noexcept override {
    State& state = *g_capture;
    const Locked locked(g_capture_lock);
    if (state.ranges.empty() || state.failed.load(std::memory_order_relaxed)) return;
    int error = state.writer->begin();
    if (error == 0) {
      format::CaptureEnd end{};
      end.capture = state.captures;
      end.flags = format::kCaptureCancelled | format::kCaptureEndUnordered;
      Payload payload(end);
      payload.text("");
      state.writer->put(CaptureRecordType::kEnd, payload);
      error = state.writer->end();
    }
    state.ranges.clear();
    finish(state, error);
  }

  void not_alone(const DispatchView& dispatch) noexcept override {
    freeze(*g_capture, dispatch, false);
  }

  int64_t patience_ns() const noexcept override {
    return static_cast<int64_t>(g_capture->request.drain_s) * 1'000'000'000;
  }
};
constinit CapturePolicy g_policy;

}  // namespace

void start_capture() {
  const CaptureRequest* const request = capture_request();
  if (g_capture != nullptr || request == nullptr || request->folder.empty()) return;
  auto* const state = new (std::nothrow) State(*request);
  if (state == nullptr) return;
  state->has_pattern =
      !request->kernel.empty() &&
      ::regcomp(&state->pattern, request->kernel.c_str(), REG_EXTENDED | REG_NOSUB) == 0;
  g_capture = state;
  watch_code(&is_chosen);
  if (!add_dispatch_policy(g_policy)) say("error: capture: too many tools; nothing is captured");
}

void forget_capture() {
  if (g_capture == nullptr) return;
  forget_code();
  const Locked locked(g_capture_lock);
  g_capture->chosen.clear();
}

void unlock_capture_after_fork() {
  new (&g_capture_lock) LockWord;
  unlock_code_after_fork();
  if (g_capture != nullptr) g_capture->chosen.clear();
}

}  // namespace wavetap::agent
