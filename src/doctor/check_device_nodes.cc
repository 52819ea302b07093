// Group 1: can this user reach the GPU at all?
#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "doctor/finding.h"
#include "doctor/machine.h"
#include "util/text.h"

namespace wavetap::doctor {
namespace {

std::string group_name(const Machine& machine, uint32_t gid) {
  const auto found = machine.group_names.find(gid);
  return found == machine.group_names.end() ? std::to_string(gid) : found->second;
}

std::string describe(const Machine& machine, const FileInfo& info) {
  return fmt::format("mode {:04o}, owner {}, group {}", info.mode, info.uid,
                     group_name(machine, info.gid));
}

// By owner, group and mode, as the kernel decides without access lists.
bool may_read_and_write(const Identity& identity, const FileInfo& info) {
  if (identity.uid == 0) return true;
  const uint32_t bits = identity.uid == info.uid       ? info.mode >> 6
                        : identity.has_group(info.gid) ? info.mode >> 3
                                                       : info.mode;
  return (bits & 6) == 6;
}

void check_permission(const Machine& machine, Findings& findings, const std::string& id,
                      const std::string& path) {
  const std::optional<FileInfo> info = machine.root.info(path);
  if (!info) return;
  if (machine.root.live()) {
    // The real question, and access lists count: can it be opened? Opening it starts nothing.
    const ScopedFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (fd.valid()) {
      findings.ok(id, path + " can be opened").saw(path, describe(machine, *info));
      return;
    }
    if (errno != EACCES && errno != EPERM) {
      findings.error(id, fmt::format("{} cannot be opened: {}", path, std::strerror(errno)))
          .saw(path, describe(machine, *info))
          .because(
              "The node exists and the driver refuses it: the device is not initialised, or a "
              "container's device rules forbid it.")
          .advise(
              "look at the kernel log for amdgpu and kfd messages; in a container pass --device=" +
              path);
      return;
    }
  } else if (!machine.identity.known) {
    findings
        .unknown(id,
                 path + ": the tree has no /proc/self/status, so the user's groups are not known")
        .saw(path, describe(machine, *info));
    return;
  } else if (may_read_and_write(machine.identity, *info)) {
    findings.ok(id, path + " can be opened").saw(path, describe(machine, *info));
    return;
  }
  std::vector<std::string> own;
  for (const uint32_t gid : machine.identity.gids) own.push_back(group_name(machine, gid));
  const std::string group = group_name(machine, info->gid);
  findings.error(id, path + ": permission denied")
      .saw(path, describe(machine, *info))
      .saw("/proc/self/status",
           fmt::format("user {}, groups {}", machine.identity.uid, util::join(own, " ")))
      .because(
          "Without read and write access HIP reports no device, and programs fall back to the CPU "
          "or stop with hipErrorNoDevice.")
      .as_root(fmt::format("usermod -a -G {} $USER   # then log in again", group),
               fmt::format("gpasswd -d $USER {}", group));
}

void check_container(const Machine& machine, Findings& findings) {
  if (!machine.in_container) return;
  const ReadText limits = machine.root.read("/proc/self/limits");
  if (limits.ok()) {
    for (const std::string& line : lines_of(*limits.text)) {
      if (!line.starts_with("Max locked memory")) continue;
      const std::string soft =
          trimmed(line.substr(17)).substr(0, trimmed(line.substr(17)).find(' '));
      const auto bytes = util::parse_unsigned(soft);
      if (soft != "unlimited" && bytes && *bytes < (64u << 10)) {
        findings
            .warning("container.memlock",
                     "locked memory is limited to " + util::human_bytes(*bytes))
            .saw("/proc/self/limits", trimmed(line))
            .because("Pinned host buffers count against this limit.")
            .advise("start the container with --ulimit memlock=-1");
      }
    }
  }
  const ReadText status = machine.root.read("/proc/self/status");
  if (status.ok() && status.text->find("Seccomp:\t2") != std::string::npos) {
    findings.note("container.seccomp", "system calls are filtered in this container")
        .saw("/proc/self/status", "Seccomp 2")
        .because(
            "The usual filters refuse the calls that place memory near a GPU (mbind, "
            "set_mempolicy) and debuggers; ROCm goes on without, slower.")
        .advise("start the container with --security-opt seccomp=unconfined");
  }
  const ReadText mounts = machine.root.read("/proc/self/mounts");
  if (!mounts.ok()) return;
  for (const std::string& line : lines_of(*mounts.text)) {
    const std::vector<std::string> words = util::split(line, ' ');
    if (words.size() < 4 || words[1] != "/dev/shm") continue;
    const size_t at = words[3].find("size=");
    if (at == std::string::npos) continue;
    const std::string size = words[3].substr(at + 5, words[3].find(',', at) - at - 5);
    const auto bytes = util::parse_unsigned(size);
    if (!bytes || *bytes >= (1u << 30)) continue;
    findings.note("container.shm", "/dev/shm holds " + util::human_bytes(*bytes))
        .saw("/proc/self/mounts", line)
        .because("RCCL and data-loader workers share memory through it and fail when it is full.")
        .advise("start the container with --ipc=host or --shm-size=8g");
  }
}

}  // namespace

void check_device_nodes(const Machine& machine, Findings& findings) {
  const Root& root = machine.root;
  const bool has_kfd = root.exists("/dev/kfd");
  std::vector<std::string> render_nodes;
  for (const std::string& name : root.list("/dev/dri")) {
    if (name.starts_with("renderD")) render_nodes.push_back("/dev/dri/" + name);
  }
  const std::string where = machine.in_container ? " in this container" : "";

  if (!has_kfd) {
    Finding& missing =
        findings.error("device-nodes.kfd", "/dev/kfd does not exist" + where)
            .saw("/dev/kfd", "not there")
            .because(
                "Every ROCm program opens it first; without it there is no GPU for HIP, OpenCL or "
                "PyTorch, whatever is installed.");
    if (machine.in_container) {
      missing.saw(machine.container_hint, "a container");
      missing.advise(
          "start the container with --device=/dev/kfd --device=/dev/dri --group-add=render");
    } else if (machine.amd_display_devices.empty()) {
      missing.saw("/sys/bus/pci/devices", "no AMD display or accelerator device");
      missing.advise(
          "there is no AMD GPU in this machine; use a virtual one: wavetap run --gpu rx6800xt -- "
          "CMD");
    } else {
      missing.saw("/sys/bus/pci/devices",
                  "AMD device at " + util::join(machine.amd_display_devices, ", "));
      missing.as_root("modprobe amdgpu", "modprobe -r amdgpu");
      missing.advise(
          "if the module is loaded, the kernel was built without HSA_AMD, or it skipped the GPU: "
          "see the kernel log");
    }
  } else {
    check_permission(machine, findings, "device-nodes.kfd", "/dev/kfd");
  }

  if (render_nodes.empty() && has_kfd) {
    Finding& missing = findings.error("device-nodes.render", "/dev/dri has no render node" + where)
                           .saw("/dev/dri", root.exists("/dev/dri") ? "no renderD*" : "not there")
                           .because(
                               "ROCr opens the render node of each GPU to map its memory; /dev/kfd "
                               "alone is not enough.");
    if (machine.in_container) {
      missing.saw(machine.container_hint, "a container");
      missing.advise(
          "start the container with --device=/dev/kfd --device=/dev/dri --group-add=render");
    } else {
      missing.advise("load the amdgpu driver with display support (drm); see the kernel log");
    }
  }
  for (const std::string& node : render_nodes)
    check_permission(machine, findings, "device-nodes.render", node);
  check_container(machine, findings);
}

}  // namespace wavetap::doctor
