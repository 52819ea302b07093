// wavetap swap: what a folder of kernels offers, and what would become of a program's kernels under `run
// --swap`, said beforehand.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "cli/command.h"
#include "cli/swap_start.h"
#include "cli/swap_verify.h"
#include "codeobj/code_object.h"
#include "swap/index.h"
#include "swap/legality.h"
#include "swap/table.h"
#include "util/file.h"
#include "util/json.h"
#include "util/json_library.h"
#include "util/table.h"
#include "util/terminal.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

struct SwapCommandOptions {
  std::string source;
  std::string binary;
  std::string target;
  std::string table;  // file for the library in a program; "": none
  bool json = false;
};

bool is_for(const swap::KernelInfo& kernel, const std::string& target) {
  return target.empty() || kernel.target_id == target || amd::to_string(kernel.target) == target;
}

std::string shown_name(const swap::KernelInfo& kernel) {
  return util::escape_control(codeobj::demangle(kernel.name));
}

nlohmann::ordered_json to_json(const swap::KernelInfo& kernel) {
  nlohmann::ordered_json arguments = nlohmann::ordered_json::array();
  for (const swap::Argument& argument : kernel.arguments)
    arguments.push_back(
        {{"kind", argument.kind}, {"offset", argument.offset}, {"bytes", argument.bytes}});
  return {{"kernel", codeobj::demangle(kernel.name)},
          {"symbol", kernel.name},
          {"target", kernel.target_id},
          {"arguments", arguments},
          {"kernarg_bytes", kernel.kernarg_bytes},
          {"wave_size", kernel.wave_size},
          {"vgprs", kernel.vgprs},
          {"sgprs", kernel.sgprs},
          {"lds_bytes", kernel.lds_bytes},
          {"scratch_bytes", kernel.scratch_bytes},
          {"max_workgroup", kernel.max_workgroup},
          {"uses_dynamic_stack", kernel.uses_dynamic_stack},
          {"variables", kernel.variables},
          {"hash", fmt::format("{:016x}", kernel.hash)}};
}

nlohmann::ordered_json to_json(const swap::IndexedFile& file, const swap::IndexedObject& object) {
  nlohmann::ordered_json variables = nlohmann::ordered_json::array();
  for (const swap::Variable& variable : object.variables)
    variables.push_back({{"name", variable.name}, {"bytes", variable.bytes}});
  return {{"file", file.path},
          {"number", object.number},
          {"target", object.kernels.front().target_id},
          {"kernels", object.kernels.size()},
          {"variables", variables}};
}

void print_json(const nlohmann::ordered_json& json) { fmt::print("{}", util::json_text(json)); }

size_t visible_arguments(const swap::KernelInfo& kernel) {
  return static_cast<size_t>(std::count_if(kernel.arguments.begin(), kernel.arguments.end(),
                                           [](const auto& one) { return !one.is_hidden(); }));
}

int list(const SwapCommandOptions& options) {
  Result<swap::Index> index = open_swap_index(options.source);
  if (!index.ok()) return fail(index.error());
  if (!options.table.empty()) {
    const swap::Table made(swap::candidates_of(*index, ""));
    const Status written = util::write_file(options.table, made.text());
    if (!written.ok()) return fail(written.error());
  }
  nlohmann::ordered_json rows = nlohmann::ordered_json::array(),
                         objects = nlohmann::ordered_json::array();
  util::Table table({{"KERNEL", util::Align::kLeft, /*may_shrink=*/true},
                     {"TARGET"},
                     {"ARGS", util::Align::kRight},
                     {"VGPRs", util::Align::kRight},
                     {"LDS", util::Align::kRight},
                     {"SCRATCH", util::Align::kRight},
                     {"WAVE", util::Align::kRight},
                     {"HASH"},
                     {"FILE", util::Align::kLeft, /*may_shrink=*/true}});
  size_t kernels = 0;
  for (const swap::IndexedFile& file : index->files) {
    for (const swap::IndexedObject& object : file.objects) {
      if (is_for(object.kernels.front(), options.target)) objects.push_back(to_json(file, object));
      for (const swap::KernelInfo& kernel : object.kernels) {
        if (!is_for(kernel, options.target)) continue;
        ++kernels;
        if (options.json) {
          nlohmann::ordered_json row = to_json(kernel);
          row["file"] = file.path;
          rows.push_back(std::move(row));
          continue;
        }
        table.add({shown_name(kernel), kernel.target_id, std::to_string(visible_arguments(kernel)),
                   std::to_string(kernel.vgprs), util::human_bytes(kernel.lds_bytes),
                   util::human_bytes(kernel.scratch_bytes), std::to_string(kernel.wave_size),
                   fmt::format("{:016x}", kernel.hash), util::escape_control(file.path)});
      }
    }
  }
  if (options.json)
    print_json({{"source", options.source},
                {"kernels", rows},
                {"code_objects", objects},
                {"problems", index->problems}});
  else
    fmt::print("{}{} of {}\n", table.text(util::output_columns(STDOUT_FILENO)),
               util::count_of(kernels, "kernel"), util::count_of(index->files.size(), "file"));
  return kernels > 0 && index->problems.empty() ? kDone : kIncomplete;
}

