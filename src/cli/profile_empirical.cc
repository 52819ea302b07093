// The kernels and the clock are wavetap-trial's (doctor/trial/ceilings.h), in a process of its own: a GPU that hangs or
// a runtime that dies is an error message here.
#include "cli/profile_empirical.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "cli/command.h"
#include "cli/gpu_start.h"
#include "cli/install_tree.h"
#include "cli/run_dir.h"
#include "doctor/active_trials.h"
#include "doctor/child.h"
#include "model/peaks.h"
#include "profile/numbers.h"
#include "util/file.h"
#include "util/json.h"
#include "util/json_library.h"
#include "util/table.h"
#include "util/terminal.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

using json = nlohmann::ordered_json;
using nlohmann::ordered_json;

constexpr std::chrono::minutes kLimit{5};

struct Empirical {
  json told;                          // what the trial said
  std::optional<model::Model> model;  // of this GPU, where there is one
  bool emulated = false;
};

Error no_figures(const std::string& why, bool emulated) {
  if (emulated) return errorf("profile --empirical: %s", why.c_str());
  return errorf(
      "profile --empirical: no GPU to measure: %s; run it where an AMD GPU is (wavetap doctor says "
      "what is missing), or try it on a virtual one with --gpu MODEL",
      why.c_str());
}

Result<json> parsed(const std::string& text, bool emulated) {
  json told = util::read_json(text);
  if (!told.is_object()) return no_figures("the measuring program said nothing", emulated);
  if (const std::string error = told.value("error", ""); !error.empty())
    return no_figures(error, emulated);
  return told;
}

Result<json> measure_here(const std::string& trial) {
  doctor::ChildOptions options;
  options.arguments = {trial, "measure", "-"};
  options.limit = kLimit;
  const Result<doctor::ChildResult> child = doctor::run_child(options);
  if (!child.ok()) return child.error();
  if (child->timed_out) return no_figures("the kernels did not end within five minutes", false);
  if (!child->ended_well()) return no_figures(doctor::decode_death(*child), false);
  return parsed(child->output, false);
}

Result<json> measure_virtual(const RunOptions& run, const std::string& trial) {
  const Result<RunDir> folder = RunDir::create();
  if (!folder.ok()) return folder.error();
  RunOptions options = run;
  options.no_trace = true;
  const std::string path = folder->path() + "/measured.json";
  const int status = run_program(options, {trial, "measure", path});
  if (status != 0)
    return no_figures(fmt::format("the measuring program ended with status {}", status), true);
  const Result<std::vector<std::byte>> text = util::read_file(path);
  if (!text.ok()) return text.error();
  return parsed(std::string(reinterpret_cast<const char*>(text->data()), text->size()), true);
}

// The model file that describes a GPU of this name and instruction set.
std::optional<model::Model> model_of(const json& told) {
  const std::string arch = told.value("arch", "");
  const std::string name = told.value("name", "");
  for (const std::string& one : model::list_models(models_folder())) {
    const Result<model::Model> model = model::load_model(models_folder(), one);
    if (model.ok() && amd::to_string(model->target) == arch.substr(0, arch.find(':')) &&
        model->marketing_name == name)
      return *model;
  }
  return std::nullopt;
}

const model::Ceiling* ceiling_of(const model::Peaks& peaks, const std::string& key) {
  if (const std::optional<model::Rate> rate = model::parse_rate(key)) return peaks.find(*rate);
  if (const std::optional<model::Level> level = model::parse_level(key)) return peaks.find(*level);
  return nullptr;
}

std::string source_of(const Empirical& empirical) {
  return empirical.emulated ? "wavetap profile --empirical, emulated: not the GPU's speed"
                            : "wavetap profile --empirical";
}

