// wavetap import: a raw session folder, or an older .rpd file, as a .rpd file of schema 3.
#include <fmt/format.h>
#include <sys/stat.h>

#include <memory>

#include "cli/command.h"
#include "cli/recording.h"
#include "store/import.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

struct Options {
  std::string input;
  std::string output = "trace.rpd";
  bool force = false;
};

int import(const Options& options) {
  struct stat info {};
  if (stat(options.input.c_str(), &info) != 0)
    return fail({fmt::format("{}: does not exist; give the folder of a recording or a .rpd file",
                             options.input)});
  const Result<store::ImportResult> result =
      S_ISDIR(info.st_mode)
          ? import_with_progress(options.input, options.output, {.overwrite = options.force})
          : store::import_rpd(options.input, options.output, {.overwrite = options.force});
  if (!result.ok()) return fail(result.error());
  for (const std::string& note : result->notes) warn({util::escape_control(note)});
  fmt::print("{}\n", summary_line(*result, options.output));
  return result->losses == 0 ? kDone : kIncomplete;
}

}  // namespace

void add_import(CLI::App& parent, Invocation& invocation) {
  auto options = std::make_shared<Options>();
  CLI::App& command = add_command(parent, "import",
                                  "turn a raw recording, or an older .rpd file, into a trace; exit "
                                  "status 2 if anything was lost",
                                  "import DIR|FILE [-o OUT] [--force]",
                                  "  wavetap import trace.rpd.raw-a1b2c3 -o trace.rpd\n"
                                  "  wavetap import old.rpd -o new.rpd\n");
  command
      .add_option("DIR|FILE", options->input, "a session folder, or a .rpd file of schema 2 or 3")
      ->required();
  command.add_option("--output,-o", options->output, "file to write (trace.rpd)")
      ->type_name("FILE");
  command.add_flag("--force", options->force, "replace the file if it exists");
  command.callback([options, &invocation] { invocation.exit_code = import(*options); });
}

}  // namespace wavetap::cli
