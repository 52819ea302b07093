#include "doctor/finding.h"

namespace wavetap::doctor {

const std::vector<CheckGroup>& check_groups() {
  static const std::vector<CheckGroup> groups = {
      {1, "device-nodes", "device nodes and permissions", check_device_nodes},
      {2, "module-options", "kernel module parameters and boot options", check_module_options},
      {3, "driver", "kernel driver", check_driver},
      {4, "kernel-log", "kernel log", check_kernel_log},
      {5, "pcie", "PCIe link, BAR and IOMMU", check_pcie},
      {6, "host", "host memory settings", check_host},
      {7, "topology", "what the driver says about the GPUs", check_topology},
      {8, "override", "gfx version override", check_override},
      {9, "health", "clocks, temperature, memory errors, other users", check_health},
      {10, "rocm", "ROCm installations", check_rocm_installs},
      {11, "python", "Python packages", check_python},
      {12, "kernels", "library kernels for this GPU", check_library_kernels},
      {13, "environment", "environment variables", check_environment},
      {14, "miopen", "MIOpen settings", check_miopen},
      {15, "processes", "several processes", check_processes},
      {16, "residue", "leftovers of system-wide fix scripts", check_residue},
      {kTruthGroup, "truth", "what each layer says about the GPUs", nullptr},
      {kTrialGroup, "trials", "trials of the GPU", nullptr},
      {kLibraryGroup, "libraries", "libraries of a process", nullptr},
  };
  return groups;
}

const CheckGroup* find_group(int number) {
  for (const CheckGroup& group : check_groups()) {
    if (group.number == number) return &group;
  }
  return nullptr;
}

void run_checks(const Machine& machine, Findings& findings) {
  for (const CheckGroup& group : check_groups()) {
    if (group.run == nullptr) continue;
    findings.enter_group(group.number);
    group.run(machine, findings);
  }
}

}  // namespace wavetap::doctor
