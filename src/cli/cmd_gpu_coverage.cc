// wavetap gpu coverage: which instructions of a file's device code the engine has no semantics for.
//
// Every function of every code object is decoded as a sweep and each instruction is looked up
// exactly as the engine does when it lowers a kernel. An instruction that is never reached counts
// all the same: the answer "nothing is missing" is worth more than a guess about reachability.
#include <fmt/format.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/device_code.h"
#include "emu/exec.h"
#include "isa/program.h"
#include "util/progress.h"
#include "util/table.h"
#include "util/terminal.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

struct Options {
  std::vector<std::string> files;
  bool json = false;
};

// One kind of instruction that one function uses and the engine lacks.
struct Missing {
  std::string function;
  std::string operation;
  std::string example;
  uint64_t count = 0;
};

struct ObjectCoverage {
  std::string target_id;
  uint64_t kernels = 0;
  uint64_t functions = 0;
  uint64_t instructions = 0;
  uint64_t missing_instructions = 0;
  std::vector<Missing> missing;
};

void cover_function(const DeviceFunction& function, amd::GfxTarget target,
                    ObjectCoverage& coverage) {
  const isa::Program program =
      isa::decode(function.code, {function.address}, target, function.wave64);
  std::map<std::string, Missing> missing;
  for (int32_t i = 0; i < program.size(); ++i) {
    const isa::Inst& inst = program.insts()[i];
    if (inst.size_bytes == 0) continue;  // the second half of a pair, looked up with the first
    ++coverage.instructions;
    if (inst.op != isa::Op::kInvalid &&
        emu::find_handler(inst, {target, function.wave64}) != nullptr)
      continue;
    ++coverage.missing_instructions;
    const std::string operation =
        inst.op == isa::Op::kInvalid ? "(undecodable)" : isa::op_name(inst.op);
    Missing& entry = missing[operation];
    if (entry.count++ == 0) {
      const GpuAddr pc = program.pc_of(i);
      entry.function = function.name;
      entry.operation = operation;
      entry.example = isa::disassemble(function.code.subspan(pc.value - function.address), target,
                                       function.wave64, pc);
    }
  }
  for (auto& [operation, entry] : missing) coverage.missing.push_back(std::move(entry));
}

ObjectCoverage cover_object(const codeobj::CodeObject& object) {
  ObjectCoverage coverage;
  coverage.target_id = object.target_id();
  coverage.kernels = object.kernels().size();
  const std::vector<DeviceFunction> functions = functions_of(object);
  coverage.functions = functions.size();
  for (const DeviceFunction& function : functions)
    cover_function(function, object.target(), coverage);
  return coverage;
}

nlohmann::json to_json(const ObjectCoverage& coverage) {
  nlohmann::json missing = nlohmann::json::array();
  for (const Missing& entry : coverage.missing) {
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
void print_file(const DeviceFile& file, const std::vector<ObjectCoverage>& objects) {
  const size_t columns = util::output_columns(STDOUT_FILENO);
  std::map<std::string, ObjectCoverage> by_target;
  for (const ObjectCoverage& object : objects) {
    ObjectCoverage& sum = by_target[object.target_id];
    sum.kernels += object.kernels;
    sum.functions += object.functions;
    sum.instructions += object.instructions;
    sum.missing_instructions += object.missing_instructions;
    sum.missing.insert(sum.missing.end(), object.missing.begin(), object.missing.end());
  }
  fmt::print("{}: {}\n", file.path, util::count_of(objects.size(), "code object"));
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
    for (const Missing& entry : sum.missing) {
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

int cover(const Options& options) {
  nlohmann::json files = nlohmann::json::array();
  uint64_t missing = 0, unreadable = 0;
  for (const std::string& path : options.files) {
    const Result<std::unique_ptr<DeviceFile>> file = open_device_file(path);
    if (!file.ok()) return fail(file.error());
    std::vector<ObjectCoverage> objects;
    {
      util::Progress progress(path, (*file)->objects.size());
      for (const codeobj::CodeObject& object : (*file)->objects) {
        progress.update(objects.size(), object.target_id());
        objects.push_back(cover_object(object));
        missing += objects.back().missing_instructions;
      }
    }
    unreadable += (*file)->problems.size();
    if (!options.json) {
      print_file(**file, objects);
      continue;
    }
    nlohmann::json list = nlohmann::json::array();
    for (const ObjectCoverage& object : objects) list.push_back(to_json(object));
    files.push_back({{"file", path},
                     {"code_objects", list},
                     {"skipped", (*file)->skipped},
                     {"problems", (*file)->problems}});
  }
  const bool complete = missing == 0 && unreadable == 0;
  if (options.json) {
    fmt::print(
        "{}\n",
        nlohmann::json{{"files", files}, {"missing_instructions", missing}, {"complete", complete}}
            .dump(2));
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
  auto options = std::make_shared<Options>();
  Command& command = parent.add_command(
      "coverage",
      "list the instructions of a file that the virtual GPUs cannot execute; exit status 2 if any",
      "gpu coverage FILE… [--json]",
      "  wavetap gpu coverage ./my_hip_program\n"
      "  wavetap gpu coverage /usr/lib/*/librocrand.so.1 --json\n");
  command
      .add_option("FILE", options->files,
                  "HIP programs, libraries, offload bundles (compressed or not) or code objects")
      ->required()
      ->expected(1, 1 << 20);
  command.add_flag("--json", options->json, "print JSON");
  command.callback([options, &invocation] { invocation.exit_code = cover(*options); });
}

}  // namespace wavetap::cli
