// wavetap gpu coverage: which instructions of a file's device code the engine has no semantics for.
//
// Every function of every code object is decoded as a sweep and each instruction is looked up
// exactly as the engine does when it lowers a kernel. An instruction that is never reached counts
// all the same: the answer "nothing is missing" is worth more than a guess about reachability.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "cli/command.h"
#include "replay/coverage.h"
#include "replay/device_file.h"
#include "util/json.h"
#include "util/json_library.h"
#include "util/progress.h"
#include "util/table.h"
#include "util/terminal.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

struct GpuCoverageOptions {
  std::vector<std::string> files;
  std::string target;
  uint32_t threads = 0;
  bool json = false;
};

nlohmann::ordered_json to_json(const replay::ObjectCoverage& coverage) {
  nlohmann::ordered_json missing = nlohmann::ordered_json::array();
  for (const replay::Missing& entry : coverage.missing) {
    missing.push_back({{"function", entry.function},
                       {"operation", entry.operation},
                       {"count", entry.count},
                       {"example", entry.example}});
  }
  return {{"target", coverage.target_id},
          {"kernels", coverage.kernels},
          {"functions", coverage.functions},
          {"instructions", coverage.instructions},
          {"missing_instructions", coverage.missing_instructions},
          {"missing", missing}};
}

// Code objects of one target are summed up: a library has one per source file and target.
void print_file(const replay::DeviceFile& file,
                const std::vector<replay::ObjectCoverage>& objects) {
  const size_t columns = util::output_columns(STDOUT_FILENO);
  std::map<std::string, replay::ObjectCoverage> by_target;
  for (const replay::ObjectCoverage& object : objects) {
    replay::ObjectCoverage& sum = by_target[object.target_id];
    sum.kernels += object.kernels;
    sum.functions += object.functions;
    sum.instructions += object.instructions;
    sum.missing_instructions += object.missing_instructions;
    sum.missing.insert(sum.missing.end(), object.missing.begin(), object.missing.end());
  }
  say(stdout, fmt::format("{}: {}", file.path, util::count_of(objects.size(), "code object")));
  util::Table summary({{"  TARGET"},
                       {"KERNELS", util::Align::kRight},
                       {"FUNCTIONS", util::Align::kRight},
                       {"INSTRUCTIONS", util::Align::kRight},
                       {"MISSING", util::Align::kRight}});
  util::Table details({{"  TARGET"},
                       {"FUNCTION", util::Align::kLeft, /*may_shrink=*/true},
                       {"COUNT", util::Align::kRight},
                       {"INSTRUCTION", util::Align::kLeft, /*may_shrink=*/true}});
  for (const auto& [target, sum] : by_target) {
    summary.add({"  " + target, util::group_digits(sum.kernels), util::group_digits(sum.functions),
                 util::group_digits(sum.instructions),
                 util::group_digits(sum.missing_instructions)});
    for (const replay::Missing& entry : sum.missing) {
      details.add({"  " + target, util::escape_control(entry.function),
                   util::group_digits(entry.count), util::escape_control(entry.example)});
    }
  }
  fmt::print("{}", summary.text(columns));
  if (!details.empty()) fmt::print("\n{}", details.text(columns));
  for (const std::string& target : file.skipped)
    fmt::print("  {}: skipped, no virtual GPU runs it\n", target);
  for (const std::string& problem : file.problems)
    fmt::print("  unreadable: {}\n", util::escape_control(problem));
}

// The code objects of a file that are looked at.
Result<std::vector<const codeobj::CodeObject*>> chosen_objects(const replay::DeviceFile& file,
                                                               const GpuCoverageOptions& options) {
  std::vector<const codeobj::CodeObject*> objects;
  std::vector<std::string> targets;
  for (const codeobj::CodeObject& object : file.objects) {
    if (replay::is_for(object, options.target)) objects.push_back(&object);
    if (std::find(targets.begin(), targets.end(), object.target_id()) == targets.end())
      targets.push_back(object.target_id());
  }
  if (!objects.empty() || file.objects.empty()) return objects;
  return errorf("%s: no code for %s; it carries %s", file.path.c_str(), options.target.c_str(),
                util::join(targets, ", ").c_str());
}

int cover(const GpuCoverageOptions& options) {
  nlohmann::ordered_json files = nlohmann::ordered_json::array();
  uint64_t missing = 0, unreadable = 0;
  for (const std::string& path : options.files) {
    const Result<std::unique_ptr<replay::DeviceFile>> file = replay::open_device_file(path);
    if (!file.ok()) return fail(file.error());
    const Result<std::vector<const codeobj::CodeObject*>> chosen = chosen_objects(**file, options);
    if (!chosen.ok()) return fail(chosen.error());
    std::vector<replay::ObjectCoverage> objects;
    {
      std::optional<util::Progress> progress;
      objects = replay::find_coverage(*chosen, options.threads, [&](size_t done, size_t all) {
        if (!progress) progress.emplace(path, all);
        progress->update(done, "functions");
      });
    }
    for (const replay::ObjectCoverage& object : objects) missing += object.missing_instructions;
    unreadable += (*file)->problems.size();
    if (!options.json) {
      print_file(**file, objects);
      continue;
    }
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const replay::ObjectCoverage& object : objects) list.push_back(to_json(object));
    files.push_back({{"file", path},
                     {"code_objects", list},
                     {"skipped", (*file)->skipped},
                     {"problems", (*file)->problems}});
  }
  const bool complete = missing == 0 && unreadable == 0;
  if (options.json) {
    fmt::print("{}",
               util::json_text(
                   {{"files", files}, {"missing_instructions", missing}, {"complete", complete}}));
  } else if (complete) {
    fmt::print("nothing is missing\n");
  } else {
    fmt::print("missing: {}, unreadable: {}\n", util::count_of(missing, "instruction"),
               util::count_of(unreadable, "code object"));
  }
  return complete ? kDone : kIncomplete;
}

}  // namespace

void add_gpu_coverage(Command& parent, Invocation& invocation) {
  auto options = std::make_shared<GpuCoverageOptions>();
  Command& command = parent.add_command(
      "coverage",
      "list the instructions of a file that the virtual GPUs cannot execute; exit status 2 if any",
      "gpu coverage FILE… [--target GFX] [--json]",
      "  wavetap gpu coverage ./my_hip_program\n"
      "  wavetap gpu coverage /usr/lib/*/librocrand.so.1 --json\n");
  command
      .add_option("FILE", options->files,
                  "HIP programs, libraries, offload bundles (compressed or not) or code objects")
      ->required()
      ->expected(1, 1 << 20);
  command.add_option("--target", options->target, "only code for this target, gfx1030 say")
      ->type_name("GFX");
  command.add_option("--threads", options->threads, "host threads; 0: one per core")
      ->type_name("N");
  command.add_flag("--json", options->json, "print JSON");
  command.callback([options, &invocation] { invocation.exit_code = cover(*options); });
}

}  // namespace wavetap::cli
