// Group 9: is the GPU well, and is it ours alone? Temperatures, clocks held back, memory errors,
// partition mode, other processes.
#include <fmt/format.h>

#include "doctor/finding.h"
#include "doctor/machine.h"
#include "util/text.h"

namespace wavetap::doctor {
namespace {

// `ue: N` and `ce: N` lines of ras/*_err_count.
struct ErrorCount {
  uint64_t uncorrected = 0;
  uint64_t corrected = 0;
};

ErrorCount parse_errors(const std::string& text) {
  ErrorCount count;
  for (const std::string& line : lines_of(text)) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const auto number = util::parse_unsigned(trimmed(line.substr(colon + 1)));
    if (!number) continue;
    if (trimmed(line.substr(0, colon)) == "ue") count.uncorrected += *number;
    if (trimmed(line.substr(0, colon)) == "ce") count.corrected += *number;
  }
  return count;
}

void check_memory_errors(const Machine& machine, const Gpu& gpu, Findings& findings) {
  const std::string folder = gpu.pci_folder + "/ras";
  bool read = false;
  for (const std::string& name : machine.root.list(folder)) {
    if (!name.ends_with("_err_count")) continue;
    const ReadText text = machine.root.read(folder + "/" + name);
    if (!text.ok()) continue;
    read = true;
    const ErrorCount count = parse_errors(*text.text);
    const std::string block = name.substr(0, name.size() - 10);
    if (count.uncorrected != 0) {
      findings
          .error(
              "health.ecc",
              fmt::format("{}: ECC counted {} in {}", gpu.pci_address,
                          util::count_of(count.uncorrected, "uncorrectable memory error"), block))
          .saw(folder + "/" + name, fmt::format("ue {}, ce {}", count.uncorrected, count.corrected))
          .because(
              "Data read from this memory was wrong. Results since boot are suspect, and processes "
              "that used the pages were killed.")
          .advise(
              "stop using this GPU for work; reset it, and have it replaced when the count rises "
              "again")
          .as_root("amd-smi bad-pages    # pages retired so far");
    } else if (count.corrected != 0) {
      findings
          .warning("health.ecc",
                   fmt::format("{}: ECC corrected {} in {}", gpu.pci_address,
                               util::count_of(count.corrected, "memory error"), block))
          .saw(folder + "/" + name, fmt::format("ue {}, ce {}", count.uncorrected, count.corrected))
          .because("Results are right, but cells are failing; uncorrectable errors often follow.")
          .advise("watch the count; if it grows during work, plan a replacement");
    }
  }
  if (!read && machine.root.exists(folder)) {
    findings.unknown("health.ecc", gpu.pci_address + ": error counters cannot be read")
        .saw(folder, "no readable *_err_count");
  }
  if (!read && gpu.property("capability") >> 26 & 1 && !machine.root.exists(folder)) {
    findings.unknown("health.ecc", gpu.pci_address + ": has ECC, and no counters in sysfs")
        .saw(folder, "not there");
  }
}

void check_sensors(const Machine& machine, const Gpu& gpu, Findings& findings) {
  for (const std::string& monitor : machine.root.list(gpu.pci_folder + "/hwmon")) {
    const std::string folder = gpu.pci_folder + "/hwmon/" + monitor;
    for (const char* index : {"1", "2", "3"}) {
      const std::string base = folder + "/temp" + index;
      const auto now = machine.root.number(base + "_input"),
                 limit = machine.root.number(base + "_crit");
      if (!now || !limit || *now < *limit) continue;
      findings
          .error("health.temperature",
                 fmt::format("{}: {} is at {} °C, the limit is {} °C", gpu.pci_address,
                             machine.root.line(base + "_label").value_or("a sensor"), *now / 1000,
                             *limit / 1000))
          .saw(base + "_input", std::to_string(*now))
          .saw(base + "_crit", std::to_string(*limit))
          .because("The GPU lowers its clocks or switches itself off.")
          .advise("check fans, dust and air flow");
    }
    const auto cap = machine.root.number(folder + "/power1_cap"),
               most = machine.root.number(folder + "/power1_cap_default");
    if (cap && most && *cap < *most && *most != 0) {
      findings
          .note("health.power-cap", fmt::format("{}: power is capped at {} W of {} W",
                                                gpu.pci_address, *cap / 1000000, *most / 1000000))
          .saw(folder + "/power1_cap", std::to_string(*cap))
          .because("Kernels run slower than published figures.")
          .as_root(fmt::format("echo {} > {}/power1_cap", *most, folder),
                   fmt::format("echo {} > {}/power1_cap", *cap, folder));
    }
  }
  const std::string level_path = gpu.pci_folder + "/power_dpm_force_performance_level";
  const auto level = machine.root.line(level_path);
  if (level && *level != "auto") {
    findings
        .add(*level == "low" ? Verdict::kWarning : Verdict::kNote, "health.performance-level",
             fmt::format("{}: the performance level is {}", gpu.pci_address, *level))
        .saw(level_path, *level)
        .because("Clocks do not follow the load.")
        .as_root("echo auto > " + level_path, fmt::format("echo {} > {}", *level, level_path));
  }
}

void check_partition(const Machine& machine, const Gpu& gpu, Findings& findings) {
  const auto partition = machine.root.line(gpu.pci_folder + "/current_compute_partition");
  if (!partition || *partition == "SPX" || partition->empty()) return;
  findings
      .note("health.partition", fmt::format("{}: is partitioned ({})", gpu.pci_address, *partition))
      .saw(gpu.pci_folder + "/current_compute_partition", *partition)
      .because("Each partition shows as a GPU with a part of the compute units and memory.");
}

}  // namespace

void check_health(const Machine& machine, Findings& findings) {
  const size_t mark = findings.all().size();
  for (const Gpu& gpu : machine.gpus) {
    check_memory_errors(machine, gpu, findings);
    check_sensors(machine, gpu, findings);
    check_partition(machine, gpu, findings);
  }
  const std::string proc = "/sys/class/kfd/kfd/proc";
  const std::vector<std::string> others = machine.root.list(proc);
  if (!others.empty()) {
    findings
        .note("health.other-users",
              fmt::format("{} on the GPU", util::count_of(others.size(), "process")))
        .saw(proc, util::join(others, " "))
        .because("They share memory and compute units; measurements are not yours alone.");
  }
  if (machine.gpus.empty())
    findings.unknown("health", "no compute GPU to look at")
        .saw("/sys/class/kfd/kfd/topology/nodes", "no GPU node");
  else if (findings.all().size() == mark)
    findings.ok("health", "no memory errors, temperatures below their limits")
        .saw(machine.gpus.front().pci_folder, "readable");
}

}  // namespace wavetap::doctor
