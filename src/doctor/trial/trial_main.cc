// wavetap-trial: the part of the doctor that touches the GPU, in a process of its own so that a
// crash or a hang is an observation. Started by wavetap, one task per process:
//
//   wavetap-trial truth hsa|hip|cuda   what the devices say of themselves through one layer
//   wavetap-trial run NAME             one trial
//   wavetap-trial measure FILE         what the first device reaches at most, into FILE; - is standard output
//
// One line of JSON goes to standard output; what the runtimes print goes to standard error.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "doctor/trial/ceilings.h"
#include "doctor/trial/loaded_library.h"
#include "doctor/trial/trials.h"
#include "util/json_library.h"

namespace wavetap::doctor::trial {
namespace {

using nlohmann::ordered_json;

// Runtimes print to standard output; keep it for our line.
FILE* claim_output() {
  const int kept = dup(STDOUT_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  return kept < 0 ? stderr : fdopen(kept, "w");
}

void say(FILE* output, const ordered_json& line) {
  fmt::print(output, "{}\n", line.dump(-1, ' ', true, ordered_json::error_handler_t::replace));
  std::fflush(output);
}

int tell_truth(FILE* output, const std::string& layer) {
  const bool hsa = layer == "hsa", hip = layer == "hip";
  if (!hsa && !hip && layer != "cuda") return 64;
  std::vector<Figures> figures;
  const std::string error = hsa   ? hsa_figures(figures)
                            : hip ? hip_figures(figures)
                                  : cuda_figures(figures);
  const Library& library = hsa ? hsa_library() : hip ? hip_library() : cuda_library();
  ordered_json line = {{"layer", layer}, {"library", library.path()}, {"error", error}};
  line["devices"] = ordered_json::array();
  for (const Figures& one : figures) {
    line["devices"].push_back({{"name", one.name},
                               {"arch", one.arch},
                               {"multiprocessors", one.multiprocessors},
                               {"clock_mhz", one.clock_mhz},
                               {"wave_size", one.wave_size},
                               {"lds_bytes", one.lds_bytes},
                               {"vram_bytes", one.vram_bytes},
                               {"l2_bytes", one.l2_bytes},
                               {"node", one.node},
                               {"pci", one.pci_address}});
  }
  say(output, line);
  return 0;
}

int run_trial(FILE* output, const std::string& name) {
  for (const Trial& trial : trials()) {
    if (name != trial.name) continue;
    const Verdict verdict = trial.run();
    const char* outcome = verdict.outcome == Outcome::kPassed   ? "passed"
                          : verdict.outcome == Outcome::kFailed ? "failed"
                                                                : "skipped";
    say(output, {{"trial", name}, {"outcome", outcome}, {"text", verdict.text}});
    return 0;
  }
  return 64;
}

int measure(FILE* output, const std::string& path) {
  FILE* const file = path == "-" ? output : std::fopen(path.c_str(), "w");
  if (file == nullptr) return 1;
  std::vector<Measured> measured;
  const std::string error = measure_ceilings(measured);
  std::vector<Figures> devices;
  if (error.empty()) hip_figures(devices);
  ordered_json line = {{"error", error}, {"figures", ordered_json::array()}};
  if (!devices.empty()) {
    line["name"] = devices[0].name;
    line["arch"] = devices[0].arch;
    line["compute_units"] = devices[0].multiprocessors;
    line["clock_mhz"] = devices[0].clock_mhz;
  }
  for (const Measured& one : measured)
    line["figures"].push_back({{"key", one.key},
                               {"per_second", one.per_second},
                               {"seconds", one.seconds},
                               {"work", one.work}});
  say(file, line);
  return 0;
}

}  // namespace
}  // namespace wavetap::doctor::trial

int main(int argc, char** argv) {
  using namespace wavetap::doctor::trial;
  if (argc != 3) {
    fmt::print(
        stderr,
        "wavetap-trial: error: command line: not for direct use; see wavetap doctor --help\n");
    return 64;
  }
  FILE* output = claim_output();
  const int status = std::strcmp(argv[1], "truth") == 0     ? tell_truth(output, argv[2])
                     : std::strcmp(argv[1], "run") == 0     ? run_trial(output, argv[2])
                     : std::strcmp(argv[1], "measure") == 0 ? measure(output, argv[2])
                                                            : 64;
  std::fflush(nullptr);
  // The runtimes' destructors are not what is being tested.
  _exit(status);
}
