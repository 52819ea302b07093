// wavetap import: a raw session folder, or an older .rpd file, as a .rpd file of schema 3.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/recording.h"
#include "cli/shared_output.h"
#include "store/import.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

struct Options {
  std::string input;
  std::string output = "trace.rpd";
  bool force = false;
  bool append = false;
};

// Adds what was imported to the trace that is there.
Status add_to_output(const std::string& staged, const std::string& output) {
  const Result<Placed> placed = SharedOutput::join(output, /*append=*/true).place(staged);
  std::error_code ignored;
  if (!placed.ok() || placed->added) std::filesystem::remove(staged, ignored);
  return placed.ok() ? Status() : Status(placed.error());
}

int import(const Options& options) {
  struct stat info {};
  if (stat(options.input.c_str(), &info) != 0)
    return fail({fmt::format("{}: does not exist; give the folder of a recording or a .rpd file",
                             options.input)});
  const std::string target =
      options.append ? fmt::format("{}.part-{}.rpd", options.output, getpid()) : options.output;
  const bool overwrite = options.force || options.append;
  const Result<store::ImportResult> result =
      S_ISDIR(info.st_mode)
          ? import_with_progress(options.input, target, options.output, {.overwrite = overwrite})
          : store::import_rpd(options.input, target, {.overwrite = overwrite});
  if (!result.ok()) return fail(result.error());
  if (options.append)
    if (const Status added = add_to_output(target, options.output); !added.ok())
      return fail(added.error());
  for (const std::string& note : result->notes) warn({util::escape_control(note)});
  fmt::print("{}\n", summary_line(*result, options.output));
  return result->losses == 0 ? kDone : kIncomplete;
}

}  // namespace

void add_import(Command& parent, Invocation& invocation) {
  auto options = std::make_shared<Options>();
  Command& command =
      parent.add_command("import",
                         "turn a raw recording, or an older .rpd file, into a trace; exit "
                         "status 2 if anything was lost",
                         "import DIR|FILE [-o OUT] [--force|--append]",
                         "  wavetap import trace.rpd.raw-a1b2c3 -o trace.rpd\n"
                         "  wavetap import old.rpd -o new.rpd\n");
  command
      .add_option("DIR|FILE", options->input, "a session folder, or a .rpd file of schema 2 or 3")
      ->required();
  command.add_option("--output,-o", options->output, "file to write (trace.rpd)")
      ->type_name("FILE");
  Option* force = command.add_flag("--force", options->force, "replace the file if it exists");
  command.add_flag("--append", options->append, "add to the file if it exists")->excludes(force);
  command.callback([options, &invocation] { invocation.exit_code = import(*options); });
}

}  // namespace wavetap::cli
