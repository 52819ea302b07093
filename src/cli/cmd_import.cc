// wavetap import: a raw session folder, an older .rpd file, or what AMD's tools wrote, as a .rpd file of schema 3.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/foreign_input.h"
#include "cli/recording.h"
#include "cli/shared_output.h"
#include "foreign/recording.h"
#include "store/import.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

struct ImportOptions {
  std::vector<std::string> inputs;
  std::string output = "trace.rpd";
  bool force = false;
  bool append = false;
  std::string durations;  // console, a file, or "" for none
};

// Adds what was imported to the trace that is there.
Status add_to_output(const std::string& staged, const std::string& output) {
  const Result<Placed> placed = SharedOutput::join(output, /*append=*/true).place(staged);
  std::error_code ignored;
  if (!placed.ok() || placed->added) std::filesystem::remove(staged, ignored);
  return placed.ok() ? Status() : Status(placed.error());
}

int import(const ImportOptions& options) {
  struct stat info {};
  for (const std::string& input : options.inputs) {
    if (stat(input.c_str(), &info) != 0)
      return fail({fmt::format(
          "{}: does not exist; give the folder of a recording, a .rpd file, or what rocprofv3 or "
          "rocprof-compute wrote",
          input)});
    if (options.inputs.size() > 1 && !foreign::is_foreign(input))
      return fail(
          {fmt::format("{}: only files of AMD's tools are imported several at once; use "
                       "--append for others",
                       input)});
  }
  const std::string target =
      options.append ? fmt::format("{}.part-{}.rpd", options.output, getpid()) : options.output;
  const bool overwrite = options.force || options.append;
  const Result<store::ImportResult> result =
      foreign::is_foreign(options.inputs[0]) ? import_foreign(options.inputs, target, overwrite)
      : S_ISDIR(info.st_mode)
          ? import_with_progress(options.inputs[0], target, options.output,
                                 {.overwrite = overwrite})
          : store::import_rpd(options.inputs[0], target, {.overwrite = overwrite});
  if (!result.ok()) return fail(result.error());
  if (!options.durations.empty())
    if (const Status written = write_durations(target, options.durations); !written.ok())
      return fail(written.error());
  if (options.append)
    if (const Status added = add_to_output(target, options.output); !added.ok())
      return fail(added.error());
  for (const std::string& note : result->notes) warn({util::escape_control(note)});
  fmt::print("{}\n", summary_line(*result, options.output));
  return result->losses == 0 ? kDone : kIncomplete;
}

}  // namespace

void add_import(Command& parent, Invocation& invocation) {
  auto options = std::make_shared<ImportOptions>();
  Command& command =
      parent.add_command("import",
                         "turn a raw recording, an older .rpd file, or results of AMD's tools "
                         "into a trace; exit status 2 if anything was lost",
                         "import DIR|FILE… [-o OUT] [--force|--append]",
                         "  wavetap import trace.rpd.raw-a1b2c3 -o trace.rpd\n"
                         "  wavetap import old.rpd -o new.rpd\n"
                         "  wavetap import rank0_results.db rank1_results.db -o ranks.rpd\n"
                         "  wavetap import rocprofv3_output/ -o measured.rpd\n");
  command
      .add_option("DIR|FILE", options->inputs,
                  "a session folder, a .rpd file of schema 2 or 3, or of AMD's: rocpd databases, "
                  "rocprofv3's CSV or JSON, workloads of rocprof-compute")
      ->required();
  command.add_option("--output,-o", options->output, "file to write (trace.rpd)")
      ->type_name("FILE");
  Option* force = command.add_flag("--force", options->force, "replace the file if it exists");
  command.add_flag("--append", options->append, "add to the file if it exists")->excludes(force);
  command
      .add_option("--durations", options->durations,
                  "write every kernel and copy as CSV (name, queue, start, end, ns) to the console "
                  "or a file")
      ->type_name("console|FILE");
  command.callback([options, &invocation] { invocation.exit_code = import(*options); });
}

}  // namespace wavetap::cli
