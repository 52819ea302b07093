#include "mcp/tool.h"

namespace wavetap::mcp {
namespace {

using Json = nlohmann::ordered_json;

const Parameter kTop = {"top", Kind::kInteger, "--top", "rows per table, 0 for all"};
const Parameter kTrace = {"trace", Kind::kInput, "", "a trace, .rpd", true};
const Parameter kCapture = {"file", Kind::kInput, "", "a capture, .wtcap", true};
const Parameter kWhich = {"capture", Kind::kInteger, "--capture",
                          "which one, when the file has several, from 1"};
const Parameter kTarget = {"target", Kind::kText, "--target",
                           "only code for this target, gfx1030 say"};
const Parameter kKernel = {"kernel", Kind::kText, "--kernel",
                           "only kernels whose demangled name matches this regular expression"};
const Parameter kLaunch = {"launch", Kind::kText, "--launch",
                           "which launches of those, from 1: \"1,3\""};
const Parameter kTools = {"tools", Kind::kText, "--tool",
                          "what to look for, as in memcheck,racecheck (all but fpcheck)"};
const Parameter kGpu = {"gpu", Kind::kName, "--gpu", "a virtual GPU of gpu_list"};
const Parameter kProgram = {"program", Kind::kProgram, "", "the program to run", true};
const Parameter kWords = {"arguments", Kind::kWords, "", "its arguments"};

std::vector<Tool> reading_tools(const Choices& choices) {
  const auto from = [&](const char* name) {
    const auto found = choices.find(name);
    return found == choices.end() ? std::vector<std::string>() : found->second;
  };
  return {
      {"report",
       "What a trace says: busy time, kernels, calls, copies, who waited for whom.",
       {"report", "--json"},
       {kTrace,
        {"by",
         Kind::kChoice,
         "--by",
         "one table only",
         false,
         {"kernel", "api", "marker", "stream", "counter"}},
        kTop}},
      {"analyze",
       "One analysis of a trace: idle gaps and why, critical path, overlap, memory and more.",
       {"analyze", "--json"},
       {{"analysis", Kind::kChoice, "", "which", true, from("analysis")},
        kTrace,
        kTop,
        {"settings",
         Kind::kSettings,
         "--set",
         "KEY=VALUE, as `wavetap analyze --help` lists them",
         false,
         {"min-us", "sequence", "gaps", "zscore", "gpu", "roi-start", "roi-end"}}}},
      {"query",
       "One SQL statement on a trace, read-only. Good starts: select * from top; select * from kernel.",
       {"query", "--format=json"},
       {kTrace, {"sql", Kind::kSql, "", "one statement of SQLite's SQL", true}}},
      {"check",
       "Whether traces are sound and complete. exit_status 2: one is not.",
       {"check", "--json"},
       {{"traces", Kind::kInputs, "", "traces, .rpd", true}}},
      {"source",
       "Which machine code comes from which source line. Without kernel and line: what the file holds.",
       {"source", "--json"},
       {{"file", Kind::kInput, "",
         "a HIP program, library, code object, capture, trace, or a folder of wavetap probe", true},
        kKernel,
        {"line", Kind::kText, "--line", "the instructions of this line, as FILE:LINE"},
        kTarget}},
      {"swap_check",
       "For each kernel of a program, whether kernels of other code objects could run in its place. "
       "exit_status 2: none, or one is refused.",
       {"swap", "check", "--json"},
       {{"kernels", Kind::kInput, "", "a folder with code objects, one file, or a manifest", true},
        {"binary", Kind::kInput, "", "a HIP program, a library or a code object", true},
        kTarget}},
      {"capture_show",
       "What is in a capture: kernel, arguments, buffers, memory.",
       {"capture", "show", "--json"},
       {kCapture}},
      {"doctor",
       "Whether this machine is fit for ROCm, and what to change if not. exit_status 2: something is wrong.",
       {"doctor", "--json"},
       {{"all", Kind::kFlag, "--all", "list checks that found nothing, too"}}},
      {"gpu_list", "The virtual GPUs.", {"gpu", "list", "--json"}, {}},
      {"gpu_show",
       "Figures and peaks of a virtual GPU.",
       {"gpu", "show", "--json"},
       {{"model", Kind::kName, "", "its name", true}}},
      {"profile",
       "What limits each kernel of a capture or a trace, where, and what to try first.",
       {"profile", "--json"},
       {{"file", Kind::kInput, "",
         "a capture, a trace, or what rocprofv3 or rocprof-compute measured", true},
        kKernel,
        kTop,
        kGpu}},
      {"profile_diff",
       "Two profiles side by side: what changed, and why.",
       {"profile", "diff", "--json"},
       {{"before", Kind::kInput, "", "a profile.json, its folder, a trace or a capture", true},
        {"after", Kind::kInput, "", "the same", true},
        kKernel}},
      {"optimize_report",
       "What was tried to make a kernel faster, with the verdict and the reason of each attempt.",
       {"optimize", "report", "--json"},
       {{"ledger", Kind::kInput, "", "the folder that wavetap optimize made", true}}},
  };
}

// They run kernels, on the engine, and nothing of the host.
std::vector<Tool> engine_tools() {
  return {
      {"replay",
       "Run a captured dispatch again on the engine. exit_status 15: verify found a difference.",
       {"replay", "--json"},
       {kCapture,
        kWhich,
        {"iterations", Kind::kInteger, "--iterations", "how often (1)"},
        {"verify", Kind::kText, "--verify",
         "compare what it writes with what was captured: bits, abs=X, rel=X or ulp=N"},
        {"swap", Kind::kInput, "--swap", "take the kernel of the same name from this code object"},
        {"counters", Kind::kFlag, "--counters", "count what the dispatch does"},
        {"grid", Kind::kText, "--grid", "another number of workgroups, X,Y,Z"},
        {"seed", Kind::kInteger, "--seed", "permute the order of workgroups and waves"}},
       false,
       false,
       "",
       "",
       15},
      {"sanitize_capture",
       "Find what a captured kernel does wrong: bounds, races, uninitialised memory. exit_status 2: it does.",
       {"sanitize"},
       {kTools, kCapture},
       false,
       false,
       "--json",
       "findings.json"},
  };
}

std::vector<Tool> running_tools() {
  return {
      {"capture",
       "Run a program on a virtual GPU and freeze single dispatches of it, for replay, sanitize_capture, "
       "profile and tune_step.",
       {"capture"},
       {{"gpu", Kind::kName, "--gpu", "a virtual GPU of gpu_list", true},
        {"output", Kind::kOutput, "--output", "the file to make, .wtcap", true},
        kKernel,
        kLaunch,
        {"max", Kind::kInteger, "--max", "no more than this many captures"},
        kProgram,
        kWords},
       true,
       true},
      {"sanitize",
       "Run a program on a virtual GPU and find what its kernels do wrong. exit_status 2: they do.",
       {"sanitize"},
       {kTools, kGpu, kKernel, kLaunch, kProgram, kWords},
       true,
       false,
       "--json",
       "findings.json"},
      {"profile_program",
       "Run a program on a virtual GPU: what limits each kernel, where, and what to try first.",
       {"profile"},
       {kGpu, kKernel, kLaunch, kTop, kProgram, kWords},
       true,
       false,
       "--output",
       "out/profile.json"},
      {"tune_step",
       "Evaluate some more points of a search for the best parameters of a kernel; each is verified. Call "
       "it again to go on. exit_status 2: none is good so far.",
       {"tune", "--json"},
       {{"spec", Kind::kInput, "", "SPEC.toml: what to build, vary and measure", true},
        {"output", Kind::kOutput, "--output", "folder of journal and results", true},
        {"evaluations", Kind::kInteger, "", "how many more (10), rounded up to the spec's batch"}},
       true,
       true},
  };
}

Json schema_of(const Parameter& parameter) {
  Json schema;
  switch (parameter.kind) {
    case Kind::kInteger: schema = {{"type", "integer"}, {"minimum", 0}}; break;
    case Kind::kFlag: schema = {{"type", "boolean"}}; break;
    case Kind::kInputs:
    case Kind::kWords:
    case Kind::kSettings: schema = {{"type", "array"}, {"items", {{"type", "string"}}}}; break;
    default: schema = {{"type", "string"}}; break;
  }
  if (parameter.kind == Kind::kName) schema["pattern"] = "^[A-Za-z0-9_-]+$";
  if (parameter.kind == Kind::kInputs) schema["minItems"] = 1;
  if (parameter.kind == Kind::kChoice && !parameter.choices.empty())
    schema["enum"] = parameter.choices;
  schema["description"] = parameter.description;
  return schema;
}

}  // namespace

std::vector<Tool> make_tools(const Choices& choices, bool allow_run) {
  std::vector<Tool> tools = reading_tools(choices);
  for (Tool& tool : engine_tools()) tools.push_back(std::move(tool));
  if (allow_run)
    for (Tool& tool : running_tools()) tools.push_back(std::move(tool));
  return tools;
}

Json describe(const Tool& tool) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const Parameter& parameter : tool.parameters) {
    properties[parameter.name] = schema_of(parameter);
    if (parameter.is_required) required.push_back(parameter.name);
  }
  Json schema = {{"type", "object"}, {"properties", properties}};
  if (!required.empty()) schema["required"] = required;
  schema["additionalProperties"] = false;
  return {{"name", tool.name},
          {"description", tool.description},
          {"inputSchema", schema},
          {"annotations",
           {{"readOnlyHint", !tool.writes && !tool.runs_programs},
            {"destructiveHint", tool.runs_programs},
            {"openWorldHint", tool.runs_programs}}}};
}

}  // namespace wavetap::mcp
