// wavetap export: a trace in another tool's format.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "analysis/time_spec.h"
#include "cli/command.h"
#include "cli/profile_input.h"
#include "cli/trace_input.h"
#include "export/export.h"
#include "export/split.h"
#include "profile/profile.h"
#include "profile/workload.h"
#include "util/file.h"
#include "util/progress.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

// Smaller files would hold little more than their own headers.
constexpr uint64_t kSmallestSplit = 64 << 10;

constexpr char kWorkload[] = "rocprof";

struct ExportOptions {
  std::string path;
  std::string gpu;
  std::string format = "chrome";
  std::string output;
  std::string start, end;
  std::string table;
  std::string split;
  bool rpd_compatible = false;
  bool array = false;
};

Result<const exporter::Format*> choose_format(const std::string& name) {
  if (const exporter::Format* format = exporter::find_format(name)) return format;
  std::vector<std::string> names = names_of(exporter::all_formats());
  names.emplace_back(kWorkload);
  const std::string near = util::nearest_name(name, names);
  return Error{fmt::format(
      "export: unknown format {}; {}", util::escape_control(name),
      near.empty() ? "choose one of " + util::join(names, ", ") : "did you mean " + near + "?")};
}

// Bytes per file; 0 when it is to be one file.
Result<uint64_t> read_split(const ExportOptions& options, const exporter::Format& format) {
  if (options.split.empty()) return uint64_t{0};
  const std::optional<uint64_t> limit = util::parse_unsigned(options.split);
  if (!limit || *limit < kSmallestSplit)
    return Error{fmt::format("--split {}: not a size of at least {}; give one, such as 500m",
                             options.split, util::human_bytes(kSmallestSplit))};
  if (!format.can_split)
    return Error{fmt::format(
        "--split: {} is one file by nature; use it with chrome, perfetto or jsonl", format.name)};
  if (options.output == "-")
    return Error{"--split: standard output is one stream; name a file with -o"};
  return *limit;
}

int write_split(const exporter::Format& format, const store::Trace& trace,
                const exporter::Options& options, const std::string& output, uint64_t limit) {
  const Result<std::vector<exporter::SplitFile>> files =
      exporter::export_split(format, trace, options, output, limit);
  if (!files.ok()) return fail(files.error());
  // Times of a damaged trace may be further apart than an int64_t holds.
  const auto begin = static_cast<uint64_t>(analysis::trace_span(trace).begin);
  const auto since_begin = [&](int64_t time) {
    return static_cast<double>(static_cast<uint64_t>(time) - begin) / 1e9;
  };
  for (const exporter::SplitFile& file : *files) {
    say(stdout,
        fmt::format("{}: {} of {}, {:.3f} s to {:.3f} s", file.path, util::human_bytes(file.bytes),
                    format.name, since_begin(file.begin), since_begin(file.end)));
    if (file.bytes > limit)
      warn({fmt::format("{}: larger than {}: its events start at the same time and stay together",
                        file.path, util::human_bytes(limit))});
  }
  return kDone;
}

int write_one(const exporter::Format& format, const store::Trace& trace, exporter::Options options,
              const std::string& output) {
  Result<exporter::Sink> sink = exporter::Sink::open(output);
  if (!sink.ok()) return fail(sink.error());
  {
    util::Progress progress("writing " + output, 100);
    options.progress = [&](double share) { progress.update(static_cast<size_t>(share * 100), ""); };
    if (Status status = format.write(trace, options, *sink); !status.ok())
      return fail(status.error());
  }
  const uint64_t bytes = sink->bytes_written();
  if (Status status = sink->finish(); !status.ok()) return fail(status.error());
  if (output != "-")
    say(stdout, fmt::format("{}: {} of {}", output, util::human_bytes(bytes), format.name));
  return kDone;
}

// A folder of files that rocprof-compute reads: what was counted, and the GPU's figures.
int export_workload(const ExportOptions& options) {
  store::LoadOptions load;
  load.dispatches = true;
  const Result<store::Trace> trace = load_trace(options.path, load);
  if (!trace.ok()) return fail(trace.error());
  const Result<model::Model> model = model_of_trace(*trace, options.gpu, options.path);
  if (!model.ok()) return fail(model.error());
  const std::vector<profile::Sample> samples = profile::samples_of(*trace);
  if (samples.empty())
    return fail(
        errorf("%s: no dispatch in it was counted; record it with wavetap run --gpu MODEL "
               "--counters FILE --caches",
               options.path.c_str()));
  const std::filesystem::path folder =
      !options.output.empty() ? options.output
                              : std::filesystem::path(options.path).replace_extension("").string();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return fail(errorf("%s: cannot be made: %s; name another folder with -o", folder.c_str(),
                       error.message().c_str()));
  const std::pair<const char*, std::string> files[] = {
      {"pmc_perf.csv", profile::pmc_perf_csv(samples, /*with_registers=*/true)},
      {"roofline.csv", profile::roofline_csv(*model)},
      {"sysinfo.csv", profile::sysinfo_csv(*model, folder.filename(), options.path)}};
  for (const auto& [name, text] : files)
    if (const Status written = util::write_file(folder / name, text); !written.ok())
      return fail(written.error());
  say(stdout, fmt::format("{}: pmc_perf.csv ({}), roofline.csv, sysinfo.csv", folder.string(),
                          util::count_of(samples.size(), "dispatch")));
  return kDone;
}

