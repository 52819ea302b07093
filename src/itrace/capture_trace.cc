#include "itrace/capture_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "cachesim/memory_watch.h"
#include "codeobj/code_object.h"
#include "codeobj/source_map.h"
#include "isa/program.h"
#include "itrace/code_rows.h"
#include "itrace/schedule.h"
#include "replay/captured_kernel.h"
#include "replay/captured_memory.h"
#include "replay/describe_fault.h"
#include "replay/replay_run.h"
#include "util/text.h"

namespace wavetap::itrace {
namespace {

constexpr uint64_t kMostInstructionBytes = 24;

CodeRows rows_of(const Recorder& recorder, const std::vector<RecordedWave>& waves,
                 const replay::CapturedKernel& kernel, const replay::CapturedMemory& memory,
                 const replay::Capture& capture) {
  std::set<uint64_t> functions;
  for (const RecordedWave& wave : waves)
    for (const uint32_t site : wave.sites) functions.insert(recorder.sites()[site].program_begin);
  std::vector<CodePlace> places;
  for (const Site& site : recorder.sites())
    if (functions.contains(site.program_begin))
      places.push_back({site.program_begin - kernel.load_delta, site.pc - kernel.load_delta});
  const codeobj::SourceMap sources =
      kernel.object == nullptr ? codeobj::SourceMap() : codeobj::SourceMap(kernel.object->elf());
  CodeNames names;
  names.entry = recorder.entry() - kernel.load_delta;
  if (kernel.kernel != nullptr) names.name = kernel.kernel->name;
  names.demangled = capture.kernel;
  return make_rows(std::move(places), names, sources, [&](uint64_t address) -> std::string {
    for (uint64_t size = kMostInstructionBytes; size >= 4; size -= 4) {
      const std::span<const std::byte> bytes = memory.bytes({address + kernel.load_delta}, size);
      if (!bytes.empty())
        return isa::disassemble(bytes, capture.target, recorder.needs().wave64, {address});
    }
    return "";
  });
}

// Waves by the unit they run on.
std::vector<std::vector<const RecordedWave*>> by_unit(const std::vector<RecordedWave>& waves) {
  std::map<std::pair<uint32_t, uint32_t>, std::vector<const RecordedWave*>> units;
  for (const RecordedWave& wave : waves)
    if (!wave.sites.empty()) units[{wave.unit.se, wave.unit.cu}].push_back(&wave);
  std::vector<std::vector<const RecordedWave*>> lists;
  for (auto& [unit, list] : units) lists.push_back(std::move(list));
  return lists;
}

void count_losses(const std::vector<RecordedWave>& waves, const Recorder& recorder, Trace& trace) {
  trace.losses.waves_elsewhere = recorder.waves_elsewhere();
  for (const RecordedWave& wave : waves) {
    if (wave.lost == 0) continue;
    ++(wave.sites.empty() ? trace.losses.waves_left_out : trace.losses.waves_cut);
    trace.losses.instructions_lost += wave.lost;
  }
}

void schedule_waves(const std::vector<RecordedWave>& recorded,
                    const std::vector<SiteTiming>& timings, const model::Model& model,
                    const model::KernelNeeds& needs, const UnitChoice& choice,
                    const std::vector<uint32_t>& row_of_site, Trace& trace) {
  const model::Occupancy occupancy = model::occupancy(model, needs);
  ScheduleOptions options;
  options.gfx_major = model.target.major;
  options.workgroups = std::max(occupancy.workgroups_per_unit, 1u);
  options.simds = std::max(occupancy.simds_per_unit, 1u);
  options.slots = std::max(occupancy.max_waves_per_simd, 1u);
  for (const std::vector<const RecordedWave*>& unit : by_unit(recorded)) {
    for (Wave& wave : schedule(unit, timings, options)) {
      if ((choice.simds >> wave.simd & 1) == 0) {
        ++trace.losses.waves_elsewhere;
        continue;
      }
      for (Issue& issue : wave.issues) issue.row = row_of_site[issue.row];
      for (Wait& wait : wave.waits) {
        wait.row = row_of_site[wait.row];
        for (uint32_t& producer : wait.producers) producer = row_of_site[producer];
      }
      trace.waves.push_back(std::move(wave));
    }
  }
}

// Files name waves by engine, SIMD and slot, not by unit: those of several units count on.
void number_waves(Trace& trace) {
  std::stable_sort(trace.waves.begin(), trace.waves.end(), [](const Wave& a, const Wave& b) {
    return std::tuple(a.se, a.simd, a.slot, a.cu, a.begin) <
           std::tuple(b.se, b.simd, b.slot, b.cu, b.begin);
  });
  const Wave* last = nullptr;
  for (Wave& wave : trace.waves) {
    const bool goes_on = last != nullptr && std::tie(last->se, last->simd, last->slot) ==
                                                std::tie(wave.se, wave.simd, wave.slot);
    wave.id = goes_on ? last->id + 1 : 0;
    last = &wave;
  }
}

}  // namespace

Result<CapturedTrace> trace_capture(const replay::CaptureFile& file, const replay::Capture& capture,
                                    const model::Model& model, const UnitChoice& choice) {
  const replay::CapturedKernel kernel = replay::find_captured_kernel(file, capture);
  const Result<std::unique_ptr<replay::CapturedMemory>> memory =
      replay::CapturedMemory::load(file, capture);
  if (!memory.ok()) return memory.error();
  Recorder recorder(unit_map(model), choice);
  cachesim::MemoryWatch caches(model);
  emu::Watcher* watchers[] = {&recorder, &caches};
  replay::ReplayOptions options;
  options.watchers = watchers;
  options.threads = 1;  // so that a limit always cuts at the same place
  const replay::ReplayResult ran = replay::run_replay(capture, kernel, **memory, options);
  if (ran.refusal != replay::Refusal::kNone) return Error{ran.why};

  CapturedTrace made;
  Trace& trace = made.trace;
  trace.kernel = capture.kernel;
  trace.gpu = model.marketing_name;
  trace.target = amd::to_string(capture.target);
  trace.gfx_major = capture.target.major;
  trace.is_modelled = true;
  trace.clock_hz = double(model.book_clock_mhz()) * 1e6;
  if (ran.fault)
    trace.notes.push_back("the kernel was stopped: " +
                          replay::describe_fault(capture, kernel, **memory, *ran.fault));
  if (capture.target != model.target)
    trace.notes.push_back(fmt::format(
        "the captured code is {}'s, run as it is; compiled for {} the kernel has other instructions",
        amd::to_string(capture.target), amd::to_string(model.target)));

  const std::vector<RecordedWave> recorded = recorder.take_waves();
  count_losses(recorded, recorder, trace);
  CodeRows rows = rows_of(recorder, recorded, kernel, **memory, capture);
  std::vector<uint32_t> row_of_site;
  for (const Site& site : recorder.sites()) {
    const auto row = rows.row_of.find(site.pc - kernel.load_delta);
    row_of_site.push_back(row == rows.row_of.end() ? 0 : row->second);
  }
  const std::vector<SiteTiming> timings =
      time_sites(recorder.sites(), model, recorder.needs().wave64, caches.result());
  schedule_waves(recorded, timings, model, recorder.needs(), choice, row_of_site, trace);
  trace.code = std::move(rows.rows);
  trace.entry_row = rows.entry_row;
  number_waves(trace);
  add_up(trace);
  made.code.image = kernel.image;
  made.code.load_delta = kernel.load_delta;
  made.code.entry = recorder.entry() - kernel.load_delta;
  return made;
}

}  // namespace wavetap::itrace
