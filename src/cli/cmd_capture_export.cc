// wavetap capture export: a stand-alone HIP program of a captured dispatch.
#include <fmt/format.h>

#include <memory>

#include "cli/capture_show.h"
#include "cli/command.h"
#include "cli/engine_options.h"
#include "replay/capture_export.h"
#include "replay/capture_file.h"
#include "replay/captured_kernel.h"
#include "replay/captured_memory.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

struct CaptureExportOptions {
  std::string file;
  std::string folder;
  uint32_t capture = 1;
  EngineOptions engine;
};

int export_program(const CaptureExportOptions& options) {
  int exit_code = kDone;
  const std::unique_ptr<replay::CaptureFile> file = open_captures(options.file, &exit_code);
  if (file == nullptr) return exit_code;
  const replay::Capture* capture = usable_capture(*file, options.capture, &exit_code);
  if (capture == nullptr) return exit_code;
  const replay::CapturedKernel kernel = replay::find_captured_kernel(*file, *capture);
  const Result<std::unique_ptr<replay::CapturedMemory>> memory =
      replay::CapturedMemory::load(*file, *capture);
  if (!memory.ok()) return fail(memory.error(), kCannotReserve);
  replay::ReplayOptions run;
  run.threads = thread_count(options.engine);
  run.seed = options.engine.seed;
  run.watchdog_instructions = options.engine.watchdog;
  const Result<std::unique_ptr<jit::Compiler>> compiler = make_compiler(options.engine);
  if (!compiler.ok()) return fail(compiler.error());
  run.compiler = compiler->get();
  const replay::ExportResult result =
      replay::export_capture(*file, *capture, kernel, **memory, run, options.folder);
  if (result.refusal != replay::Refusal::kNone)
    return fail({result.why}, exit_code_of(result.refusal));
  say(stdout,
      fmt::format("{}: {}: {}, {}, {} to compare, {} with addresses, {}", options.folder,
                  capture->kernel, util::count_of(result.buffers, "buffer"),
                  util::count_of(result.variables, "variable"),
                  util::count_of(result.outputs, "output"), util::count_of(result.pointers, "word"),
                  util::human_bytes(result.data_bytes)));
  say(stdout, fmt::format("build it: cmake -S {0} -B {0}/build && cmake --build {0}/build",
                          options.folder));
  return kDone;
}

}  // namespace

void add_capture_export(Command& capture, Invocation& invocation, bool& chosen) {
  auto options = std::make_shared<CaptureExportOptions>();
  Command& command = capture.add_command(
      "export", "a program of its own, with HIP and CMake, that does what was captured",
      "capture export FILE.wtcap DIR [--capture N]",
      "  wavetap capture export saxpy.wtcap saxpy_reproducer\n");
  command.add_option("FILE", options->file, "a file of wavetap capture")->required();
  command.add_option("DIR", options->folder, "the folder to write it to")->required();
  command.add_option("--capture", options->capture, "which one, when the file has several (1)")
      ->type_name("N");
  add_engine_options(command, options->engine);
  command.callback([options, &invocation, &chosen] {
    chosen = true;
    invocation.exit_code = export_program(*options);
  });
}

}  // namespace wavetap::cli
