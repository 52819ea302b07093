#include "cli/capture_show.h"

#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "inspect/capture_view.h"
#include "util/json.h"
#include "util/json_library.h"
#include "util/terminal.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

using replay::Capture;
using replay::CaptureFile;

struct CaptureShowOptions {
  std::string file;
  uint32_t capture = 1;
  bool json = false;
};

// Captures are numbered from 1.
bool has_capture(const CaptureFile& file, uint32_t number) {
  return number > 0 && number <= file.captures().size();
}

int show(const CaptureShowOptions& options) {
  int exit_code = kDone;
  const std::unique_ptr<CaptureFile> opened = open_captures(options.file, &exit_code);
  if (opened == nullptr) return exit_code;
  const CaptureFile& file = *opened;
  if (!file.damage().empty())
    warn({fmt::format("{}: {}; what comes before it is used", options.file, file.damage())});
  if (options.json) {
    const nlohmann::ordered_json json = inspect::captures_json(file);
    fmt::print("{}", util::json_text(json));
    return file.captures().empty() ? kDamagedFile : kDone;
  }
  if (!has_capture(file, options.capture)) {
    const Result<const Capture*> none = choose_capture(file, options.capture);
    return fail(none.error(), file.captures().empty() ? kDamagedFile : kUsage);
  }
  say(stdout, fmt::format("{}: {}, {} of {} bytes each, {}", options.file,
                          util::count_of(file.captures().size(), "captured dispatch"),
                          util::count_of(file.page_count(), "page"), format::kCapturePageBytes,
                          util::human_bytes(file.file_bytes())));
  fmt::print("\n{}",
             inspect::capture_text(file, options.capture - 1, util::output_columns(STDOUT_FILENO)));
  return kDone;
}

}  // namespace

int exit_code_of(replay::Refusal refusal) {
  switch (refusal) {
    case replay::Refusal::kNone: return kDone;
    case replay::Refusal::kFile: return kUsage;
    case replay::Refusal::kNoMemory: return kCannotReserve;
    case replay::Refusal::kIsa: return kOtherIsa;
    case replay::Refusal::kNoKernel: return kNoKernel;
    case replay::Refusal::kLayout: return kOtherLayout;
    case replay::Refusal::kArgument: return kRefusedArgument;
  }
  return kBug;
}

std::unique_ptr<CaptureFile> open_captures(const std::string& path, int* exit_code) {
  Result<std::unique_ptr<CaptureFile>> opened = CaptureFile::open(path);
  if (opened.ok()) return std::move(*opened);
  // A file that is not there is the user's mistake, not the file's.
  *exit_code = fail(opened.error(), ::access(path.c_str(), R_OK) == 0 ? kDamagedFile : +kUsage);
  return nullptr;
}

const Capture* usable_capture(const CaptureFile& file, uint32_t number, int* exit_code) {
  const Result<const Capture*> chosen = choose_capture(file, number);
  if (chosen.ok()) return *chosen;
  const bool is_usage = !file.captures().empty() && !has_capture(file, number);
  *exit_code = fail(chosen.error(), is_usage ? +kUsage : kDamagedFile);
  return nullptr;
}

Result<const Capture*> choose_capture(const CaptureFile& file, uint32_t number) {
  const char* name = file.name().c_str();
  if (file.captures().empty())
    return errorf("%s: no captured dispatch in it%s%s; capture again", name,
                  file.damage().empty() ? "" : ", ", file.damage().c_str());
  if (!has_capture(file, number))
    return errorf("%s: no capture %u in it; choose from 1 to %zu", name, number,
                  file.captures().size());
  const Capture& capture = file.captures()[number - 1];
  if (!capture.has_before)
    return errorf("%s: capture %u is not whole: the file %s; capture again", name, number,
                  file.damage().empty() ? "ends before it" : file.damage().c_str());
  return &capture;
}

void add_capture_show(Command& capture, Invocation& invocation, bool& chosen) {
  auto options = std::make_shared<CaptureShowOptions>();
  Command& command = capture.add_command(
      "show", "what is in a capture: kernel, arguments, buffers, memory",
      "capture show FILE.wtcap [--capture N] [--json]",
      "  wavetap capture show saxpy.wtcap\n"
      "  wavetap capture show saxpy.wtcap --json | jq '.captures[0].arguments'\n");
  command.add_option("FILE", options->file, "a file of wavetap capture")->required();
  command.add_option("--capture", options->capture, "which one, when the file has several (1)")
      ->type_name("N");
  command.add_flag("--json", options->json, "print JSON, of all of them");
  command.callback([options, &invocation, &chosen] {
    chosen = true;
    invocation.exit_code = show(*options);
  });
}

}  // namespace wavetap::cli
