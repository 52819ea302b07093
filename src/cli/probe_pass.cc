#include "cli/probe_pass.h"

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/gpu_start.h"
#include "format/probe_ring.h"
#include "util/file.h"
#include "util/text.h"

namespace wavetap::cli {

Status check_pass_handlers(const std::vector<probe::HandlerChoice>& handlers) {
  for (const probe::HandlerChoice& choice : handlers) {
    if (choice.name == "values")
      return errorf(
          "values: instrumented kernels tell addresses, not values; leave out --pass and "
          "--real, and a virtual GPU tells them");
  }
  return {};
}

namespace {

constexpr char kRequestFile[] = "/probe.request";

// What reads the records.
Result<inspect::PassProbeOptions> telling_of(const RunOptions& run,
                                             const std::vector<probe::HandlerChoice>& handlers,
                                             const std::string& folder) {
  inspect::PassProbeOptions telling;
  telling.handlers = handlers;
  telling.folder = folder;
  if (!run.gpus.empty()) {
    const Result<std::vector<model::Model>> models = find_models(run.gpus);
    if (!models.ok()) return models.error();
    for (const model::Model& model : *models)
      telling.gpus.push_back({model.name, model.vector_line_bytes()});
  }
  telling.times = (inspect::wants_of(handlers) & format::kProbeTicks) != 0;
  return telling;
}

}  // namespace

Result<inspect::PassProbeOptions> prepared_pass(RunOptions& run,
                                                const std::vector<probe::HandlerChoice>& handlers,
                                                const std::string& folder) {
  const Result<std::vector<std::byte>> bytes = util::read_file(folder + kRequestFile);
  if (!bytes.ok())
    return errorf(
        "%s: was not made by wavetap probe HANDLER --prepare -o; name a program or a capture",
        folder.c_str());
  const std::string text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  const size_t at = text.find("\nwants ");
  const auto wants =
      at == std::string::npos
          ? std::optional<uint64_t>()
          : util::parse_unsigned(text.substr(at + 7, text.find('\n', at + 1) - at - 7));
  if (!wants || *wants != inspect::wants_of(handlers))
    return errorf("%s: was prepared for other handlers; name those again", folder.c_str());
  if (const size_t launch = text.find("\nlaunch "); launch != std::string::npos)
    run.probe.launches = text.substr(launch + 8, text.find('\n', launch + 1) - launch - 8);
  return telling_of(run, handlers, folder);
}

Result<inspect::PassProbeOptions> prepare_pass(RunOptions& run,
                                               const std::vector<probe::HandlerChoice>& handlers,
                                               const std::string& folder,
                                               const std::string& scratch, uint64_t ring_bytes) {
  Result<inspect::PassProbeOptions> telling = telling_of(run, handlers, folder);
  if (!telling.ok()) return telling;
  const uint32_t wants = inspect::wants_of(handlers);
  std::string request = fmt::format("folder {}\nwants {}\nring {}\n", folder, wants, ring_bytes);
  if (!run.probe.kernels.empty()) request += fmt::format("kernels {}\n", run.probe.kernels);
  if (!run.probe.launches.empty()) request += fmt::format("launch {}\n", run.probe.launches);
  if (run.probe.every != 0) request += fmt::format("every {}\n", run.probe.every);
  if (run.probe.max != 0) request += fmt::format("max {}\n", run.probe.max);
  const std::string file = scratch + kRequestFile;
  if (const Status written = util::write_file(file, request); !written.ok()) return written.error();
  run.probe.request_file = file;
  // The recorder carries the probes; its trace is nobody's.
  run.no_trace = false;
  run.recording.output = scratch + "/trace.rpd";
  run.recording.quiet = true;
  return telling;
}

void print_pass_outcome(const inspect::PassOutcome& outcome) {
  for (const std::string& problem : outcome.problems) say(stderr, "probe: " + problem);
  for (const auto& [kernel, why] : outcome.refused)
    say(stderr, fmt::format("probe: {}: ran as it is: {}", kernel, why));
  if (!outcome.plain.empty()) {
    std::vector<std::string> names;
    for (const auto& [kernel, processes] : outcome.plain) names.push_back(kernel);
    say(stderr,
        "probe: not compiled with wavetap-hipcc, and ran unseen: " + util::join(names, ", "));
  }
  for (const auto& [kernel, reasons] : outcome.unseen)
    for (const std::string& reason : reasons)
      say(stderr, fmt::format("probe: {}: not seen: {}", kernel, reason));
  if (outcome.records != 0)
    fmt::print(stderr, "probe: {}, {:.1f} bytes each; {} lost because the ring was full\n",
               util::count_of(outcome.records, "record"),
               static_cast<double>(outcome.record_bytes) / static_cast<double>(outcome.records),
               outcome.lost);
}

}  // namespace wavetap::cli
