// Group 5: the link the GPU hangs on.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "doctor/finding.h"
#include "doctor/machine.h"
#include "util/text.h"

namespace wavetap::doctor {
namespace {

void check_link(const Machine& machine, const Gpu& gpu, Findings& findings) {
  const Root& root = machine.root;
  const auto speed = root.line(gpu.pci_folder + "/current_link_speed"),
             most = root.line(gpu.pci_folder + "/max_link_speed");
  const auto width = root.line(gpu.pci_folder + "/current_link_width"),
             widest = root.line(gpu.pci_folder + "/max_link_width");
  if (!speed || !most || !width || !widest) {
    findings.unknown("pcie.link", "the link of " + gpu.pci_address + " cannot be read")
        .saw(gpu.pci_folder, "no current_link_*");
    return;
  }
  const std::string now = fmt::format("{} x{}", *speed, *width),
                    best = fmt::format("{} x{}", *most, *widest);
  if (std::atoi(width->c_str()) < std::atoi(widest->c_str())) {
    findings
        .warning("pcie.link",
                 fmt::format("the link of {} runs at x{} of x{}", gpu.pci_address, *width, *widest))
        .saw(gpu.pci_folder + "/current_link_width", now)
        .saw(gpu.pci_folder + "/max_link_width", best)
        .because("Copies between host and GPU take that much longer.")
        .advise(
            "use the slot wired to the CPU, reseat the card, look for a shared M.2 slot in the "
            "board's manual");
    return;
  }
  if (std::atof(speed->c_str()) < std::atof(most->c_str())) {
    findings
        .note("pcie.link",
              fmt::format("the link of {} runs at {} of {}", gpu.pci_address, *speed, *most))
        .saw(gpu.pci_folder + "/current_link_speed", now)
        .saw(gpu.pci_folder + "/max_link_speed", best)
        .because(
            "An idle GPU lowers its link speed; look again while it works. If it stays, the slot "
            "is slower.");
    return;
  }
  findings.ok("pcie.link", fmt::format("{} at {}", gpu.pci_address, now)).saw(gpu.pci_folder, best);
}

// AER counters: `NAME COUNT` lines; the totals are what matters.
void check_errors(const Machine& machine, const Gpu& gpu, Findings& findings) {
  for (const char* kind : {"aer_dev_correctable", "aer_dev_nonfatal", "aer_dev_fatal"}) {
    const std::string path = gpu.pci_folder + "/" + kind;
    const ReadText text = machine.root.read(path);
    if (!text.ok()) continue;
    for (const std::string& line : lines_of(*text.text)) {
      if (!line.starts_with("TOTAL_ERR")) continue;
      const auto count = util::parse_unsigned(line.substr(line.rfind(' ') + 1));
      if (!count || *count == 0) continue;
      const bool corrected = std::string(kind) == "aer_dev_correctable";
      findings
          .add(corrected ? Verdict::kNote : Verdict::kError, "pcie.errors",
               fmt::format(
                   "{} counted {}", gpu.pci_address,
                   util::count_of(*count, corrected ? "corrected link error" : "link error")))
          .saw(path, line)
          .because("The link loses packets: riser cables, dirty contacts, too high a speed.")
          .advise(
              "reseat the card, remove the riser, or limit the link speed in the firmware setup");
    }
  }
}

void check_bar(const Machine& machine, const Gpu& gpu, Findings& findings) {
  const auto total = machine.root.number(gpu.pci_folder + "/mem_info_vram_total");
  const auto visible = machine.root.number(gpu.pci_folder + "/mem_info_vis_vram_total");
  if (!total || !visible) {
    findings.unknown("pcie.bar", "the BAR size of " + gpu.pci_address + " cannot be read")
        .saw(gpu.pci_folder, "no mem_info_*");
    return;
  }
  const std::string sizes = fmt::format("{} of {} visible to the CPU", util::human_bytes(*visible),
                                        util::human_bytes(*total));
  if (*visible < *total) {
    findings.note("pcie.bar", fmt::format("{}: {}", gpu.pci_address, sizes))
        .saw(gpu.pci_folder + "/mem_info_vis_vram_total", std::to_string(*visible))
        .because(
            "Without a resizable BAR the CPU cannot write to all of VRAM, and GPUs cannot copy to "
            "each other directly.")
        .advise("switch on Resizable BAR and Above 4G Decoding in the firmware setup");
    return;
  }
  findings.ok("pcie.bar", fmt::format("{}: {}", gpu.pci_address, sizes))
      .saw(gpu.pci_folder + "/mem_info_vis_vram_total", std::to_string(*visible));
}

}  // namespace

void check_pcie(const Machine& machine, Findings& findings) {
  for (const std::string& address : machine.amd_display_devices) {
    const bool driven = std::any_of(machine.gpus.begin(), machine.gpus.end(),
                                    [&](const Gpu& gpu) { return gpu.pci_address == address; });
    if (driven || !machine.root.exists("/dev/kfd")) continue;
    findings
        .warning("pcie.skipped",
                 fmt::format("the AMD device at {} is not among the compute GPUs", address))
        .saw("/sys/bus/pci/devices/" + address,
             machine.root.line("/sys/bus/pci/devices/" + address + "/device").value_or("?"))
        .because(
            "The driver leaves out GPUs whose slot does not route PCIe atomics, chips it does not "
            "know, and GPUs bound to another driver.")
        .as_root("dmesg | grep -i kfd");
  }
  if (machine.gpus.empty()) {
    findings.unknown("pcie", "no compute GPU to look at")
        .saw("/sys/class/kfd/kfd/topology/nodes", "no GPU node");
    return;
  }
  for (const Gpu& gpu : machine.gpus) {
    if (!machine.root.exists(gpu.pci_folder)) {
      findings.unknown("pcie.link", gpu.pci_address + " has no PCI folder")
          .saw(gpu.pci_folder, "not there");
      continue;
    }
    check_link(machine, gpu, findings);
    check_errors(machine, gpu, findings);
    check_bar(machine, gpu, findings);
  }
  if (machine.gpus.size() > 1) {
    const std::string words = machine.root.line("/proc/cmdline").value_or("");
    const bool passthrough = words.find("iommu=pt") != std::string::npos;
    const bool translating = !machine.root.list("/sys/class/iommu").empty();
    if (translating && !passthrough) {
      findings.note("pcie.iommu", "an IOMMU translates copies between GPUs")
          .saw("/sys/class/iommu", util::join(machine.root.list("/sys/class/iommu"), " "))
          .saw("/proc/cmdline", "no iommu=pt")
          .because("Peer copies and RCCL are slower, and hang on some boards.")
          .as_root(
              "add iommu=pt to GRUB_CMDLINE_LINUX in /etc/default/grub, then update-grub and "
              "reboot",
              "remove it again");
    }
  }
}

}  // namespace wavetap::doctor
