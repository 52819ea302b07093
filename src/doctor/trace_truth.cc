#include "doctor/trace_truth.h"

#include <optional>
#include <string>
#include <utility>

#include "doctor/recorded_figures.h"

namespace wavetap::doctor {
namespace {

using analysis::Unit;

std::vector<RecordedFigure> read_figures(const store::Trace& trace) {
  std::vector<RecordedFigure> figures;
  for (const store::DeviceFigure& row : trace.device_figures) {
    const auto text = [&](store::Str s) { return std::string(trace.str(s)); };
    figures.push_back({.pid = row.pid,
                       .gpu = row.gpu < 0 ? std::nullopt : std::optional(row.gpu),
                       .pci = text(row.pci),
                       .layer = text(row.layer),
                       .field = text(row.field),
                       .value = text(row.value),
                       .told = row.told == 0 ? std::nullopt : std::optional(text(row.told))});
  }
  return figures;
}

analysis::Table figure_table(const RecordedTruth& truth) {
  analysis::Table table{"device_figures",
                        "GPUs, layer by layer",
                        {{"gpu", "GPU", Unit::kCount},
                         {"figure", "FIGURE"},
                         {"published", "PUBLISHED"},
                         {"driver", "DRIVER"},
                         {"hsa", "HSA"},
                         {"hip", "HIP"}},
                        {},
                        0};
  for (const auto& [gpu, row] : truth.rows)
    table.rows.push_back({gpu, row.figure, row.published, row.driver, row.hsa, row.hip});
  return table;
}

analysis::Table correction_table(const RecordedTruth& truth) {
  analysis::Table table{"corrected_figures",
                        "Device figures corrected for the program",
                        {{"gpu", "GPU", Unit::kCount},
                         {"layer", "LAYER"},
                         {"figure", "FIGURE"},
                         {"original", "ORIGINAL"},
                         {"told", "TOLD"}},
                        {},
                        0};
  for (const RecordedFigure& figure : truth.corrections)
    table.rows.push_back({figure.gpu ? analysis::Cell(*figure.gpu) : analysis::Cell(), figure.layer,
                          figure.field, figure.value, *figure.told});
  return table;
}

}  // namespace

void add_device_truth(const store::Trace& trace, const std::vector<model::Model>& known,
                      analysis::Report& report) {
  const std::vector<RecordedFigure> figures = read_figures(trace);
  if (figures.empty()) return;
  RecordedTruth truth = judge_recorded(figures, known);
  for (std::string& warning : truth.warnings) report.warnings.push_back(std::move(warning));
  for (std::string& note : truth.notes) report.notes.push_back(std::move(note));
  if (!truth.rows.empty()) report.tables.push_back(figure_table(truth));
  if (!truth.corrections.empty()) report.tables.push_back(correction_table(truth));
}

}  // namespace wavetap::doctor
