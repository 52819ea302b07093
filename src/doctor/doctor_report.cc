#include "doctor/doctor_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "util/json_library.h"
#include "util/table.h"
#include "util/terminal.h"
#include "util/text.h"

namespace wavetap::doctor {
namespace {

constexpr size_t kIndent = 10;

size_t count(const Findings& findings, Verdict verdict) {
  return static_cast<size_t>(
      std::count_if(findings.all().begin(), findings.all().end(),
                    [&](const Finding& finding) { return finding.verdict == verdict; }));
}

util::Style style_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kError: return util::Style::kRed;
    case Verdict::kWarning: return util::Style::kYellow;
    case Verdict::kOk: return util::Style::kGreen;
    default: return util::Style::kDim;
  }
}

// Text in lines of at most `columns`, the first after a label of kIndent cells. Words that are too
// long (paths) are cut into pieces: a terminal would wrap them anyway, without the indent.
std::string labelled(const std::string& label, const std::string& text, size_t columns) {
  const size_t width = columns > kIndent + 20 ? columns - kIndent : 20;
  std::vector<std::string> lines = {""};
  for (std::string word : util::split(text, ' ')) {
    if (word.empty()) continue;
    while (util::display_width(word) > width) {
      if (!lines.back().empty()) lines.emplace_back();
      size_t cut = width;
      while (cut > 0 && (static_cast<unsigned char>(word[cut]) & 0xc0) == 0x80)
        --cut;  // not inside a character
      const size_t slash = word.rfind('/', cut - 1);
      if (slash != std::string::npos && slash > width / 2) cut = slash + 1;
      lines.back() = word.substr(0, cut);
      word = word.substr(cut);
      lines.emplace_back();
    }
    const std::string& line = lines.back();
    if (!line.empty() && util::display_width(line) + 1 + util::display_width(word) > width)
      lines.emplace_back();
    if (!lines.back().empty()) lines.back() += ' ';
    lines.back() += word;
  }
  std::string out;
  for (size_t i = 0; i < lines.size(); ++i) {
    out += i == 0 ? fmt::format("  {:<{}}", label, kIndent - 2) : std::string(kIndent, ' ');
    out += lines[i] + "\n";
  }
  return out;
}

const char* label_of(Remedy::Kind kind) {
  switch (kind) {
    case Remedy::Kind::kSet:
    case Remedy::Kind::kUnset:
    case Remedy::Kind::kCommand: return "do";
    case Remedy::Kind::kRoot: return "root";
    case Remedy::Kind::kAdvice: return "advice";
  }
  return "";
}

const char* name_of(Remedy::Kind kind) {
  switch (kind) {
    case Remedy::Kind::kSet: return "set";
    case Remedy::Kind::kUnset: return "unset";
    case Remedy::Kind::kCommand: return "command";
    case Remedy::Kind::kRoot: return "root";
    case Remedy::Kind::kAdvice: return "advice";
  }
  return "";
}

std::string remedy_text(const Remedy& remedy) {
  if (remedy.kind == Remedy::Kind::kSet) return "export " + remedy.text;
  if (remedy.kind == Remedy::Kind::kUnset) return "unset " + remedy.text;
  return remedy.text;
}

std::string problem_text(const Finding& finding, const TextOptions& options) {
  std::string word(to_string(finding.verdict));
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  // The head line hangs two columns left of the rest.
  std::string head =
      labelled("", util::escape_control(finding.id + ": " + finding.summary), options.columns);
  head.replace(0, kIndent,
               util::styled(word, style_of(finding.verdict), options.colour) +
                   std::string(kIndent - std::min(kIndent, word.size()), ' '));
  std::string out = head;
  const char* label = "read";
  for (const Evidence& evidence : finding.evidence) {
    out += labelled(label, util::escape_control(evidence.source + ": " + evidence.value),
                    options.columns);
    label = "";
  }
  if (!finding.why.empty()) {
    std::string why = util::escape_control(finding.why);
    // A sentence begins with a capital; names such as gfx1030 stay as they are.
    const std::string first = why.substr(0, why.find(' '));
    const bool is_word = std::all_of(first.begin(), first.end(), [](unsigned char c) {
      return std::islower(c) != 0 || c == '-' || c == ',';
    });
    if (is_word && !first.empty())
      why[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(why[0])));
    out += labelled("why", why, options.columns);
  }
  for (const Remedy& remedy : finding.remedies) {
    out +=
        labelled(label_of(remedy.kind), util::escape_control(remedy_text(remedy)), options.columns);
    if (!remedy.undo.empty())
      out += labelled("undo", util::escape_control(remedy.undo), options.columns);
  }
  return out;
}

