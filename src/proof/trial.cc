#include "proof/trial.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cachesim/memory_watch.h"
#include "profile/engine_sample.h"
#include "profile/work_of.h"
#include "proof/candidate_code.h"
#include "proof/captured_map.h"
#include "proof/describe.h"
#include "proof/shaped_capture.h"
#include "replay/describe_fault.h"
#include "replay/replay_run.h"
#include "sanitize/session.h"
#include "swap/kernel_info.h"
#include "timing/kernel_time.h"
#include "util/json.h"
#include "util/json_library.h"

namespace wavetap::proof {
namespace {

using replay::Capture;
using replay::CapturedKernel;
using replay::CapturedMemory;

Trial failed(Outcome outcome, std::string reason) {
  return {outcome, std::move(reason), {}, 0, {}};
}

profile::Sample sample_of(const Capture& capture, const codeobj::Kernel& kernel) {
  profile::Sample sample;
  sample.kernel = capture.kernel;
  for (int axis = 0; axis < 3; ++axis) {
    sample.grid[axis] = std::max(capture.dispatch.grid_size[axis], 1u);
    sample.workgroup[axis] = std::max<uint16_t>(capture.dispatch.workgroup_size[axis], 1);
  }
  sample.vgprs = kernel.vgpr_count;
  sample.agprs = kernel.agpr_count;
  sample.sgprs = kernel.sgpr_count;
  sample.vgpr_spills = kernel.vgpr_spill_count;
  sample.wave_size = kernel.wave64(capture.target) ? 64 : 32;
  return sample;
}

std::map<std::string, double> figures_of(const model::Model& model, profile::Sample& sample) {
  const profile::Work work = profile::work_of(model, sample);
  const timing::KernelTime time = timing::kernel_time(model, work.kernel, work.needs);
  return {{"time", time.seconds},
          {"instructions", work.instructions},
          {"bytes", work.kernel.dram_bytes},
          {"l2_bytes", work.kernel.l2_bytes},
          {"conflicts", work.kernel.lds_conflicts},
          {"lines", work.kernel.lines},
          {"vgprs", sample.vgprs},
          {"sgprs", sample.sgprs},
          {"lds", static_cast<double>(sample.lds_bytes)},
          {"scratch", static_cast<double>(sample.scratch_bytes)},
          {"spills", sample.vgpr_spills},
          {"occupancy", time.occupancy.share()}};
}

// The workgroups of a part of a dispatch: fewer along the axis that has most.
LaunchShape part_of(const Capture& capture, double part) {
  std::array<uint32_t, 3> groups{};
  for (size_t axis = 0; axis < 3; ++axis) {
    const uint32_t size = std::max<uint32_t>(capture.dispatch.workgroup_size[axis], 1);
    groups[axis] = (std::max(capture.dispatch.grid_size[axis], 1u) + size - 1) / size;
  }
  uint32_t& most = *std::max_element(groups.begin(), groups.end());
  most = std::max(1u, static_cast<uint32_t>(std::ceil(most * part)));
  return {{}, groups};
}

// The captured kernel or the candidate, with what keeps it alive.
struct Code {
  std::unique_ptr<CandidateCode> opened;
  const codeobj::Kernel* kernel = nullptr;
};

Result<Code> find_code(const TrialOptions& options, const Capture& capture,
                       const CapturedKernel& captured) {
  if (options.code.empty()) {
    if (captured.kernel == nullptr)
      return errorf("the captured kernel belongs to the runtime; capture one of the program's");
    return Code{nullptr, captured.kernel};
  }
  Result<std::unique_ptr<CandidateCode>> opened = open_candidate(options.code, capture, captured);
  if (!opened.ok()) return opened.error();
  const codeobj::Kernel* kernel = (*opened)->kernel;
  return Code{std::move(*opened), kernel};
}

// Takes note of how far results are from the captured ones, whatever is said of them.
class ErrorMeter {
 public:
  explicit ErrorMeter(replay::ElementJudge inner) : inner_(std::move(inner)) {}
  replay::ElementJudge judge() {
    return [this](const replay::ElementPair& pair) {
      if (const auto error = replay::error_between(pair.element, pair.expected, pair.got)) {
        most_.absolute = std::max(most_.absolute, error->absolute);
        most_.relative = std::max(most_.relative, error->relative);
        most_.ulps = std::max(most_.ulps, error->ulps);
      }
      return inner_(pair);
    };
  }
  void add_to(std::map<std::string, double>& figures) const {
    // JSON has no infinity.
    constexpr double kMost = std::numeric_limits<double>::max();
    figures["error_abs"] = std::min(most_.absolute, kMost);
    figures["error_rel"] = std::min(most_.relative, kMost);
    figures["error_ulp"] = std::min(most_.ulps, kMost);
  }