int export_trace(const ExportOptions& options) {
  if (options.format == kWorkload) return export_workload(options);
  const Result<const exporter::Format*> chosen = choose_format(options.format);
  if (!chosen.ok()) return fail(chosen.error());
  const exporter::Format& format = **chosen;
  const Result<uint64_t> split = read_split(options, format);
  if (!split.ok()) return fail(split.error());
  store::LoadOptions load;
  load.args = format.needs_args;
  if (format.reads_file) {
    if (!options.start.empty() || !options.end.empty())
      return fail({fmt::format(
          "--start, --end: {} writes whole tables; choose rows with `wavetap query --format csv`",
          format.name)});
    load.apis = load.ops = load.monitors = false;
  }
  Result<store::Trace> trace = load_trace(options.path, load);
  if (!trace.ok()) return fail(trace.error());
  const Result<analysis::Window> window =
      analysis::parse_window(options.start, options.end, analysis::trace_span(*trace));
  if (!window.ok()) return fail(window.error());

  exporter::Options export_options;
  export_options.rpd_compatible = options.rpd_compatible;
  export_options.json_array = options.array;
  export_options.table = options.table;
  export_options.begin = window->begin;
  export_options.end = window->end;
  const std::string output =
      !options.output.empty()
          ? options.output
          : std::filesystem::path(options.path).replace_extension(format.suffix).string();
  return *split > 0 ? write_split(format, *trace, export_options, output, *split)
                    : write_one(format, *trace, std::move(export_options), output);
}

}  // namespace

void add_export(Command& parent, Invocation& invocation) {
  auto options = std::make_shared<ExportOptions>();
  std::string formats;
  for (const exporter::Format& f : exporter::all_formats())
    formats += fmt::format("  {:<14}{}\n", f.name, f.help);
  formats += fmt::format("  {:<14}{}\n", kWorkload,
                         "a folder for rocprof-compute: pmc_perf, roofline, sysinfo");
  std::vector<std::string> offered = names_of(exporter::all_formats());
  offered.emplace_back(kWorkload);
  Command& command =
      parent.add_command("export", "a trace in another tool's format",
                         "export --format FORMAT TRACE [-o OUT] [--start T] [--end T]\n"
                         "                      [--split SIZE] [--rpd-compatible]",
                         "  wavetap export --format chrome trace.rpd -o trace.json.gz\n"
                         "  wavetap export --format chrome trace.rpd --start 25% --end 50%\n"
                         "  wavetap export --format perfetto trace.rpd --split 500m\n\n"
                         "Formats:\n" +
                             formats);
  command.add_option("TRACE", options->path, "a .rpd file")->required();
  command.add_option("--format,-f", options->format, "the format (chrome)")
      ->type_name("FORMAT")
      ->offers(offered);
  command
      .add_option("--output,-o", options->output,
                  "file to write, - for standard output (TRACE with the format's suffix)")
      ->type_name("OUT");
  command
      .add_option("--start", options->start,
                  std::string("only what starts at or after ") + analysis::kTimeSpecHelp)
      ->type_name("T");
  command.add_option("--end", options->end, "only what starts at or before it")->type_name("T");
  command
      .add_option("--split", options->split,
                  "several files of at most this size each, such as 500m (before compression); "
                  "arrows from one to another are left out")
      ->type_name("SIZE");
  command
      .add_option("--table", options->table,
                  "csv: the table or view to write (top); counter: what kernels were counted to do")
      ->type_name("NAME");
  command
      .add_option("--gpu", options->gpu, "rocprof: the GPU whose figures are written (the trace's)")
      ->type_name("MODEL");
  command.add_flag("--array", options->array, "chrome: a bare JSON array");
  command.add_flag("--rpd-compatible", options->rpd_compatible, "RPD's event set and texts");
  command.callback([options, &invocation] { invocation.exit_code = export_trace(*options); });
}

}  // namespace wavetap::cli