std::string verdict_line(const Machine& machine, const Findings& findings) {
  std::vector<std::string> names;
  for (const Gpu& gpu : machine.gpus) names.push_back(gpu.title());
  const std::string where = names.empty() ? "no AMD GPU" : util::join(names, ", ");
  if (healthy(findings)) return fmt::format("healthy: {}", where);
  std::vector<std::string> counts;
  if (const size_t errors = count(findings, Verdict::kError))
    counts.push_back(util::count_of(errors, "error"));
  if (const size_t warnings = count(findings, Verdict::kWarning))
    counts.push_back(util::count_of(warnings, "warning"));
  return fmt::format("{}: {}", util::join(counts, ", "), where);
}

std::string trials_text(const std::vector<TrialResult>& results, const TextOptions& options) {
  if (results.empty()) return "";
  util::Table table({{"TRIAL"}, {"OUTCOME"}, {"WHAT", util::Align::kLeft, true}});
  for (const TrialResult& result : results) {
    table.add({util::escape_control(result.label()), std::string(to_string(result.outcome)),
               util::escape_control(result.text)});
  }
  std::string out = "\n";
  out += table.text(options.columns);
  return out;
}

// An item of the lists at the end.
std::string item_text(const std::string& text, const TextOptions& options) {
  std::string item = labelled("", util::escape_control(text), options.columns + kIndent - 4);
  for (size_t at = 0; (at = item.find(std::string(kIndent, ' '), at)) != std::string::npos;)
    item.erase(at, kIndent - 4);
  return item;
}

// What could not be read. Several checks may lack the same thing; it is said once.
std::string unknown_text(const Findings& findings, const TextOptions& options) {
  std::vector<std::string> items;
  for (const Finding& finding : findings.all()) {
    if (finding.verdict != Verdict::kUnknown) continue;
    std::string line = finding.summary;
    for (const Evidence& evidence : finding.evidence)
      line += fmt::format(" ({}: {})", evidence.source, evidence.value);
    std::string item = item_text(line, options);
    if (std::find(items.begin(), items.end(), item) == items.end())
      items.push_back(std::move(item));
  }
  return items.empty() ? "" : "\nnot known:\n" + util::join(items, "");
}

// What is in order: one line each, or the names of the groups.
std::string in_order_text(const Findings& findings, const TextOptions& options) {
  std::string items;
  std::vector<std::string> groups;
  for (const Finding& finding : findings.all()) {
    if (finding.verdict != Verdict::kOk) continue;
    items += item_text(finding.id + ": " + finding.summary, options);
    const CheckGroup* group = find_group(finding.group);
    const std::string name =
        group != nullptr ? group->name : finding.id.substr(0, finding.id.find('.'));
    if (std::find(groups.begin(), groups.end(), name) == groups.end()) groups.push_back(name);
  }
  if (items.empty()) return "";
  if (options.all) return "\nin order:\n" + items;
  std::string out = "\n";
  out += util::wrap("in order: " + util::join(groups, ", "), options.columns);
  return out + "\n";
}

nlohmann::ordered_json layer_json(const Layer& layer) {
  nlohmann::ordered_json entry = {{"layer", layer.name},
                                  {"library", util::escape_control(layer.library)},
                                  {"error", util::escape_control(layer.error)}};
  entry["devices"] = nlohmann::ordered_json::array();
  for (const LayerFigures& device : layer.devices) {
    entry["devices"].push_back({{"name", util::escape_control(device.name)},
                                {"arch", util::escape_control(device.arch)},
                                {"multiprocessors", device.multiprocessors},
                                {"clock_mhz", device.clock_mhz},
                                {"wave_size", device.wave_size},
                                {"lds_bytes", device.lds_bytes},
                                {"vram_bytes", device.vram_bytes},
                                {"l2_bytes", device.l2_bytes},
                                {"pci", util::escape_control(device.pci_address)}});
  }
  return entry;
}