// What becomes of a program's kernels.
struct Answers {
  std::vector<SwapAnswer> kernels;
  std::vector<WholeAnswer> objects;  // something is offered for them
  size_t unnamed = 0;

  // The code object that a kernel comes with; null: it is replaced alone, or not at all.
  const WholeAnswer* whole_of(const SwapAnswer& answer) const {
    for (const WholeAnswer& one : objects)
      if (one.is_loaded() && answer.candidate == one.candidate) return &one;
    return nullptr;
  }
  const char* what(const SwapAnswer& answer) const {
    return !answer.verdict.is_legal()    ? "refused"
           : whole_of(answer) != nullptr ? "loaded"
                                         : "replaced";
  }
};

const std::string& target_of(const WholeAnswer& answer) {
  return answer.object->kernels.front().target_id;
}

void print_answers(const Answers& answers) {
  util::Table table(
      {{"KERNEL", util::Align::kLeft, /*may_shrink=*/true}, {"TARGET"}, {"WHAT"}, {"REPLACEMENT"}});
  for (const SwapAnswer& answer : answers.kernels) {
    table.add({shown_name(*answer.kernel), answer.kernel->target_id, answers.what(answer),
               util::escape_control(answer.candidate->path)});
  }
  if (!table.empty()) fmt::print("{}", table.text(util::output_columns(STDOUT_FILENO)));
  size_t legal = 0, loaded = 0;
  for (const SwapAnswer& answer : answers.kernels) {
    legal += answer.verdict.is_legal();
    if (!answer.verdict.is_legal())
      fmt::print("{} ({}): {}\n", shown_name(*answer.kernel), answer.kernel->target_id,
                 util::escape_control(answer.verdict.why));
  }
  for (const WholeAnswer& answer : answers.objects) {
    loaded += answer.is_loaded();
    if (!answer.is_loaded())
      fmt::print("the code object for {} is not replaced as a whole by {}: {}\n", target_of(answer),
                 util::escape_control(answer.candidate->path),
                 util::escape_control(answer.verdict.why));
  }
  fmt::print("{} replaced, {} refused, {} not named{}\n", util::count_of(legal, "kernel"),
             answers.kernels.size() - legal, answers.unnamed,
             loaded == 0 ? ""
                         : fmt::format("; {} loaded in the place of the program's",
                                       util::count_of(loaded, "code object")));
}

void add_outcome(nlohmann::ordered_json& row, const swap::Verdict& verdict,
                 const swap::Candidate& candidate) {
  row["replacement"] = candidate.path;
  row["reason"] = verdict.is_legal() ? std::string() : std::string(to_string(verdict.reason));
  row["why"] = verdict.why;
}

void print_answers_json(const SwapCommandOptions& options, const Answers& answers) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array(),
                         objects = nlohmann::ordered_json::array();
  for (const SwapAnswer& answer : answers.kernels) {
    const bool is_whole = answers.whole_of(answer) != nullptr;
    nlohmann::ordered_json& row = rows.emplace_back(nlohmann::ordered_json{
        {"kernel", codeobj::demangle(answer.kernel->name)},
        {"symbol", answer.kernel->name},
        {"target", answer.kernel->target_id},
        {"hash", fmt::format("{:016x}", answer.kernel->hash)},
        {"replaced", answer.verdict.is_legal()},
        {"with_its_object", is_whole},
        {"replacement_kernel", is_whole ? answer.kernel->name : answer.candidate->kernel}});
    add_outcome(row, answer.verdict, *answer.candidate);
  }
  for (const WholeAnswer& answer : answers.objects) {
    nlohmann::ordered_json& row =
        objects.emplace_back(nlohmann::ordered_json{{"number", answer.object->number},
                                                    {"target", target_of(answer)},
                                                    {"kernels", answer.object->kernels.size()},
                                                    {"variables", answer.object->variables.size()},
                                                    {"loaded", answer.is_loaded()}});
    add_outcome(row, answer.verdict, *answer.candidate);
  }
  print_json({{"source", options.source},
              {"binary", options.binary},
              {"kernels", rows},
              {"code_objects", objects},
              {"not_named", answers.unnamed}});
}

// One code object of the program: as a whole, else kernel by kernel.
void answer_for(const swap::Index& index, const swap::Table& table,
                const swap::IndexedObject& object, const std::string& target, Answers& answers) {
  if (object.kernels.empty() || !is_for(object.kernels.front(), target)) return;
  const WholeAnswer whole = choose_whole(index, table, object);
  if (whole.candidate != nullptr) answers.objects.push_back(whole);
  for (const swap::KernelInfo& kernel : object.kernels) {
    SwapAnswer answer{.kernel = &kernel, .candidate = whole.candidate, .verdict = whole.verdict};
    if (!whole.is_loaded()) answer = choose_swap(index, table, kernel);
    if (answer.candidate == nullptr && whole.candidate != nullptr &&
        !table.find(kernel.name).empty())
      answer = {.kernel = &kernel, .candidate = whole.candidate, .verdict = whole.verdict};
    if (answer.candidate == nullptr) ++answers.unnamed;
    else answers.kernels.push_back(std::move(answer));
  }
}

