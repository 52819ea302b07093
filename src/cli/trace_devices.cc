#include "cli/trace_devices.h"

#include <utility>
#include <vector>

#include "cli/install_tree.h"
#include "doctor/recorded_figures.h"
#include "store/sqlite.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

using analysis::Unit;

std::vector<doctor::RecordedFigure> read_figures(const std::string& path) {
  std::vector<doctor::RecordedFigure> figures;
  Result<store::Db> db = store::Db::open_read_only(path);
  if (!db.ok() || !db->has_table_or_view("wavetap_device_figure")) return figures;
  Result<store::Stmt> rows = db->prepare(
      "select pid, gpuId, pci, layer, field, value, told from wavetap_device_figure order by id");
  if (!rows.ok()) return figures;
  while (rows->step()) {
    doctor::RecordedFigure figure;
    figure.pid = rows->int64(0);
    if (!rows->is_null(1)) figure.gpu = rows->int64(1);
    figure.pci = rows->text(2);
    figure.layer = rows->text(3);
    figure.field = rows->text(4);
    figure.value = rows->text(5);
    if (!rows->is_null(6)) figure.told = rows->text(6);
    figures.push_back(std::move(figure));
  }
  return figures;
}

analysis::Table figure_table(const doctor::RecordedTruth& truth) {
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

analysis::Table correction_table(const doctor::RecordedTruth& truth) {
  analysis::Table table{"corrected_figures",
                        "Device figures corrected for the program",
                        {{"gpu", "GPU", Unit::kCount},
                         {"layer", "LAYER"},
                         {"figure", "FIGURE"},
                         {"original", "ORIGINAL"},
                         {"told", "TOLD"}},
                        {},
                        0};
  for (const doctor::RecordedFigure& figure : truth.corrections)
    table.rows.push_back({figure.gpu ? analysis::Cell(*figure.gpu) : analysis::Cell(), figure.layer,
                          figure.field, figure.value, *figure.told});
  return table;
}

}  // namespace

void add_device_truth(const std::string& trace, analysis::Report& report) {
  const std::vector<doctor::RecordedFigure> figures = read_figures(trace);
  if (figures.empty()) return;
  doctor::RecordedTruth truth =
      doctor::judge_recorded(figures, model::sound_models(models_folder()));
  for (std::string& warning : truth.warnings) report.warnings.push_back(std::move(warning));
  for (std::string& note : truth.notes) report.notes.push_back(std::move(note));
  if (!truth.rows.empty()) report.tables.push_back(figure_table(truth));
  if (!truth.corrections.empty()) report.tables.push_back(correction_table(truth));
}

}  // namespace wavetap::cli
