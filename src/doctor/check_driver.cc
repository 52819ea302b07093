// Group 3: which kernel driver, and does it fit the installed ROCm?
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>

#include "amd/kfd_abi.h"
#include "doctor/check.h"
#include "doctor/machine.h"
#include "util/text.h"

namespace wavetap::doctor {
namespace {

// Bits of /proc/sys/kernel/tainted that say something about drivers.
struct Taint {
  int bit;
  const char* text;
};
constexpr Taint kTaints[] = {{0, "proprietary module"}, {12, "out-of-tree module"},
                             {13, "unsigned module"},   {7, "kernel died once (oops)"},
                             {9, "kernel warning"},     {14, "soft lockup"}};

void check_module(const Machine& machine, Findings& findings) {
  const Root& root = machine.root;
  if (!root.exists("/sys/module/amdgpu")) {
    if (root.exists("/dev/kfd")) {
      findings.unknown("driver.module", "the amdgpu module is not visible; it may be built into the kernel")
          .saw("/sys/module/amdgpu", "not there");
    } else {
      Finding& missing = findings.error("driver.module", "the amdgpu driver is not loaded")
                             .saw("/sys/module/amdgpu", "not there");
      missing.because("It provides /dev/kfd and /dev/dri.");
      if (machine.amd_display_devices.empty())
        missing.advise("there is no AMD GPU in this machine for it to drive");
      else missing.as_root("modprobe amdgpu", "modprobe -r amdgpu");
    }
    return;
  }
  const std::string release = root.line("/proc/sys/kernel/osrelease").value_or("unknown");
  // A module with a version of its own was not built with the kernel: AMD's DKMS package sets one.
  const auto version = root.line("/sys/module/amdgpu/version");
  std::string dkms;
  for (const std::string& folder : root.list("/var/lib/dkms/amdgpu")) {
    if (folder != "kernel-" + release && !folder.starts_with("kernel-")) dkms = folder;
  }
  Finding& finding = findings.ok(
      "driver.module",
      fmt::format("amdgpu {} on Linux {}",
                  version ? *version + (dkms.empty() ? "" : " (DKMS)") : "of the kernel", release));
  finding.saw("/proc/sys/kernel/osrelease", release);
  if (version) finding.saw("/sys/module/amdgpu/version", *version);
  if (!dkms.empty()) finding.saw("/var/lib/dkms/amdgpu", dkms);
}

void check_taint(const Machine& machine, Findings& findings) {
  const auto tainted = machine.root.number("/proc/sys/kernel/tainted");
  if (!tainted) {
    findings.unknown("driver.taint", "whether the kernel is tainted cannot be read")
        .saw("/proc/sys/kernel/tainted", "not there");
    return;
  }
  std::vector<std::string> words;
  for (const Taint& taint : kTaints) {
    if (*tainted >> taint.bit & 1) words.emplace_back(taint.text);
  }
  if (words.empty()) return;
  const bool died = (*tainted >> 7 & 1) != 0;
  findings
      .add(died ? Verdict::kWarning : Verdict::kNote, "driver.taint",
           "the kernel is tainted: " + util::join(words, ", "))
      .saw("/proc/sys/kernel/tainted", std::to_string(*tainted))
      .because(died ? "A driver crashed since boot; what it held may be in any state."
                    : "Upstream maintainers do not look at reports from such kernels.")
      .advise(died ? "reboot before trusting anything measured" : "say so in bug reports");
}

// Asks the driver for its interface version; opening /dev/kfd starts nothing.
void check_interface(const Machine& machine, Findings& findings) {
  if (!machine.root.live()) return;
  const ScopedFd fd(::open("/dev/kfd", O_RDWR | O_CLOEXEC));
  if (!fd.valid()) return;
  amd::KfdGetVersionArgs version{};
  const unsigned long request =
      _IOR(amd::kKfdIoctlType, static_cast<unsigned>(amd::KfdIoctl::kGetVersion), amd::KfdGetVersionArgs);
  if (ioctl(fd.get(), request, &version) != 0) {
    findings.unknown("driver.interface", "the driver does not answer its version")
        .saw("/dev/kfd", "GET_VERSION failed");
    return;
  }
  const std::string text = fmt::format("{}.{}", version.major, version.minor);
  if (version.major == 1 && version.minor < 15) {
    findings.note("driver.interface", "driver interface " + text + " has no virtual-memory calls")
        .saw("/dev/kfd GET_VERSION", text)
        .because("hipMemCreate, hipMemMap and replaying at fixed addresses need 1.15 (Linux 6.6, ROCm 6).");
    return;
  }
  findings.ok("driver.interface", "driver interface " + text).saw("/dev/kfd GET_VERSION", text);
}

}  // namespace

void check_driver(const Machine& machine, Findings& findings) {
  check_module(machine, findings);
  check_interface(machine, findings);
  check_taint(machine, findings);
}

}  // namespace wavetap::doctor
