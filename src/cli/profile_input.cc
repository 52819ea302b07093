#include "cli/profile_input.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "cachesim/memory_watch.h"
#include "cli/foreign_input.h"
#include "cli/gpu_start.h"
#include "cli/install_tree.h"
#include "cli/run_dir.h"
#include "cli/trace_input.h"
#include "codeobj/code_object.h"
#include "codeobj/source_map.h"
#include "foreign/recording.h"
#include "isa/program.h"
#include "model/model.h"
#include "profile/engine_sample.h"
#include "replay/capture_file.h"
#include "replay/captured_kernel.h"
#include "replay/captured_memory.h"
#include "replay/describe_fault.h"
#include "replay/replay_run.h"
#include "util/file.h"

namespace wavetap::cli {
namespace {

using profile::Sample;

Result<model::Model> model_named(const std::string& name) {
  Result<std::vector<model::Model>> models = find_models({name});
  if (!models.ok()) return models.error();
  return models->front();
}

// The GPU of a trace: by its product's name, else by its target.
Result<model::Model> model_of(const store::Trace& trace, const std::string& path) {
  const std::vector<model::Model> known = model::sound_models(models_folder());
  const model::Model* found = nullptr;
  for (const store::DeviceUse& device : trace.devices) {
    for (const model::Model& model : known)
      if (trace.str(device.product) == model.marketing_name) return model;
    for (const model::Model& model : known)
      if (found == nullptr && trace.str(device.name) == amd::to_string(model.target))
        found = &model;
  }
  if (found != nullptr) return *found;
  return errorf(
      "%s: does not say which GPU it is of, or one that no model describes; name it with --gpu "
      "(see wavetap gpu list)",
      path.c_str());
}

std::string read_text(const std::string& path) {
  if (path.empty() || access(path.c_str(), R_OK) != 0) return "";
  const Result<std::vector<std::byte>> bytes = util::read_file(path);
  if (!bytes.ok()) return "";
  return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
}

// Where the code of a captured kernel is, and what its lines are.
struct CodePlaces {
  const replay::CapturedMemory& memory;
  amd::GfxTarget target;
  bool wave64;
  uint64_t entry;
  uint64_t load_delta;
  codeobj::SourceMap source;
};

profile::Place place_of(const cachesim::SiteCounts& site, const CodePlaces& code) {
  profile::Place place;
  place.offset = site.pc.value >= code.entry ? site.pc.value - code.entry : 0;
  for (uint64_t size = 20; size >= 4; size -= 4) {
    const std::span<const std::byte> bytes = code.memory.bytes(site.pc, size);
    if (bytes.empty()) continue;
    place.instruction = isa::disassemble(bytes, code.target, code.wave64, site.pc);
    break;
  }
  const std::vector<codeobj::SourceFrame> frames =
      code.source.frames(site.pc.value - code.load_delta);
  if (!frames.empty()) place.source = codeobj::full_place(frames[codeobj::users_frame(frames)]);
  if (frames.size() > 1)
    for (const codeobj::SourceFrame& frame : frames)
      place.frames.push_back({frame.function, codeobj::full_place(frame)});
  place.executed = static_cast<double>(site.executed);
  place.instructions = site.instructions;
  place.lanes = static_cast<double>(site.lanes);
  place.bytes = static_cast<double>(site.lanes != 0 ? site.bytes : 0);
  place.lines = static_cast<double>(site.lines);
  place.lines_ideal = static_cast<double>(site.lines_ideal);
  place.l1_misses = static_cast<double>(site.l1_misses);
  place.l2_misses = static_cast<double>(site.l2_misses);
  place.lds_cycles = static_cast<double>(site.lds_cycles);
  place.lds_conflict_cycles = static_cast<double>(site.lds_conflict_cycles);
  return place;
}

Sample sample_of(const replay::Capture& capture, const replay::CapturedKernel& kernel) {
  Sample sample;
  sample.kernel = capture.kernel;
  for (int axis = 0; axis < 3; ++axis) {
    sample.grid[axis] = std::max(capture.dispatch.grid_size[axis], 1u);
    sample.workgroup[axis] = std::max<uint16_t>(capture.dispatch.workgroup_size[axis], 1);
  }
  sample.lds_bytes = capture.dispatch.group_segment_bytes;
  sample.scratch_bytes = capture.dispatch.private_segment_bytes;
  if (kernel.kernel == nullptr) return sample;
  sample.vgprs = kernel.kernel->vgpr_count;
  sample.agprs = kernel.kernel->agpr_count;
  sample.sgprs = kernel.kernel->sgpr_count;
  sample.vgpr_spills = kernel.kernel->vgpr_spill_count;
  sample.wave_size = kernel.kernel->wave64(capture.target) ? 64 : 32;
  return sample;
}

Result<Sample> replay_capture(const replay::CaptureFile& file, const replay::Capture& capture,
                              cachesim::MemoryWatch& watch) {
  const replay::CapturedKernel kernel = replay::find_captured_kernel(file, capture);
  const Result<std::unique_ptr<replay::CapturedMemory>> memory =
      replay::CapturedMemory::load(file, capture);
  if (!memory.ok()) return memory.error();
  emu::Watcher* watchers[] = {&watch};
  replay::ReplayOptions options;
  options.count = true;
  options.watchers = watchers;
  const replay::ReplayResult result = replay::run_replay(capture, kernel, **memory, options);
  if (result.refusal != replay::Refusal::kNone) return Error{result.why};
  if (result.fault)
    return errorf("%s: %s", capture.kernel.c_str(),
                  replay::describe_fault(capture, kernel, **memory, *result.fault).c_str());
  Sample sample = sample_of(capture, kernel);
  profile::add_counters(result.counters, sample);
  const cachesim::MemoryResult& found = watch.result();
  profile::add_memory(found, capture.target, sample);
  CodePlaces code{**memory, capture.target, sample.wave_size != 32, 0, kernel.load_delta, {}};
  if (kernel.kernel != nullptr) {
    code.entry = kernel.kernel->entry_address + kernel.load_delta;
    code.source = codeobj::SourceMap(kernel.object->elf());
  }
  for (const cachesim::SiteCounts& site : found.accesses)
    sample.accesses.push_back(place_of(site, code));
  for (const cachesim::SiteCounts& site : found.blocks)
    sample.blocks.push_back(place_of(site, code));
  return sample;
}

}  // namespace

Result<model::Model> model_of_trace(const store::Trace& trace, const std::string& name,
                                    const std::string& path) {
  return name.empty() ? model_of(trace, path) : model_named(name);
}

Result<profile::Profile> profile_trace(const std::string& path, const std::string& shown,
                                       const ProfileInput& input,
                                       const profile::Selection& selection) {
  store::LoadOptions options;
  options.dispatches = true;
  options.domains = false;
  options.monitors = false;
  const Result<store::Trace> trace = load_trace(path, options);
  if (!trace.ok()) return trace.error();
  const Result<model::Model> model = model_of_trace(*trace, input.model, shown);
  if (!model.ok()) return model.error();
  uint64_t counted = 0;
  Result<std::vector<profile::SampleGroup>> groups = profile::groups_of(*trace, selection, counted);
  if (!groups.ok()) return groups.error();
  profile::add_places(*groups, read_text(input.counters));
  Result<profile::Profile> made =
      profile::make_profile(*model, std::move(*groups), counted, trace->is_emulated(), shown);
  if (made.ok()) profile::add_graph(*made, *trace);
  return made;
}

Result<profile::Profile> profile_capture(const std::string& path, const ProfileInput& input,
                                         const profile::Selection& selection) {
  const Result<std::unique_ptr<replay::CaptureFile>> file = replay::CaptureFile::open(path);
  if (!file.ok()) return file.error();
  std::vector<Sample> samples;
  std::optional<model::Model> model;
  std::unique_ptr<cachesim::MemoryWatch> watch;
  for (const replay::Capture& capture : (*file)->captures()) {
    if (!capture.has_before) continue;
    if (!model) {
      const Result<model::Model> found =
          model_named(input.model.empty() ? capture.model : input.model);
      if (!found.ok()) return found.error();
      model = *found;
      watch = std::make_unique<cachesim::MemoryWatch>(*model);
    }
    Result<Sample> sample = replay_capture(**file, capture, *watch);
    if (!sample.ok()) return sample.error();
    samples.push_back(std::move(*sample));
  }
  if (!model)
    return errorf("%s: no complete capture in it; capture the kernel again", path.c_str());
  Result<profile::Profile> made =
      profile::make_profile(*model, std::move(samples), selection, /*is_emulated=*/true, path);
  const amd::GfxTarget code = (*file)->captures().front().target;
  if (made.ok() && code != model->target)
    made->notes.push_back(fmt::format(
        "the captured code is {}'s, run as it is; compiled for {} the kernel has other instructions",
        amd::to_string(code), amd::to_string(model->target)));
  return made;
}

Result<profile::Profile> profile_input(const std::string& path, const ProfileInput& input,
                                       const profile::Selection& selection) {
  if (access(path.c_str(), F_OK) != 0)
    return errorf("%s: %s; name a trace, a capture, or a program behind --", path.c_str(),
                  std::strerror(errno));
  if (replay::is_capture_file(path)) return profile_capture(path, input, selection);
  if (foreign::is_foreign(path)) {
    const Result<RunDir> folder = RunDir::create();
    if (!folder.ok()) return folder.error();
    const std::string trace = folder->path() + "/trace.rpd";
    const Result<store::ImportResult> imported = import_foreign({path}, trace, /*overwrite=*/true);
    if (!imported.ok()) return imported.error();
    Result<profile::Profile> made = profile_trace(trace, path, input, selection);
    if (made.ok())
      made->notes.insert(made->notes.end(), imported->notes.begin(), imported->notes.end());
    return made;
  }
  // What an earlier `wavetap profile -o` left.
  const std::string kept = path + "/trace.rpd";
  if (access(kept.c_str(), F_OK) == 0) return profile_trace(kept, path, input, selection);
  return profile_trace(path, path, input, selection);
}

}  // namespace wavetap::cli
