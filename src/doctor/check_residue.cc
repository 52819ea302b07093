// Group 16: what system-wide "fix" scripts for consumer cards leave behind: settings for all users,
// patched libraries, kept originals, kernel sources that were edited.
#include <fmt/format.h>

#include <algorithm>

#include "doctor/finding.h"
#include "doctor/rocm_libraries.h"
#include "util/text.h"

namespace wavetap::doctor {
namespace {

struct Trace {
  const char* folder;
  const char* begins;
  const char* ends;
  const char* what;
};

constexpr Trace kTraces[] = {
    {"/etc/modprobe.d", "amdgpu-mtype", ".conf", "module options for all boots"},
    {"/etc/modprobe.d", "amdgpu-fix", ".conf", "module options for all boots"},
    {"/etc/profile.d", "rocm-rdna", ".sh", "variables for every login shell"},
    {"/etc/environment.d", "90-rocm-rdna", ".conf", "variables for every session"},
    {"/etc/systemd/system.conf.d", "rocm-rdna", ".conf", "variables for every service"},
    {"/etc/udev/rules.d", "90-rocm-rdna", ".rules", "variables set when the device appears"},
    {"/opt", "rocm-patched", "", "a patched ROCm"},
};

void report(Findings& findings, const std::string& path, const std::string& what,
            const std::string& undo, const std::string& restore) {
  findings.warning("residue", fmt::format("{}: left by a fix script", path))
      .saw(path, what)
      .because(
          "It acts on every program and every user, also after the problem it was meant for is "
          "gone, and it hides what is really wrong.")
      .as_root(undo, restore);
}

}  // namespace

void check_residue(const Machine& machine, Findings& findings) {
  const Root& root = machine.root;
  const size_t mark = findings.all().size();
  for (const Trace& trace : kTraces) {
    for (const std::string& name : root.list(trace.folder)) {
      if (!name.starts_with(trace.begins) || !name.ends_with(trace.ends)) continue;
      const std::string path = std::string(trace.folder) + "/" + name;
      report(findings, path, trace.what, fmt::format("mv {} /var/tmp/", path),
             fmt::format("mv /var/tmp/{} {}/", name, trace.folder));
    }
  }
  // A library whose original was kept beside it was replaced by hand.
  std::vector<std::string> folders;
  for (const RocmInstall& install : find_rocm_installs(machine))
    folders.push_back(install.library_folder);
  for (const std::string& site : find_site_packages(machine))
    folders.push_back(site + "/torch/lib");
  for (const std::string& folder : folders) {
    for (const std::string& name : root.list(folder)) {
      const bool kept = name.starts_with("lib") && name.find(".so") != std::string::npos &&
                        (name.ends_with(".original") || name.ends_with(".backup") ||
                         name.ends_with(".fade_backup") || name.ends_with(".orig"));
      if (!kept) continue;
      const std::string path = folder + "/" + name;
      const std::string target = path.substr(0, path.rfind('.'));
      report(findings, path, "the original of a replaced library",
             fmt::format("mv {} {}", path, target), "");
    }
  }
  for (const std::string& name : root.list("/usr/src")) {
    const std::string path = "/usr/src/" + name + "/amd/amdkfd/kfd_crat.c";
    if (!name.starts_with("amdgpu-") || !root.exists(path + ".orig")) continue;
    report(findings, path, "driver source with a kept original",
           fmt::format("mv {0}.orig {0}, then rebuild the DKMS module", path), "");
  }
  if (findings.all().size() == mark)
    findings.ok("residue", "no leftovers")
        .saw("/etc, /opt, library folders", "none of the known files");
}

}  // namespace wavetap::doctor
