// wavetap gpu exec: runs one kernel of a code object with no ROCm installed. Everything but options
// and printing is in replay/.
#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "cli/command.h"
#include "cli/engine_counters.h"
#include "cli/engine_options.h"
#include "cli/instruction_trace.h"
#include "cli/sanitize_kernel.h"
#include "replay/device_file.h"
#include "replay/kernel_run.h"
#include "util/file.h"
#include "util/json.h"
#include "util/json_library.h"
#include "util/terminal.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

struct GpuExecOptions {
  std::string file;
  std::string kernel;
  std::string target;
  std::string grid = "1";
  std::string block = "1";
  std::vector<std::string> arguments;
  std::vector<std::string> dumps;
  std::vector<std::string> saves;
  uint32_t lds_bytes = 0;
  bool counters = false;
  bool json = false;
  EngineOptions engine;
  uint64_t trace = 0;  // instructions to print
  std::optional<std::string> sanitize;
};

struct Dump {
  size_t argument = 0;  // 0-based
  size_t count = 16;
  std::string type = "i32";
};

struct Save {
  size_t argument = 0;  // 0-based
  std::string path;
};

// "X[,Y[,Z]]", each from 1 to `limit`.
Status parse_extent(const char* option, const std::string& text, uint32_t limit,
                    uint32_t (&extent)[3]) {
  const std::vector<std::string> parts = util::split(text, ',');
  if (parts.size() > 3)
    return errorf("%s %s: more than three dimensions; write X[,Y[,Z]]", option, text.c_str());
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::optional<uint64_t> value = util::parse_unsigned(parts[i]);
    if (!value || *value == 0 || *value > limit) {
      return errorf("%s %s: each must be a number from 1 to %u; write X[,Y[,Z]]", option,
                    text.c_str(), limit);
    }
    extent[i] = static_cast<uint32_t>(*value);
  }
  return {};
}

// "N[:COUNT[:TYPE]]", N counted from 0.
Result<Dump> parse_dump(const std::string& text) {
  const std::vector<std::string> parts = util::split(text, ':');
  Dump dump;
  const std::optional<uint64_t> argument = util::parse_unsigned(parts[0]);
  const std::optional<uint64_t> count =
      parts.size() > 1 ? util::parse_unsigned(parts[1]) : dump.count;
  if (parts.size() > 2) dump.type = parts[2];
  if (!argument || !count || parts.size() > 3 || replay::element_bytes(dump.type) == 0) {
    return errorf("--dump-arg %s: not understood; write N[:COUNT[:TYPE]], as in 2:16:f32",
                  text.c_str());
  }
  dump.argument = *argument;
  dump.count = *count;
  return dump;
}

// "N=FILE".
Result<Save> parse_save(const std::string& text) {
  const size_t equals = text.find('=');
  const std::optional<uint64_t> argument = util::parse_unsigned(text.substr(0, equals));
  if (equals == std::string::npos || !argument)
    return errorf("--save-arg %s: not understood; write N=FILE", text.c_str());
  return Save{*argument, text.substr(equals + 1)};
}

Status check_buffer(const replay::KernelRun& run, size_t argument, const std::string& option) {
  if (argument < run.arguments().size() && run.arguments()[argument].is_buffer) return {};
  return errorf("%s: argument %zu is not a buffer; arguments count from 0", option.c_str(),
                argument);
}

Result<replay::FoundKernel> find_kernel(const replay::DeviceFile& file,
                                        const GpuExecOptions& options) {
  const Result<std::vector<replay::FoundKernel>> found =
      replay::find_kernels(file, options.kernel, options.target);
  if (!found.ok()) return found.error();
  if (found->size() == 1) return found->front();
  std::vector<std::string> targets;
  for (const replay::FoundKernel& match : *found) targets.push_back(match.object->target_id());
  return errorf("%s: %s exists for %s; choose one with --target", options.file.c_str(),
                options.kernel.c_str(), util::join(targets, ", ").c_str());
}

Result<replay::DispatchShape> parse_shape(const GpuExecOptions& options) {
  replay::DispatchShape shape;
  shape.dynamic_lds_bytes = options.lds_bytes;
  Status status = parse_extent("--grid", options.grid, UINT32_MAX, shape.workgroups);
  if (status.ok()) status = parse_extent("--block", options.block, 1024, shape.workgroup_size);
  if (!status.ok()) return status.error();
  if (uint64_t{shape.workgroup_size[0]} * shape.workgroup_size[1] * shape.workgroup_size[2] >
      1024) {
    return errorf("--block %s: more than 1024 work-items; the hardware has no larger workgroups",
                  options.block.c_str());
  }
  for (int axis = 0; axis < 3; ++axis) {
    if (uint64_t{shape.workgroups[axis]} * shape.workgroup_size[axis] <= UINT32_MAX) continue;
    return errorf(
        "--grid %s: more than %u work-items along one axis with --block %s; a packet has "
        "no room for more",
        options.grid.c_str(), UINT32_MAX, options.block.c_str());
  }
  return shape;
}

