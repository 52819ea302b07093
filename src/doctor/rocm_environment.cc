#include "doctor/rocm_environment.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "util/text.h"

namespace wavetap::doctor {
namespace {

// clang-format off
constexpr VariableFact kFacts[] = {
#define WT_VARIABLE(name, kind, reader, text) {name, VariableKind::kind, reader, text},
#include "doctor/environment_table.inc"
#undef WT_VARIABLE
};
// clang-format on

constexpr std::string_view kPrefixes[] = {
    "HSA_",  "HSAKMT_", "HIP_",     "ROCR_",        "ROCM_",    "GPU_",
    "AMD_",  "MIOPEN_", "ROCBLAS_", "HIPBLASLT_",   "TENSILE_", "PYTORCH_",
    "NCCL_", "RCCL_",   "ROCP_",    "ROCPROFILER_", "LOADER_",  "ZLUDA_"};
constexpr std::string_view kNames[] = {"LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH",
                                       "CUDA_VISIBLE_DEVICES"};

bool is_name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string unquoted(std::string text) {
  text = trimmed(text);
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') &&
      text.back() == text.front()) {
    text = text.substr(1, text.size() - 2);
  }
  return text;
}

// The value after `=`: to the closing quote when there is one, else to the next space.
std::string value_at(const std::string& line, size_t at) {
  if (at < line.size() && (line[at] == '"' || line[at] == '\'')) {
    const size_t end = line.find(line[at], at + 1);
    return line.substr(at + 1, end == std::string::npos ? std::string::npos : end - at - 1);
  }
  const size_t end = line.find_first_of(" \t;\"'", at);
  return line.substr(at, end == std::string::npos ? std::string::npos : end - at);
}

// Every NAME=VALUE of a line whose name concerns us: `export A=1`, `DefaultEnvironment="A=1"
// "B=2"`, `ENV{A}="1"`. Nothing is ever evaluated.
void scan_line(const std::string& path, size_t number, const std::string& line,
               std::vector<FileSetting>& out) {
  const std::string text = trimmed(line);
  if (text.empty() || text[0] == '#') return;
  for (size_t at = 0; at < text.size();) {
    if (!is_name_char(text[at])) {
      ++at;
      continue;
    }
    const size_t begin = at;
    while (at < text.size() && is_name_char(text[at])) ++at;
    const std::string name = text.substr(begin, at - begin);
    if (at < text.size() && text[at] == '}') ++at;  // ENV{NAME}
    if (at >= text.size() || text[at] != '=') continue;
    ++at;
    if (at < text.size() && text[at] == '=') continue;  // a comparison
    if (!concerns_rocm(name)) continue;
    const std::string value = value_at(text, at);
    out.push_back({name, unquoted(value), path, number});
    at += value.size();
  }
}

void scan_file(const Root& root, const std::string& path, std::vector<FileSetting>& out) {
  const ReadText text = root.read(path);
  if (!text.ok()) return;
  size_t number = 0;
  for (const std::string& line : util::split(*text.text, '\n'))
    scan_line(path, ++number, line, out);
}

void scan_folder(const Root& root, const std::string& folder, std::string_view ending,
                 std::vector<FileSetting>& out) {
  for (const std::string& name : root.list(folder)) {
    if (name.ends_with(ending)) scan_file(root, folder + "/" + name, out);
  }
}

}  // namespace

const std::string* Environment::value(std::string_view name) const {
  for (const Variable& variable : variables) {
    if (variable.name == name) return &variable.value;
  }
  return nullptr;
}

std::vector<const FileSetting*> Environment::set_in(std::string_view name) const {
  std::vector<const FileSetting*> found;
  for (const FileSetting& setting : settings) {
    if (setting.name == name) found.push_back(&setting);
  }
  return found;
}

bool concerns_rocm(std::string_view name) {
  return std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](std::string_view p) { return name.starts_with(p); }) ||
         std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

Environment read_environment(const Root& root) {
  Environment environment;
  const ReadText own = root.read("/proc/self/environ");
  environment.known = own.ok();
  std::string home;
  if (own.ok()) {
    for (const std::string& entry : util::split(*own.text, '\0')) {
      const size_t equals = entry.find('=');
      if (equals == std::string::npos || equals == 0) continue;
      environment.variables.push_back({entry.substr(0, equals), entry.substr(equals + 1)});
    }
    std::stable_sort(environment.variables.begin(), environment.variables.end(),
                     [](const Variable& a, const Variable& b) { return a.name < b.name; });
    if (const std::string* value = environment.value("HOME")) home = *value;
  }

  std::vector<FileSetting>& settings = environment.settings;
  scan_folder(root, "/etc/udev/rules.d", ".rules", settings);
  scan_file(root, "/etc/systemd/system.conf", settings);
  scan_folder(root, "/etc/systemd/system.conf.d", ".conf", settings);
  scan_file(root, "/etc/systemd/user.conf", settings);
  scan_folder(root, "/etc/systemd/user.conf.d", ".conf", settings);
  scan_file(root, "/etc/environment", settings);
  scan_folder(root, "/etc/environment.d", ".conf", settings);
  scan_file(root, "/etc/security/pam_env.conf", settings);
  scan_file(root, "/etc/profile", settings);
  scan_folder(root, "/etc/profile.d", ".sh", settings);
  scan_file(root, "/etc/bash.bashrc", settings);
  if (!home.empty()) {
    scan_folder(root, home + "/.config/environment.d", ".conf", settings);
    for (const char* file :
         {"/.profile", "/.bash_profile", "/.bashrc", "/.zshenv", "/.zshrc", "/.pam_environment"}) {
      scan_file(root, home + file, settings);
    }
  }
  return environment;
}

const VariableFact* find_variable_fact(std::string_view name) {
  const VariableFact* family = nullptr;
  for (const VariableFact& fact : kFacts) {
    if (fact.name == name) return &fact;
    if (fact.name.ends_with('*') && name.starts_with(fact.name.substr(0, fact.name.size() - 1)))
      family = &fact;
  }
  return family;
}

std::string nearest_variable(std::string_view name) {
  std::vector<std::string> names;
  for (const VariableFact& fact : kFacts) {
    if (!fact.name.ends_with('*') && fact.kind != VariableKind::kInert)
      names.emplace_back(fact.name);
  }
  return util::nearest_name(name, names);
}

}  // namespace wavetap::doctor
