// Group 15: programs of several processes. HIP does not survive fork(): a child that inherits an
// initialised runtime hangs at its first call. A running process can be looked at; a machine
// cannot, so this is advice where it matters.
#include <fmt/format.h>

#include "doctor/finding.h"
#include "doctor/rocm_libraries.h"
#include "util/text.h"

namespace wavetap::doctor {

void check_processes(const Machine& machine, Findings& findings) {
  const size_t mark = findings.all().size();
  for (const std::string& site : find_site_packages(machine)) {
    const ReadText text = machine.root.read(site + "/torch/version.py");
    if (!text.ok() || text.text->find("hip") == std::string::npos) continue;
    // Until 3.14 Python starts workers by fork unless told otherwise.
    const std::string python = base_name(site.substr(0, site.rfind('/')));
    const auto minor =
        python.starts_with("python3.") ? util::parse_unsigned(python.substr(8)) : std::nullopt;
    if (!minor || *minor >= 14) continue;
    findings.note("processes.fork", fmt::format("{} starts DataLoader workers by fork", python))
        .saw(site, "torch with HIP")
        .because("A worker forked after the GPU was first used hangs at its first HIP call.")
        .advise(
            "torch.multiprocessing.set_start_method('spawn'), or do not touch the GPU before "
            "workers start");
    break;
  }
  if (findings.all().size() == mark)
    findings.ok("processes", "nothing that forks with a GPU was found")
        .saw("site-packages", "no torch with HIP");
}

}  // namespace wavetap::doctor
