// Group 14: MIOpen's settings. Its solver switches are real, so contradictory ones leave no
// algorithm, and its search can take minutes per convolution.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "doctor/finding.h"
#include "doctor/loader_traps.h"
#include "doctor/machine.h"
#include "util/text.h"

namespace wavetap::doctor {
namespace {

constexpr const char* kSolverFamilies[] = {"GEMM", "IMPLICIT_GEMM", "DIRECT", "WINOGRAD", "FFT"};

bool is_zero(const std::string& value) {
  return value == "0" || value == "off" || value == "false" || value == "no" || value == "disable";
}

// Values configuration files would set for the next login differ from each other, or from the ones
// in force.
void check_contradictions(const Machine& machine, Findings& findings) {
  std::vector<std::string> disabled, enabled;
  for (const char* family : kSolverFamilies) {
    const std::string name = std::string("MIOPEN_DEBUG_CONV_") + family;
    std::vector<std::pair<std::string, std::string>> values;
    if (const std::string* value = machine.variable(name))
      values.emplace_back("environment", *value);
    for (const FileSetting* setting : machine.environment.set_in(name))
      values.emplace_back(setting->where(), setting->value);
    const bool differ = std::any_of(values.begin(), values.end(), [&](const auto& v) {
      return is_zero(v.second) != is_zero(values.front().second);
    });
    if (differ) {
      Finding& finding =
          findings.warning("miopen.contradiction", name + " is set to different values");
      for (const auto& [where, value] : values) finding.saw(where, name + "=" + value);
      finding.because(
          "Which one a program gets depends on how it was started, and with it which convolution "
          "algorithm runs.");
      finding.unset(name);
    }
    if (const std::string* value = machine.variable(name))
      (is_zero(*value) ? disabled : enabled).push_back(family);
  }
  if (disabled.size() == std::size(kSolverFamilies)) {
    Finding& finding = findings.error("miopen.no-solver",
                                      "every family of convolution algorithms is switched off");
    for (const char* family : kSolverFamilies) {
      finding.saw("environment", std::string("MIOPEN_DEBUG_CONV_") + family + "=0");
      finding.unset(std::string("MIOPEN_DEBUG_CONV_") + family);
    }
    finding.because(
        "MIOpen finds no solution, and convolutions fail with miopenStatusUnknownError.");
  } else if (!disabled.empty()) {
    Finding& finding = findings.note(
        "miopen.disabled", "switched-off convolution families: " + util::join(disabled, ", "));
    for (const std::string& family : disabled)
      finding.saw("environment", "MIOPEN_DEBUG_CONV_" + family + "=0");
    finding.because("Convolutions use what is left, often slower.");
  }
  if (!enabled.empty() && disabled.empty()) {
    findings.note("miopen.no-op", "MIOPEN_DEBUG_CONV_*=1 changes nothing")
        .saw("environment", "MIOPEN_DEBUG_CONV_" + enabled.front() + "=1")
        .because("Every family is on by default; 1 does not select it.")
        .unset("MIOPEN_DEBUG_CONV_" + enabled.front());
  }
}

void check_search(const Machine& machine, Findings& findings) {
  const std::string* enforce = machine.variable("MIOPEN_FIND_ENFORCE");
  if (enforce == nullptr) return;
  const bool searches =
      *enforce == "3" || *enforce == "4" || *enforce == "SEARCH" || *enforce == "SEARCH_DB_UPDATE";
  if (!searches) return;
  Finding& finding =
      findings
          .warning("miopen.search",
                   fmt::format("MIOPEN_FIND_ENFORCE={} searches exhaustively", *enforce))
          .saw("environment", "MIOPEN_FIND_ENFORCE=" + *enforce)
          .because("Every new convolution shape is tuned for minutes; it looks like a hang.");
  for (const FileSetting* setting : machine.environment.set_in("MIOPEN_FIND_ENFORCE"))
    finding.saw(setting->where(), setting->name + "=" + setting->value);
  finding.unset("MIOPEN_FIND_ENFORCE");
}

constexpr uint64_t kLargeCacheBytes = 2ull << 30;

// Of a folder, by its real path, and what is below it; links are not followed. `entries` bounds the
// work.
uint64_t bytes_below(const Root& root, const std::string& folder, size_t& entries) {
  uint64_t bytes = 0;
  for (const std::string& name : root.list(folder)) {
    if (entries == 0) return bytes;
    --entries;
    const std::string path = folder + "/" + name;
    const std::optional<FileInfo> info = root.info(path);
    if (!info || root.real(path) != path) continue;
    bytes += info->type == 'd' ? bytes_below(root, path, entries) : info->size_bytes;
  }
  return bytes;
}

void check_folder(const Machine& machine, const std::string& variable, const std::string& fallback,
                  Findings& findings) {
  const std::string* value = machine.variable(variable);
  const std::string* home = machine.variable("HOME");
  if (value == nullptr && home == nullptr) return;
  const std::string folder = value != nullptr ? *value : *home + fallback;
  const std::optional<FileInfo> info = machine.root.info(folder);
  if (!info) return;  // made at first use
  const bool writable = machine.root.live()
                            ? access(folder.c_str(), W_OK) == 0
                            : !machine.identity.known || machine.identity.uid == 0 ||
                                  ((machine.identity.uid == info->uid       ? info->mode >> 6
                                    : machine.identity.has_group(info->gid) ? info->mode >> 3
                                                                            : info->mode) &
                                   2) != 0;
  if (!writable) {
    findings.warning("miopen.cache", folder + " cannot be written")
        .saw(folder, fmt::format("mode {:04o}, owner {}", info->mode, info->uid))
        .because("MIOpen compiles and tunes the same kernels in every run.")
        .set(variable, "/var/tmp/miopen-" + std::to_string(machine.identity.uid));
  }
  size_t entries = 20'000;
  if (const uint64_t bytes = bytes_below(machine.root, machine.root.real(folder), entries);
      bytes > kLargeCacheBytes) {
    findings.note("miopen.size", fmt::format("{} holds {}", folder, util::human_bytes(bytes)))
        .saw(folder, fmt::format("{} bytes{}", bytes, entries == 0 ? " in its first files" : ""))
        .because(
            "Kernels of every release and shape that was ever used; MIOpen makes again what it "
            "needs.")
        .advise("remove it when no program runs");
  }
  size_t locks = 0;
  for (const std::string& name : machine.root.list(folder))
    locks += name.ends_with(".lock") ? 1 : 0;
  if (locks > 0) {
    findings
        .note("miopen.locks", fmt::format("{} in {}", util::count_of(locks, "lock file"), folder))
        .saw(folder, "*.lock")
        .because(
            "One left by a killed process makes others wait. They are safe to remove when no "
            "program runs.")
        .run(fmt::format("rm {}/*.lock", folder));
  }
}

}  // namespace

void check_miopen(const Machine& machine, Findings& findings) {
  const size_t mark = findings.all().size();
  check_contradictions(machine, findings);
  check_search(machine, findings);
  check_folder(machine, "MIOPEN_USER_DB_PATH", "/.config/miopen", findings);
  check_folder(machine, "MIOPEN_CUSTOM_CACHE_DIR", "/.cache/miopen", findings);
  check_miopen_sources(machine, findings);
  if (findings.all().size() == mark)
    findings.ok("miopen", "no setting that changes its choices")
        .saw("environment", "no MIOPEN_DEBUG_CONV_*, no MIOPEN_FIND_ENFORCE");
}

}  // namespace wavetap::doctor