// What is asked for of the buffers, once the kernel is over.
struct Wanted {
  std::vector<Dump> dumps;
  std::vector<Save> saves;
};

Result<Wanted> parse_wanted(const GpuExecOptions& options) {
  Wanted wanted;
  for (const std::string& text : options.dumps) {
    const Result<Dump> dump = parse_dump(text);
    if (!dump.ok()) return dump.error();
    wanted.dumps.push_back(*dump);
  }
  for (const std::string& text : options.saves) {
    const Result<Save> save = parse_save(text);
    if (!save.ok()) return save.error();
    wanted.saves.push_back(*save);
  }
  return wanted;
}

// The kernel with its arguments in memory.
Result<std::unique_ptr<replay::KernelRun>> prepare(const replay::FoundKernel& found,
                                                   const GpuExecOptions& options,
                                                   const replay::DispatchShape& shape,
                                                   const Wanted& wanted) {
  Result<std::unique_ptr<replay::KernelRun>> run =
      replay::KernelRun::load(*found.object, *found.kernel);
  if (!run.ok()) return run;
  std::vector<replay::KernelArgument> arguments;
  for (const std::string& text : options.arguments) {
    Result<replay::KernelArgument> argument = replay::parse_argument(text);
    if (!argument.ok()) return argument.error();
    arguments.push_back(std::move(*argument));
  }
  Status status = (*run)->place(std::move(arguments), shape);
  for (const Dump& dump : wanted.dumps)
    if (status.ok()) status = check_buffer(**run, dump.argument, "--dump-arg");
  for (const Save& save : wanted.saves)
    if (status.ok()) status = check_buffer(**run, save.argument, "--save-arg");
  if (!status.ok()) return status.error();
  return run;
}

// What is counted is interpreted, so --jit stands back only for those who ask for figures.
bool is_counted(const GpuExecOptions& options) {
  return options.engine.jit == "off" || options.counters || options.json;
}

replay::RunResult run_kernel(replay::KernelRun& run, const GpuExecOptions& options,
                             const std::optional<KernelSanitizer>& sanitizer,
                             jit::Compiler* compiler) {
  replay::RunOptions how;
  how.engine = {.threads = static_cast<int>(thread_count(options.engine)),
                .seed = options.engine.seed,
                .watchdog_instructions = options.engine.watchdog,
                .compiler = compiler};
  InstructionTrace trace(run.image(), run.memory(), options.trace);
  std::vector<emu::Watcher*> watchers;
  if (options.trace != 0) {
    how.engine.threads = 1;  // so that lines do not mix
    watchers.push_back(&trace);
  }
  if (sanitizer)
    watchers.insert(watchers.end(), sanitizer->watchers().begin(), sanitizer->watchers().end());
  how.watchers = watchers;
  how.count = is_counted(options);
  return run.run(how);
}