ordered_json json_of(const Empirical& empirical) {
  ordered_json document = {{"document", "empirical"},
                           {"version", 1},
                           {"gpu", empirical.told.value("name", "")},
                           {"arch", empirical.told.value("arch", "")},
                           {"compute_units", empirical.told.value("compute_units", 0)},
                           {"clock_mhz", empirical.told.value("clock_mhz", 0)},
                           {"emulated", empirical.emulated},
                           {"ceilings", ordered_json::array()}};
  std::optional<model::Peaks> peaks;
  if (empirical.model) peaks = model::peaks(*empirical.model);
  for (const json& figure : empirical.told.value("figures", json::array())) {
    const std::string key = figure.value("key", "");
    ordered_json row = {{"ceiling", key},
                        {"unit", model::parse_rate(key) ? "operations" : "bytes"},
                        {"per_second", figure.value("per_second", 0.0)},
                        {"seconds", figure.value("seconds", 0.0)},
                        {"work", figure.value("work", 0.0)}};
    const model::Ceiling* const ceiling = peaks ? ceiling_of(*peaks, key) : nullptr;
    row["book_per_second"] = ceiling == nullptr ? 0.0 : ceiling->book.per_second;
    document["ceilings"].push_back(std::move(row));
  }
  return document;
}

std::string speed(double per_second, bool is_rate) {
  if (per_second == 0) return "";
  return profile::rate_text(per_second, is_rate ? "FLOP/s" : "B/s");
}

void print_page(const ordered_json& document) {
  const bool emulated = document["emulated"].get<bool>();
  fmt::print("{}, {} compute units: {}\n\n", document["gpu"].get<std::string>(),
             document["compute_units"].get<uint64_t>(),
             emulated ? "emulated. These are speeds of this machine's CPU, not of the GPU"
                      : "measured, each by a kernel that does nothing else");
  util::Table table({{"CEILING"},
                     {"MEASURED", util::Align::kRight},
                     {"BOOK", util::Align::kRight},
                     {"SHARE", util::Align::kRight}});
  for (const ordered_json& row : document["ceilings"]) {
    const bool is_rate = row["unit"] == "operations";
    const double measured = row["per_second"], book = row["book_per_second"];
    table.add({row["ceiling"], speed(measured, is_rate), speed(book, is_rate),
               emulated || book == 0 ? "" : fmt::format("{:.0f} %", 100 * measured / book)});
  }
  fmt::print("{}", table.text(static_cast<size_t>(util::output_columns(STDOUT_FILENO))));
}

// Lines of a model file: the roofline's measured ceilings.
std::string model_lines(const Empirical& empirical, const ordered_json& document) {
  std::string text = fmt::format("measured.source = {}\n", source_of(empirical));
  for (const ordered_json& row : document["ceilings"])
    text += fmt::format("measured.{} = {:.0f}\n", row["ceiling"].get<std::string>(),
                        std::max(row["per_second"].get<double>() / 1e9, 1.0));
  return text;
}

}  // namespace

int measure_empirically(const RunOptions& run, const std::string& folder, bool as_json) {
  const Result<std::string> trial = trial_program();
  if (!trial.ok()) return fail(trial.error());
  Empirical empirical;
  empirical.emulated = !run.gpus.empty();
  Result<json> told = empirical.emulated ? measure_virtual(run, *trial) : measure_here(*trial);
  if (!told.ok()) return fail(told.error());
  empirical.told = std::move(*told);
  empirical.model = model_of(empirical.told);
  const ordered_json document = json_of(empirical);
  const std::string text = util::json_text(document);
  if (!folder.empty()) {
    std::error_code ignored;
    std::filesystem::create_directories(folder, ignored);
    for (const auto& [name, content] :
         {std::pair("empirical.json", text),
          std::pair("measured.txt", model_lines(empirical, document))})
      if (const Status written = util::write_file(folder + "/" + name, content); !written.ok())
        return fail(written.error());
    fmt::print(stderr, "wavetap: {}: empirical.json, measured.txt\n", util::escape_control(folder));
  }
  if (as_json) fmt::print("{}", text);
  else print_page(document);
  return kDone;
}

}  // namespace wavetap::cli