 private:
  const replay::ElementJudge inner_;
  replay::ElementError most_;
};

// With the sanitizer, in a run of its own: what it watches need not be measured.
std::string sanitize_errors(const TrialOptions& options, const Capture& capture,
                            const CapturedKernel& captured, CapturedMemory& memory) {
  if (!options.tools) return "";
  const sanitize::FixedMap map = memory_map(capture);
  sanitize::Session session({.tools = *options.tools});
  session.begin(map);
  memory.restore();
  ShapePatches patches(captured, memory);
  replay::ReplayOptions replay;
  replay.swap = options.code;
  replay.seed = options.seed;
  replay.threads = options.threads;
  replay.watchdog_instructions = options.watchdog_instructions;
  replay.watchers = session.watchers();
  replay.before = [&](emu::Dispatch& dispatch) { patches.write(dispatch); };
  replay.after = [&](const emu::Dispatch&, const emu::DispatchResult&) { patches.take_back(); };
  const replay::ReplayResult ran = replay::run_replay(capture, captured, memory, replay);
  std::string errors = describe_errors(session.take().findings);
  if (errors.empty() && ran.fault)
    errors = replay::describe_fault(capture, captured, memory, *ran.fault);
  return errors;
}

Trial run_loaded(const TrialOptions& options, const replay::CaptureFile& file,
                 const Capture& capture) {
  const CapturedKernel captured = replay::find_captured_kernel(file, capture);
  const Result<Code> code = find_code(options, capture, captured);
  if (!code.ok()) return failed(Outcome::kRefused, code.error().message);
  const Result<std::unique_ptr<CapturedMemory>> loaded = CapturedMemory::load(file, capture);
  if (!loaded.ok()) return failed(Outcome::kCrash, loaded.error().message);
  CapturedMemory& memory = **loaded;
  cachesim::MemoryWatch watch(options.model);
  emu::Watcher* const watchers[] = {&watch};
  ShapePatches patches(captured, memory);
  profile::Sample sample = sample_of(capture, *code->kernel);
  replay::ReplayOptions replay;
  replay.count = true;
  replay.swap = options.code;
  replay.seed = options.seed;
  replay.threads = options.threads;
  replay.watchdog_instructions = options.watchdog_instructions;
  replay.watchers = watchers;
  replay.before = [&](emu::Dispatch& dispatch) {
    patches.write(dispatch);
    sample.lds_bytes = dispatch.group_segment_bytes;
    sample.scratch_bytes = dispatch.private_segment_bytes;
  };
  replay.after = [&](const emu::Dispatch&, const emu::DispatchResult&) { patches.take_back(); };
  const replay::ReplayResult ran = replay::run_replay(capture, captured, memory, replay);
  if (ran.refusal != replay::Refusal::kNone) return failed(Outcome::kRefused, ran.why);
  if (ran.fault)
    return failed(Outcome::kFault, replay::describe_fault(capture, captured, memory, *ran.fault));
  Trial trial;
  trial.code_hash = swap::code_hash(*code->kernel);
  profile::add_counters(ran.counters, sample);
  profile::add_memory(watch.result(), capture.target, sample);
  trial.figures = figures_of(options.model, sample);
  if (options.part < 1) return trial;
  PrecisionJudge precision(options.precision(), captured);
  ErrorMeter meter(precision.judge());
  const replay::Verdict verdict = replay::verify(file, capture, captured, memory, meter.judge());
  if (!verdict.equal()) {
    trial.outcome = Outcome::kWrong;
    trial.reason = describe_verdict(captured, verdict);
    return trial;
  }
  meter.add_to(trial.figures);
  const Precision found = precision.find(capture, memory, [&] { memory.restore(); });
  trial.precision = found.note;
  if (found.outcome != Outcome::kGood) {
    trial.outcome = found.outcome;
    trial.reason = found.reason;
    return trial;
  }
  trial.reason = sanitize_errors(options, capture, captured, memory);
  if (!trial.reason.empty()) trial.outcome = Outcome::kUnclean;
  return trial;
}

}  // namespace

Trial run_trial(const TrialOptions& options) {
  const Result<std::unique_ptr<replay::CaptureFile>> file = replay::CaptureFile::open(options.file);
  if (!file.ok()) return failed(Outcome::kCrash, file.error().message);
  const std::vector<Capture>& captures = (*file)->captures();
  const auto found = std::find_if(captures.begin(), captures.end(), [&](const Capture& capture) {
    return capture.dispatch.capture == options.capture;
  });
  if (found == captures.end() || !found->has_before || !found->has_after)
    return failed(Outcome::kCrash, options.file + ": has no whole capture of that number");
  Result<Capture> shaped = with_shape(*found, options.shape);
  if (shaped.ok() && options.part < 1) shaped = with_shape(*shaped, part_of(*shaped, options.part));
  if (!shaped.ok()) return failed(Outcome::kRefused, shaped.error().message);
  return run_loaded(options, **file, *shaped);
}

std::string to_text(const Trial& trial) {
  const nlohmann::ordered_json json = {{"outcome", name_of(trial.outcome)},
                                       {"reason", trial.reason},
                                       {"figures", trial.figures},
                                       {"code_hash", trial.code_hash},
                                       {"precision", trial.precision}};
  return util::json_line(json);
}

Result<Trial> parse_trial(const std::string& text) {
  const nlohmann::ordered_json json = util::read_json(text);
  try {
    Trial trial;
    const auto outcome = outcome_named(json.at("outcome").get<std::string>());
    if (!outcome) return errorf("trial: not understood");
    trial.outcome = *outcome;
    trial.reason = json.at("reason").get<std::string>();
    trial.figures = json.at("figures").get<std::map<std::string, double>>();
    trial.code_hash = json.at("code_hash").get<uint64_t>();
    trial.precision = json.at("precision").get<std::string>();
    return trial;
  } catch (const nlohmann::ordered_json::exception&) {
    return errorf("trial: not understood");
  }
}

}  // namespace wavetap::proof
