#include "doctor/fix.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "util/text.h"

namespace wavetap::doctor {
namespace {

// A name a shell accepts; anything else came from a hostile file and is left alone.
bool is_variable_name(const std::string& name) {
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
         std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

std::string quoted(const std::string& value) {
  std::string text = "'";
  for (const char c : value) {
    if (c == '\'') text += "'\\''";
    else text += c;
  }
  return text + "'";
}

}  // namespace

std::vector<EnvironmentChange> safe_changes(const Findings& findings) {
  std::vector<EnvironmentChange> changes;
  for (const Verdict verdict : {Verdict::kError, Verdict::kWarning}) {
    for (const Finding& finding : findings.all()) {
      if (finding.verdict != verdict) continue;
      for (const Remedy& remedy : finding.remedies) {
        if (remedy.kind != Remedy::Kind::kSet && remedy.kind != Remedy::Kind::kUnset) continue;
        const bool is_unset = remedy.kind == Remedy::Kind::kUnset;
        const size_t equals = is_unset ? std::string::npos : remedy.text.find('=');
        EnvironmentChange change{remedy.text.substr(0, equals),
                                 is_unset ? "" : remedy.text.substr(equals + 1), is_unset,
                                 finding.id};
        const bool taken =
            std::any_of(changes.begin(), changes.end(),
                        [&](const EnvironmentChange& other) { return other.name == change.name; });
        if (!taken && is_variable_name(change.name)) changes.push_back(std::move(change));
      }
    }
  }
  return changes;
}

std::string fix_script(const std::vector<EnvironmentChange>& changes) {
  std::string text =
      "# Made by wavetap doctor --fix: changes of this shell's environment only. Use: . ./FILE\n";
  for (const EnvironmentChange& change : changes) {
    text += change.is_unset ? fmt::format("unset {}", change.name)
                            : fmt::format("export {}={}", change.name, quoted(change.value));
    text += fmt::format("  # {}\n", change.because);
  }
  return text;
}

std::string undo_script(const Machine& machine, const std::vector<EnvironmentChange>& changes) {
  std::string text = "# Made by wavetap doctor --fix: takes its changes back. Use: . ./FILE\n";
  for (const EnvironmentChange& change : changes) {
    const std::string* before = machine.variable(change.name);
    text += before == nullptr ? fmt::format("unset {}\n", change.name)
                              : fmt::format("export {}={}\n", change.name, quoted(*before));
  }
  return text;
}

std::vector<std::string> left_to_do(const Findings& findings) {
  std::vector<std::string> list;
  for (const Finding& finding : findings.all()) {
    if (finding.verdict != Verdict::kError && finding.verdict != Verdict::kWarning) continue;
    for (const Remedy& remedy : finding.remedies) {
      if (remedy.kind != Remedy::Kind::kRoot) continue;
      std::string line = fmt::format("{}: {}", finding.id, remedy.text);
      if (!remedy.undo.empty()) line += fmt::format("   (undo: {})", remedy.undo);
      if (std::find(list.begin(), list.end(), line) == list.end()) list.push_back(line);
    }
  }
  return list;
}

}  // namespace wavetap::doctor
