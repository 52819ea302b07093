// Group 4: what the kernel said about the GPU. Unprivileged users often may not read its log; that
// is reported as unknown with the command that would show it.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>

#include "doctor/finding.h"
#include "doctor/machine.h"
#include "util/text.h"

namespace wavetap::doctor {
namespace {

struct Symptom {
  const char* id;
  Verdict verdict;
  const char* needles[3];  // all must occur, in lower case
  const char* meaning;
  const char* advice;
};

// clang-format off
constexpr Symptom kSymptoms[] = {
    {"gpu-reset", Verdict::kError, {"amdgpu", "gpu reset", nullptr}, "The GPU was reset; every program that used it lost its state.", "find the job before the reset: the line above it names a ring or a queue"},
    {"ring-timeout", Verdict::kError, {"amdgpu", "ring ", "timeout"}, "A job did not finish in time: the GPU hung.", "run wavetap doctor --try; if a trial hangs too, suspect clocks, power or the override"},
    {"hws-hang", Verdict::kError, {"hws", "hang", nullptr}, "The firmware scheduler stopped answering.", "reboot, then update firmware and driver"},
    {"uncorrectable", Verdict::kError, {"amdgpu", "uncorrectable", nullptr}, "VRAM or an on-chip memory returned wrong data.", "stop trusting results of this GPU; see the health checks"},
    {"page-fault", Verdict::kWarning, {"amdgpu", "page fault", nullptr}, "A program used an address that is not mapped.", "run the program under wavetap run to learn which kernel and buffer"},
    {"page-fault", Verdict::kWarning, {"amdgpu", "vm_l2_protection_fault", nullptr}, "A program used an address that is not mapped.", "run the program under wavetap run to learn which kernel and buffer"},
    {"illegal-instruction", Verdict::kWarning, {"sq_intr", "illegal", nullptr}, "A wave met an instruction this chip does not have: code for another chip.", "see the override check"},
    {"firmware", Verdict::kError, {"amdgpu", "failed to load", "firmware"}, "A firmware file is missing or does not fit.", "install the distribution's firmware package (Debian: firmware-amd-graphics)"},
    {"atomics", Verdict::kError, {"kfd", "skipped device", "atomic"}, "The slot does not route PCIe atomics, so ROCm cannot use this GPU.", "use a slot connected to the CPU"},
    {"no-retry", Verdict::kNote, {"amdgpu", "unknown parameter", nullptr}, "A module option that does not exist was given.", "see the module options"},
    {"no-retry", Verdict::kNote, {"amdgpu", "deprecated", nullptr}, "A module option will go away.", "see the module options"},
    {"mes", Verdict::kWarning, {"amdgpu", "mes failed", nullptr}, "The queue scheduler of gfx11 refused a command.", "update firmware and kernel"},
    {"evicted", Verdict::kNote, {"kfd", "evict", nullptr}, "Queues were stopped to free memory.", "other programs compete for VRAM"},
    {"oom", Verdict::kWarning, {"amdgpu", "out of memory", nullptr}, "The driver ran out of memory.", "free VRAM or host memory"},
};
// clang-format on

bool shows(const std::string& lower, const Symptom& symptom) {
  return std::all_of(std::begin(symptom.needles), std::end(symptom.needles),
                     [&](const char* needle) {
                       return needle == nullptr || lower.find(needle) != std::string::npos;
                     });
}

// A record of /dev/kmsg is `prio,seq,usec,flags;text`; files of syslog and dmesg have time and
// text.
std::string message_of(const std::string& line) {
  const size_t semicolon = line.find(';');
  const bool record = !line.empty() && std::isdigit(static_cast<unsigned char>(line[0])) != 0 &&
                      semicolon != std::string::npos;
  if (!record) return line;
  const std::vector<std::string> fields = util::split(line.substr(0, semicolon), ',');
  std::string message;
  if (fields.size() > 2) {
    if (const std::optional<uint64_t> usec = util::parse_unsigned(fields[2]))
      message = fmt::format("[{}.{:06} s after boot] ", *usec / 1000000, *usec % 1000000);
  }
  return message + line.substr(semicolon + 1);
}

}  // namespace

void check_kernel_log(const Machine& machine, Findings& findings) {
  ReadText log;
  std::string source;
  std::string reasons;
  for (const char* path : {"/dev/kmsg", "/var/log/dmesg", "/var/log/kern.log"}) {
    log = machine.root.read(path);
    source = path;
    if (log.ok()) break;
    reasons += (reasons.empty() ? "" : "; ") + fmt::format("{}: {}", path, log.reason());
  }
  if (!log.ok()) {
    findings.unknown("kernel-log.read", "the kernel log cannot be read")
        .saw("/dev/kmsg, /var/log", reasons)
        .because("Resets, hangs and memory errors are reported there first.")
        .as_root("journalctl -k -g 'amdgpu|kfd'");
    return;
  }
  const std::vector<std::string> lines = lines_of(*log.text);
  bool found = false;
  for (const Symptom& symptom : kSymptoms) {
    size_t count = 0;
    std::string last;
    for (const std::string& line : lines) {
      std::string lower = line;
      std::transform(lower.begin(), lower.end(), lower.begin(),
                     [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      if (!shows(lower, symptom)) continue;
      ++count;
      last = message_of(line);
    }
    if (count == 0) continue;
    found = true;
    findings
        .add(symptom.verdict, std::string("kernel-log.") + symptom.id,
             fmt::format("the kernel log has {} of this kind: {}", util::count_of(count, "message"),
                         symptom.id))
        .saw(source, last)
        .because(symptom.meaning)
        .advise(symptom.advice);
  }
  if (!found)
    findings
        .ok("kernel-log",
            fmt::format("{}, nothing alarming about the GPU", util::count_of(lines.size(), "line")))
        .saw(source, "readable");
}

}  // namespace wavetap::doctor