int check(const SwapCommandOptions& options) {
  Result<swap::Index> index = open_swap_index(options.source);
  if (!index.ok()) return fail(index.error());
  const swap::Table table(swap::candidates_of(*index, ""));
  const swap::IndexedFile binary = swap::index_file(options.binary);
  if (binary.objects.empty())
    return fail(errorf("%s: %s", options.binary.c_str(),
                       binary.problems.empty()
                           ? "holds no kernels; give a HIP program, a library or a code object"
                           : binary.problems.front().c_str()));
  Answers answers;
  for (const swap::IndexedObject& object : binary.objects)
    answer_for(*index, table, object, options.target, answers);
  if (options.json) print_answers_json(options, answers);
  else print_answers(answers);
  const bool good = !answers.kernels.empty() &&
                    std::all_of(answers.kernels.begin(), answers.kernels.end(),
                                [](const SwapAnswer& one) { return one.verdict.is_legal(); });
  return good ? kDone : kIncomplete;
}

void add_common(Command& command, SwapCommandOptions& options) {
  command.add_option("DIR", options.source, "a folder with kernels, one file, or a manifest")
      ->required();
}

void add_rest(Command& command, SwapCommandOptions& options) {
  command.add_option("--target", options.target, "only code for this target, gfx1030 say")
      ->type_name("GFX");
  command.add_flag("--json", options.json, "print JSON");
}

void add_verify(Command& swap, Invocation& invocation) {
  auto options = std::make_shared<SwapVerifyOptions>();
  auto json = std::make_shared<bool>(false);
  Command& command = swap.add_command(
      "verify",
      "run captured dispatches as they are and replaced, and compare output and time; exit status 15 if "
      "an output differs",
      "swap verify DIR FILE.wtcap [--tolerance T] [-n N] [--json]",
      "  wavetap capture -k saxpy --gpu rx6800xt -o saxpy.wtcap -- ./saxpy\n"
      "  wavetap swap verify tuned/ saxpy.wtcap --tolerance rel=1e-5\n");
  command.add_option("DIR", options->source, "a folder with kernels, one file, or a manifest")
      ->required();
  command.add_option("FILE", options->captures, "a file of wavetap capture")->required();
  command
      .add_option("--tolerance", options->tolerance,
                  "floating-point numbers may differ by abs=X, rel=X or ulp=N (bits)")
      ->type_name("TOLERANCE");
  command.add_option("--iterations,-n", options->iterations, "runs of each; the median counts")
      ->type_name("N")
      ->between(1, 1e6);
  command.add_flag("--json", *json, "print JSON");
  command.callback([options, json, &invocation] {
    const SwapVerification made = verify_swaps(*options);
    fmt::print("{}", *json ? made.json : made.text);
    invocation.exit_code = made.exit_code;
    if (made.exit_code == kIncomplete && made.text.empty())
      fail(errorf("%s: no captured kernel has a name of %s; see wavetap swap list",
                  options->captures.front().c_str(), options->source.c_str()),
           kIncomplete);
  });
}

}  // namespace

void add_swap(Command& parent, Invocation& invocation) {
  Command& swap = parent.add_command(
      "swap", "kernels for run --swap: what a folder offers, and what it would replace",
      "swap COMMAND …",
      "  wavetap swap list tuned/\n"
      "  wavetap swap check tuned/ ./my_hip_program\n"
      "  wavetap run --swap tuned/ -- ./my_hip_program\n");
  swap.require_command();
  auto options = std::make_shared<SwapCommandOptions>();
  Command& listing = swap.add_command(
      "list",
      "list the kernels of a folder, file or manifest; exit status 2 if there is none or a file cannot be used",
      "swap list DIR [--target GFX] [--json]", "  wavetap swap list tuned/ --target gfx90a\n");
  add_common(listing, *options);
  add_rest(listing, *options);
  listing
      .add_option("--table", options->table,
                  "write there what WAVETAP_SWAP takes, for programs that are not started by "
                  "wavetap run")
      ->type_name("FILE");
  listing.callback([options, &invocation] { invocation.exit_code = list(*options); });
  Command& checking = swap.add_command(
      "check",
      "say for each kernel of a program whether it would be replaced; exit status 2 if none is, or one is refused",
      "swap check DIR BINARY [--target GFX] [--json]",
      "  wavetap swap check tuned/ ./my_hip_program\n"
      "  wavetap swap check kernels.txt /opt/rocm/lib/librocrand.so --target gfx90a --json\n");
  add_common(checking, *options);
  checking.add_option("BINARY", options->binary, "a HIP program, a library or a code object")
      ->required();
  add_rest(checking, *options);
  checking.callback([options, &invocation] { invocation.exit_code = check(*options); });
  add_verify(swap, invocation);
}

}  // namespace wavetap::cli
