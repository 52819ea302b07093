#include "doctor/recorded_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "doctor/correction_risk.h"
#include "doctor/finding.h"
#include "util/text.h"

namespace wavetap::doctor {
namespace {

using Fields = std::map<std::string, std::string>;

uint64_t number_in(const Fields& fields, const std::string& name) {
  const auto found = fields.find(name);
  return found == fields.end() ? 0 : util::parse_unsigned(found->second).value_or(0);
}

std::string text_in(const Fields& fields, const std::string& name) {
  const auto found = fields.find(name);
  return found == fields.end() ? "" : found->second;
}

// One process: the machine as it saw it.
struct Recorded {
  Machine machine;
  Truth truth;
  std::vector<int64_t> gpu_ids;  // of machine.gpus
};

Gpu driver_gpu(const Fields& fields, const std::vector<model::Model>& known) {
  std::map<std::string, uint64_t> properties;
  uint64_t vram_bytes = 0;
  for (const auto& [name, value] : fields) {
    const std::optional<uint64_t> number = util::parse_unsigned(value);
    if (!number) continue;
    properties[name] = *number;
    if (!name.ends_with("/heap_type") || (*number != 1 && *number != 2)) continue;
    vram_bytes += number_in(fields, name.substr(0, name.rfind('/')) + "/size_in_bytes");
  }
  Gpu gpu =
      gpu_of_properties(static_cast<uint32_t>(number_in(fields, "node")), std::move(properties));
  gpu.properties_path = "driver";
  gpu.vram_bytes = vram_bytes;
  if (fields.contains("revision"))
    gpu.revision = static_cast<uint32_t>(number_in(fields, "revision"));
  match_known(known, gpu);
  return gpu;
}

LayerFigures layer_gpu(const Fields& fields, const std::string& pci) {
  LayerFigures figures;
  figures.name = text_in(fields, "name");
  figures.arch = text_in(fields, "arch");
  figures.multiprocessors =
      number_in(fields, fields.contains("compute_units") ? "compute_units" : "multiprocessors");
  figures.clock_mhz = number_in(fields, "clock_mhz");
  figures.wave_size = number_in(fields, "wave_size");
  figures.lds_bytes = number_in(fields, "lds_bytes");
  figures.vram_bytes = number_in(fields, "vram_bytes");
  figures.l2_bytes = number_in(fields, "l2_bytes");
  figures.pci_address = pci;
  return figures;
}

Recorded recorded_by(int64_t pid, const std::vector<RecordedFigure>& figures,
                     const std::vector<model::Model>& known) {
  Recorded out;
  out.machine.environment.known = true;
  for (const auto& [layer, name] :
       {std::pair{&out.truth.hsa, "HSA"}, {&out.truth.hip, "HIP"}, {&out.truth.cuda, "CUDA"}}) {
    layer->name = name;
    layer->library = name;
  }
  std::map<int64_t, std::map<std::string, Fields>> gpus;  // by layer
  for (const RecordedFigure& figure : figures) {
    if (figure.pid != pid) continue;
    if (figure.layer == "environment")
      out.machine.environment.variables.push_back({figure.field, figure.value});
    if (figure.gpu) gpus[*figure.gpu][figure.layer][figure.field] = figure.value;
  }
  std::sort(out.machine.environment.variables.begin(), out.machine.environment.variables.end(),
            [](const Variable& a, const Variable& b) { return a.name < b.name; });
  for (auto& [id, layers] : gpus) {
    if (!layers.contains("driver")) continue;
    Gpu gpu = driver_gpu(layers["driver"], known);
    // Figures of single attributes, noted when they were corrected, say nothing about the layer as
    // a whole.
    if (layers.contains("hsa"))
      out.truth.hsa.devices.push_back(layer_gpu(layers["hsa"], gpu.pci_address));
    if (layers["hip"].contains("arch"))
      out.truth.hip.devices.push_back(layer_gpu(layers["hip"], gpu.pci_address));
    out.machine.gpus.push_back(std::move(gpu));
    out.gpu_ids.push_back(id);
  }
  return out;
}

std::string sentence(const Finding& finding) {
  std::vector<std::string> seen;
  for (const Evidence& evidence : finding.evidence)
    seen.push_back(evidence.source + ": " + evidence.value);
  std::string text = finding.summary;
  if (!seen.empty()) text += " (" + util::join(seen, "; ") + ")";
  // What an override does is not seen from the figures.
  if (finding.id.starts_with("override.") && !finding.why.empty()) text += "; " + finding.why;
  return text;
}

void add_once(std::vector<std::string>& list, std::string text) {
  text = util::escape_control(text);
  if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(std::move(text));
}

void judge_process(const Recorded& recorded, RecordedTruth& out) {
  for (size_t i = 0; i < recorded.machine.gpus.size(); ++i) {
    // One GPU at a time, so that what is found is known to be about it.
    Machine one;
    one.environment = recorded.machine.environment;
    one.gpus.push_back(recorded.machine.gpus[i]);
    Findings findings;
    check_topology(one, findings);
    check_override(one, findings);
    judge_truth(one, recorded.truth, findings);
    bool lies = false;
    for (const Finding& finding : findings.all()) {
      if (finding.verdict == Verdict::kError || finding.verdict == Verdict::kWarning) {
        add_once(out.warnings, "device figures: " + sentence(finding));
        lies = true;
      }
      if (finding.id == "override.safe")
        add_once(out.notes, "device figures: " + sentence(finding));
    }
    const int64_t id = recorded.gpu_ids[i];
    const bool shown = std::any_of(out.rows.begin(), out.rows.end(),
                                   [&](const auto& row) { return row.gpu == id; });
    if (!lies || shown) continue;
    for (FigureRow& row : figure_rows(one, recorded.truth, one.gpus.front()))
      out.rows.push_back({id, std::move(row)});
  }
}

void judge_corrections(const Recorded& recorded, const RecordedFigure& figure, RecordedTruth& out) {
  for (size_t i = 0; i < recorded.machine.gpus.size(); ++i) {
    if (recorded.gpu_ids[i] != figure.gpu) continue;
    const Gpu& gpu = recorded.machine.gpus[i];
    const std::string* mode = recorded.machine.variable("GPU_ENABLE_WGP_MODE");
    const TrueFigures truth =
        gpu.same_board ? true_figures(*gpu.known, mode) : true_figures(gpu, mode);
    const std::string risk = correction_risk(truth, figure.field, *figure.told);
    if (!risk.empty())
      add_once(out.warnings,
               fmt::format("corrected device figures of GPU {}: {}", *figure.gpu, risk));
  }
}

}  // namespace

RecordedTruth judge_recorded(const std::vector<RecordedFigure>& figures,
                             const std::vector<model::Model>& known) {
  RecordedTruth out;
  std::vector<int64_t> pids;
  for (const RecordedFigure& figure : figures)
    if (std::find(pids.begin(), pids.end(), figure.pid) == pids.end()) pids.push_back(figure.pid);
  for (const int64_t pid : pids) {
    const Recorded recorded = recorded_by(pid, figures, known);
    judge_process(recorded, out);
    for (const RecordedFigure& figure : figures) {
      if (figure.pid != pid || !figure.told) continue;
      out.corrections.push_back(figure);
      judge_corrections(recorded, figure, out);
    }
  }
  return out;
}

}  // namespace wavetap::doctor
