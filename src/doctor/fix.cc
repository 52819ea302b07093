#include "doctor/fix.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "util/text.h"

namespace wavetap::doctor {
namespace {

constexpr char kMadeBy[] = "# Made by wavetap doctor --fix";

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

std::string line_of(const EnvironmentChange& change) {
  std::string text = change.is_unset
                         ? fmt::format("unset {}", change.name)
                         : fmt::format("export {}={}", change.name, quoted(change.value));
  if (!change.because.empty()) text += fmt::format("  # {}", change.because);
  return text + "\n";
}

const EnvironmentChange* find(const std::vector<EnvironmentChange>& changes,
                              const std::string& name) {
  const auto found = std::find_if(changes.begin(), changes.end(),
                                  [&](const EnvironmentChange& c) { return c.name == name; });
  return found == changes.end() ? nullptr : &*found;
}

bool is_in_force(const Machine& machine, const EnvironmentChange& change) {
  const std::string* value = machine.variable(change.name);
  return change.is_unset ? value == nullptr : value != nullptr && *value == change.value;
}

// Moves `text` behind `what` when it stands there.
bool skip(std::string_view& text, std::string_view what) {
  if (!text.starts_with(what)) return false;
  text.remove_prefix(what.size());
  return true;
}

// Undoes quoted(): 'it'\''s'. Moves `text` behind it.
bool take_quoted(std::string_view& text, std::string& value) {
  for (;;) {
    if (!skip(text, "'")) return false;
    const size_t end = text.find('\'');
    if (end == std::string_view::npos) return false;
    value += text.substr(0, end);
    text.remove_prefix(end + 1);
    if (!skip(text, "\\'")) return true;
    value += '\'';
  }
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
        EnvironmentChange change{.name = remedy.text.substr(0, equals),
                                 .value = is_unset ? "" : remedy.text.substr(equals + 1),
                                 .is_unset = is_unset,
                                 .because = finding.id};
        if (find(changes, change.name) == nullptr && is_variable_name(change.name))
          changes.push_back(std::move(change));
      }
    }
  }
  return changes;
}

std::vector<EnvironmentChange> undo_of(const Machine& machine,
                                       const std::vector<EnvironmentChange>& changes) {
  std::vector<EnvironmentChange> undo;
  for (const EnvironmentChange& change : changes) {
    const std::string* before = machine.variable(change.name);
    undo.push_back({.name = change.name,
                    .value = before == nullptr ? "" : *before,
                    .is_unset = before == nullptr,
                    .because = ""});
  }
  return undo;
}

FixFiles compose(const Machine& machine, const FixFiles& earlier,
                 const std::vector<EnvironmentChange>& changes) {
  FixFiles files;
  for (const EnvironmentChange& change : earlier.changes) {
    const EnvironmentChange* before = find(earlier.undo, change.name);
    if (before == nullptr || !is_in_force(machine, change)) continue;
    files.undo.push_back(*before);
    if (find(changes, change.name) != nullptr) continue;
    files.changes.push_back(change);
    ++files.in_force;
  }
  for (const EnvironmentChange& change : changes) files.changes.push_back(change);
  for (const EnvironmentChange& change : undo_of(machine, changes))
    if (find(files.undo, change.name) == nullptr) files.undo.push_back(change);
  return files;
}

std::string fix_script(const std::vector<EnvironmentChange>& changes) {
  std::string text =
      fmt::format("{}: changes of this shell's environment only. Use: . ./FILE\n", kMadeBy);
  for (const EnvironmentChange& change : changes) text += line_of(change);
  return text;
}

std::string undo_script(const std::vector<EnvironmentChange>& undo) {
  std::string text = fmt::format("{}: takes its changes back. Use: . ./FILE\n", kMadeBy);
  for (const EnvironmentChange& change : undo) text += line_of(change);
  return text;
}

bool is_fix_script(std::string_view text) { return text.starts_with(kMadeBy); }

std::vector<EnvironmentChange> parse_script(std::string_view text) {
  std::vector<EnvironmentChange> changes;
  while (!text.empty()) {
    EnvironmentChange change;
    const bool is_export = skip(text, "export ");
    change.is_unset = !is_export && skip(text, "unset ");
    const size_t end = std::min(text.find_first_of("= \n"), text.size());
    change.name = std::string(text.substr(0, end));
    bool good = (is_export || change.is_unset) && is_variable_name(change.name);
    if (good) text.remove_prefix(end);
    if (good && is_export) good = skip(text, "=") && take_quoted(text, change.value);
    const size_t line_end = std::min(text.find('\n'), text.size());
    const size_t comment = text.substr(0, line_end).find("# ");
    if (good && comment != std::string_view::npos)
      change.because = std::string(text.substr(comment + 2, line_end - comment - 2));
    if (good) changes.push_back(std::move(change));
    text.remove_prefix(std::min(line_end + 1, text.size()));
  }
  return changes;
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