Status write_saves(replay::KernelRun& run, const std::vector<Save>& saves) {
  for (const Save& save : saves) {
    const std::span<const std::byte> bytes = run.argument_bytes(save.argument);
    const Status written =
        util::write_file(save.path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    if (!written.ok()) return written;
  }
  return {};
}

std::vector<std::string> elements_of(replay::KernelRun& run, const Dump& dump) {
  // parse_dump() let known types pass only.
  return *replay::format_elements(run.argument_bytes(dump.argument), dump.type, dump.count);
}

void print_text(replay::KernelRun& run, const replay::RunResult& result, const Wanted& wanted,
                const GpuExecOptions& options) {
  fmt::print("{} on {}: ", util::escape_control(codeobj::short_name(run.kernel().name)),
             run.object().target_id());
  if (is_counted(options))
    fmt::print("{}, {}, {} wave instructions\n",
               util::count_of(result.counters.workgroups, "workgroup"),
               util::count_of(result.counters.waves, "wave"),
               util::group_digits(result.counters.instructions));
  else fmt::print("ran with --jit {}, not counted\n", options.engine.jit);
  for (const Dump& dump : wanted.dumps) {
    fmt::print("argument {} ({}):\n{}\n", dump.argument, dump.type,
               util::wrap(util::join(elements_of(run, dump), " "),
                          util::output_columns(STDOUT_FILENO), 2));
  }
  if (options.counters) print_counters(result.counters);
}

void print_json(replay::KernelRun& run, const replay::RunResult& result, const Wanted& wanted,
                const std::optional<SanitizeReport>& report) {
  nlohmann::ordered_json json = {{"kernel", codeobj::demangle(run.kernel().name)},
                                 {"target", run.object().target_id()},
                                 {"seconds", result.seconds}};
  for (const Dump& dump : wanted.dumps)
    json["arguments"][std::to_string(dump.argument)] = elements_of(run, dump);
  add_counters(json, result.counters);
  if (report) json["sanitize"] = sanitize_json(*report, kDone);
  fmt::print("{}", util::json_text(json));
}

int exec(const GpuExecOptions& options) {
  const Result<std::unique_ptr<replay::DeviceFile>> file = replay::open_device_file(options.file);
  if (!file.ok()) return fail(file.error());
  const Result<replay::FoundKernel> found = find_kernel(**file, options);
  if (!found.ok()) return fail(found.error());
  const Result<replay::DispatchShape> shape = parse_shape(options);
  if (!shape.ok()) return fail(shape.error());
  const Result<Wanted> wanted = parse_wanted(options);
  if (!wanted.ok()) return fail(wanted.error());
  const Result<std::unique_ptr<replay::KernelRun>> run = prepare(*found, options, *shape, *wanted);
  if (!run.ok()) return fail(run.error());

  const Result<std::optional<sanitize::ToolSet>> tools = parse_sanitize(options.sanitize);
  if (!tools.ok()) return fail(tools.error());
  std::optional<KernelSanitizer> sanitizer;
  if (*tools) sanitizer.emplace(**tools, memory_map(**run));

  const Result<std::unique_ptr<jit::Compiler>> compiler = make_compiler(options.engine);
  if (!compiler.ok()) return fail(compiler.error());
  const replay::RunResult result = run_kernel(**run, options, sanitizer, compiler->get());
  std::optional<SanitizeReport> report;
  if (sanitizer) report = sanitizer->report(names_of(**run), 1, result.fault.has_value());
  if (report) fmt::print(stderr, "{}", sanitize_text(*report, kMostShown));
  if (result.fault) {
    return fail({fmt::format("{}: {}", codeobj::short_name(found->kernel->name),
                             (*run)->describe(*result.fault))},
                kIncomplete);
  }
  const Status saved = write_saves(**run, wanted->saves);
  if (!saved.ok()) return fail(saved.error());
  if (options.json) print_json(**run, result, *wanted, report);
  else print_text(**run, result, *wanted, options);
  return report && report->errors() != 0 ? kIncomplete : kDone;
}

}  // namespace

void add_gpu_exec(Command& parent, Invocation& invocation) {
  auto options = std::make_shared<GpuExecOptions>();
  Command& command = parent.add_command(
      "exec",
      "run one kernel of a code object on the engine, without ROCm; exit status 2 if it faults",
      "gpu exec FILE KERNEL [--grid X,Y,Z] [--block X,Y,Z] [--arg …]…",
      "  wavetap gpu exec ./saxpy saxpy --target gfx1030 --grid 4 --block 256 \\\n"
      "    --arg i32:1000 --arg f32:2 --arg buf:4000:iota.f32 \\\n"
      "    --arg buf:4000:fill.f32=1 --dump-arg 3:8:f32 --counters\n");
  command
      .add_option("FILE", options->file, "a HIP program, library, offload bundle or code object")
      ->required();
  command.add_option("KERNEL", options->kernel, "the kernel's symbol or its name in the source")
      ->required();
  command
      .add_option("--target", options->target, "which code, when the file has several: gfx1030 say")
      ->type_name("GFX");
  command.add_option("--grid", options->grid, "workgroups of the grid, as in <<<grid, block>>>")
      ->type_name("X[,Y[,Z]]");
  command.add_option("--block", options->block, "work-items of a workgroup")
      ->type_name("X[,Y[,Z]]");
  command.add_option("--lds", options->lds_bytes, "bytes of dynamic LDS per workgroup")
      ->type_name("N");
  command
      .add_option("--arg", options->arguments,
                  "the next argument: TYPE:VALUE (i8 u8 i16 u16 i32 u32 i64 u64 f32 f64), "
                  "buf:SIZE[:INIT] for a buffer (INIT: zero, iota[.TYPE], fill.TYPE=VALUE, "
                  "random[=SEED], file=PATH), "
                  "or raw:HEX")
      ->type_name("ARG")
      ->allow_extra_args(false);
  command
      .add_option("--dump-arg", options->dumps,
                  "print elements of a buffer afterwards; N counts from 0")
      ->type_name("N[:COUNT[:TYPE]]")
      ->allow_extra_args(false);
  command.add_option("--save-arg", options->saves, "write a buffer to a file afterwards")
      ->type_name("N=FILE")
      ->allow_extra_args(false);
  command
      .add_option("--trace", options->trace,
                  "print the first N instructions executed and what each wrote")
      ->type_name("N");
  command.add_flag("--counters", options->counters, "print what the dispatch did, counted exactly");
  add_sanitize_option(command, options->sanitize);
  add_engine_options(command, options->engine);
  command.add_flag("--json", options->json, "print JSON");
  command.callback([options, &invocation] { invocation.exit_code = exec(*options); });
}

}  // namespace wavetap::cli
