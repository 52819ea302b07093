// Group 3: which kernel driver, and does it fit the installed ROCm?
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>

#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "amd/kfd_abi.h"
#include "doctor/finding.h"
#include "doctor/machine.h"
#include "doctor/rocm_libraries.h"
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

// ROCm's releases in order, each with the version that AMD's DKMS driver of that release carries.
struct Release {
  int major, minor;
  const char* driver;  // null: not known
};
constexpr Release kReleases[] = {
    {5, 0, nullptr},   {5, 1, nullptr},   {5, 2, nullptr}, {5, 3, nullptr},
    {5, 4, "5.18.13"}, {5, 5, "6.0.5"},   {5, 6, "6.1.5"}, {5, 7, "6.2.4"},
    {6, 0, "6.3.6"},   {6, 1, "6.7.0"},   {6, 2, "6.8.5"}, {6, 3, "6.10.5"},
    {6, 4, "6.12.12"}, {7, 0, "6.14.14"}, {7, 1, nullptr}, {7, 2, nullptr}};
// How many releases apart driver and libraries may be: AMD's "user and kernel-space support
// matrix", which became wider when the driver got releases of its own.
int window_of(int driver) { return kReleases[driver].major >= 7 ? 4 : 2; }

int release_of_driver(std::string_view version) {
  for (int i = 0; i < static_cast<int>(std::size(kReleases)); ++i) {
    if (kReleases[i].driver != nullptr && version == kReleases[i].driver) return i;
  }
  return -1;
}

int release_of_rocm(const std::string& version) {
  int major = 0, minor = 0;
  if (std::sscanf(version.c_str(), "%d.%d", &major, &minor) != 2) return -1;
  for (int i = 0; i < static_cast<int>(std::size(kReleases)); ++i) {
    if (kReleases[i].major == major && kReleases[i].minor == minor) return i;
  }
  return -1;
}

std::string name_of(int release) {
  return fmt::format("{}.{}", kReleases[release].major, kReleases[release].minor);
}

// Only AMD's own driver belongs to a release of ROCm; nobody promises anything about the kernel's.
void check_window(const Machine& machine, Findings& findings) {
  const auto version = machine.root.line("/sys/module/amdgpu/version");
  const int driver = version ? release_of_driver(*version) : -1;
  if (driver < 0) return;
  for (const RocmInstall& install : find_rocm_installs(machine)) {
    const int rocm = release_of_rocm(install.version);
    if (rocm < 0) continue;
    const bool fits = std::abs(rocm - driver) <= window_of(driver);
    Finding& finding =
        fits
            ? findings.ok("driver.window",
                          fmt::format("ROCm {} and the driver of ROCm {} are within what AMD tests",
                                      name_of(rocm), name_of(driver)))
            : findings.note(
                  "driver.window",
                  fmt::format(
                      "ROCm {} on the driver of ROCm {}: AMD tests them at most {} releases apart",
                      name_of(rocm), name_of(driver), window_of(driver)));
    finding.saw("/sys/module/amdgpu/version", *version).saw(install.root, install.version);
    if (fits) continue;
    finding.because("It often works; when it does not, this is the first thing to rule out.")
        .advise(rocm > driver ? "install the driver of a newer ROCm, or an older ROCm"
                              : "install a newer ROCm, or the driver of an older one");
  }
}

void check_module(const Machine& machine, Findings& findings) {
  const Root& root = machine.root;
  if (!root.exists("/sys/module/amdgpu")) {
    if (root.exists("/dev/kfd")) {
      findings
          .unknown("driver.module",
                   "the amdgpu module is not visible; it may be built into the kernel")
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
      _IOR(amd::kKfdIoctlType, static_cast<unsigned>(amd::KfdIoctl::kGetVersion),
           amd::KfdGetVersionArgs);
  if (ioctl(fd.get(), request, &version) != 0) {
    findings.unknown("driver.interface", "the driver does not answer its version")
        .saw("/dev/kfd", "GET_VERSION failed");
    return;
  }
  const std::string text = fmt::format("{}.{}", version.major, version.minor);
  if (version.major == 1 && version.minor < 15) {
    findings.note("driver.interface", "driver interface " + text + " has no virtual-memory calls")
        .saw("/dev/kfd GET_VERSION", text)
        .because(
            "hipMemCreate, hipMemMap and replaying at fixed addresses need 1.15 (Linux 6.6, ROCm "
            "6).");
    return;
  }
  findings.ok("driver.interface", "driver interface " + text).saw("/dev/kfd GET_VERSION", text);
}

}  // namespace

void check_driver(const Machine& machine, Findings& findings) {
  check_module(machine, findings);
  check_window(machine, findings);
  check_interface(machine, findings);
  check_taint(machine, findings);
}

}  // namespace wavetap::doctor