nlohmann::ordered_json gpu_json(const Machine& machine, const Gpu& gpu) {
  using nlohmann::ordered_json;
  ordered_json entry = {{"node", gpu.node},
                        {"pci", gpu.pci_address},
                        {"device_id", fmt::format("0x{:04x}", gpu.device_id)},
                        {"target", gpu.target ? ordered_json(gpu.target_name()) : ordered_json()},
                        {"compute_units", gpu.compute_units()},
                        {"vram_bytes", gpu.vram_bytes}};
  entry["model"] =
      gpu.known != nullptr && gpu.same_board ? ordered_json(gpu.known->name) : ordered_json();
  const std::optional<Override> override_ = override_for(machine, gpu);
  entry["override"] = override_ ? ordered_json(override_->value) : ordered_json();
  return entry;
}

nlohmann::ordered_json finding_json(const Finding& finding) {
  using nlohmann::ordered_json;
  const CheckGroup* group = find_group(finding.group);
  ordered_json entry = {{"id", finding.id},
                        {"group", finding.group},
                        {"group_name", group != nullptr ? group->name : ""},
                        {"verdict", std::string(to_string(finding.verdict))},
                        {"summary", util::escape_control(finding.summary)}};
  entry["evidence"] = ordered_json::array();
  for (const Evidence& evidence : finding.evidence) {
    entry["evidence"].push_back({{"source", util::escape_control(evidence.source)},
                                 {"value", util::escape_control(evidence.value)}});
  }
  entry["why"] = util::escape_control(finding.why);
  entry["remedies"] = ordered_json::array();
  for (const Remedy& remedy : finding.remedies) {
    ordered_json item = {{"kind", name_of(remedy.kind)},
                         {"text", util::escape_control(remedy.text)}};
    if (!remedy.undo.empty()) item["undo"] = util::escape_control(remedy.undo);
    entry["remedies"].push_back(item);
  }
  return entry;
}

}  // namespace

bool healthy(const Findings& findings) { return findings.clean_since(0); }

std::string to_text(const Report& report, const TextOptions& options) {
  const Findings& findings = report.findings;
  std::string out =
      util::wrap(util::escape_control(verdict_line(report.machine, findings)), options.columns) +
      "\n";
  for (const Verdict verdict : {Verdict::kError, Verdict::kWarning, Verdict::kNote}) {
    for (const Finding& finding : findings.all()) {
      if (finding.verdict != verdict) continue;
      out += '\n';
      out += problem_text(finding, options);
    }
  }
  if (report.truth) {
    const std::string table = truth_table(report.machine, *report.truth, options.columns);
    if (!table.empty()) out += "\nthe GPUs, layer by layer:\n" + table;
  }
  out += trials_text(report.trials, options);
  const std::string chain = redirects_text(report.redirects, options.columns, 20);
  if (!chain.empty()) out += '\n';
  out += chain;
  out += unknown_text(findings, options);
  out += in_order_text(findings, options);
  return out;
}

nlohmann::ordered_json to_json(const Report& report) {
  using nlohmann::ordered_json;
  const Findings& findings = report.findings;
  ordered_json root = {
      {"schema", "wavetap-doctor"}, {"version", kJsonVersion}, {"healthy", healthy(findings)}};
  ordered_json counts;
  for (const Verdict verdict :
       {Verdict::kError, Verdict::kWarning, Verdict::kNote, Verdict::kUnknown, Verdict::kOk}) {
    counts[std::string(to_string(verdict))] = count(findings, verdict);
  }
  root["counts"] = counts;
  root["gpus"] = ordered_json::array();
  for (const Gpu& gpu : report.machine.gpus) root["gpus"].push_back(gpu_json(report.machine, gpu));
  root["findings"] = ordered_json::array();
  for (const Finding& finding : findings.all()) root["findings"].push_back(finding_json(finding));
  if (report.truth) {
    for (const Layer* layer : {&report.truth->hsa, &report.truth->hip, &report.truth->cuda})
      root["layers"].push_back(layer_json(*layer));
  }
  for (const TrialResult& result : report.trials) {
    root["trials"].push_back({{"name", result.name},
                              {"condition", result.condition},
                              {"outcome", std::string(to_string(result.outcome))},
                              {"text", util::escape_control(result.text)}});
  }
  for (const Redirect& redirect : report.redirects) {
    root["redirects"].push_back({{"layer", redirect.layer},
                                 {"function", util::escape_control(redirect.function)},
                                 {"calls", redirect.calls},
                                 {"from", util::escape_control(redirect.from)},
                                 {"to", util::escape_control(redirect.to)},
                                 {"dlsym", redirect.by_dlsym}});
  }
  return root;
}

}  // namespace wavetap::doctor
