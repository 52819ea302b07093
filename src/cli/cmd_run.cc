// wavetap run: starts a program, recorded, on virtual GPUs when --gpu says so, and hands back its
// exit status. program_run.h does it; here is what the user can ask for.
#include <memory>

#include "cli/command.h"
#include "cli/gpu_start.h"
#include "cli/logduration.h"
#include "cli/program_run.h"
#include "cli/swap_verify_run.h"
#include "cli/usage.h"

namespace wavetap::cli {
namespace {

void add_recording_options(Command& command, RunOptions& options) {
  RecordingOptions& recording = options.recording;
  command.add_option("--output,-o", recording.output, "the trace to write (trace.rpd)")
      ->type_name("FILE");
  command.add_flag(
      "--append", recording.append,
      "add to the trace if it exists instead of replacing it; runs into one file at the "
      "same time always share it");
  command.add_flag("--no-trace", options.no_trace, "record nothing");
  command.add_flag("--args", recording.args,
                   "record the arguments of every call and kernel, not only of launches, copies "
                   "and allocations");
  command.add_flag("--stacks", recording.stacks,
                   "record who called: a stack trace with every call");
  command.add_flag("--hsa", recording.hsa, "record the calls of the HSA layer as well");
  command.add_flag("--barriers", recording.barriers, "record barrier packets as well");
  command.add_flag("--start-paused", recording.start_paused,
                   "record nothing until told to: wavetap start PID, or the program itself");
  command.add_flag("--keep-raw", recording.keep_raw, "keep the raw recording beside the trace");
  command
      .add_option("--durations", recording.durations,
                  "write every kernel and copy as CSV (name, queue, start, end, ns) to the console "
                  "or a file")
      ->type_name("console|FILE");
}

void add_swap_options(Command& command, RunOptions& options, SwapVerifyRun& verify) {
  command
      .add_option("--swap", options.swap.source,
                  "run kernels from there in the place of the program's kernels with the same name "
                  "and arguments: a folder of code objects, one file, or a manifest")
      ->type_name("DIR|MANIFEST");
  command.add_flag("--swap-watch", options.swap.watch,
                   "use a changed file of --swap from the next launch on");
  command.add_flag("--swap-ab", options.swap.turns,
                   "run every other launch as it is and compare the times: original and "
                   "replacement by turns, in one run");
  command.add_flag(
      "--swap-verify", verify.wanted,
      "run the program's own kernels, and afterwards launches of them again, as they were and "
      "replaced: compare output and time; exit status 15 if an output differs");
  command
      .add_option("--swap-tolerance", verify.tolerance,
                  "floating-point numbers may then differ by abs=X, rel=X or ulp=N (bits)")
      ->type_name("TOLERANCE");
  command
      .add_option("--swap-launches", verify.launches,
                  "how many launches of such kernels are compared, per process (16)")
      ->type_name("N")
      ->between(1, 1e6);
  command.add_option("--swap-json", verify.json, "write what --swap-verify finds there as JSON")
      ->type_name("FILE");
}

void add_gpu_options(Command& command, RunOptions& options) {
  command
      .add_option(
          "--counters", options.counters,
          "count exactly what each dispatch does on the virtual GPUs; written here and into the "
          "trace; FILE.csv: as AMD's pmc_perf.csv")
      ->type_name("FILE.json");
  command.add_flag("--caches", options.caches,
                   "with --counters: model caches and LDS as well, under AMD's names");
  command.add_flag("--warm-caches", options.warm_caches,
                   "with --caches: L2 and Infinity Cache keep what earlier kernels left there");
  command
      .add_option("--gpu-seed", options.seed,
                  "permute the order of workgroups and waves by this seed; 0: natural order")
      ->type_name("N");
  command
      .add_option("--gpu-threads", options.threads,
                  "host threads that run waves; 1 is deterministic; 0: one per core")
      ->type_name("N")
      ->between(0, 1024);
  command
      .add_option("--gpu-watchdog", options.watchdog, "fault a wave after N instructions; 0: never")
      ->type_name("N");
  command
      .add_option(
          "--gpu-jit", options.jit,
          "on: compile hot code of kernels for this machine; verify: do, and compare every "
          "block with the interpreter; off: interpret all; default: $WAVETAP_GPU_JIT, or off")
      ->type_name("MODE")
      ->choices({"off", "on", "verify"});
  command.add_option("--gpu-option", options.gpu_options, driver_option_help())
      ->type_name("KEY[=VALUE]")
      ->allow_extra_args(false);
}

}  // namespace

void add_run(Command& parent, Invocation& invocation) {
  auto options = std::make_shared<RunOptions>();
  auto verify = std::make_shared<SwapVerifyRun>();
  Command& command = parent.add_command(
      "run", "run a program and record what it does, on virtual GPUs or on the real one",
      "run [OPTIONS] -- CMD [ARG…]",
      "  wavetap run -o step.rpd -- python3 train.py\n"
      "  mpirun -n 4 wavetap run -o ranks.rpd -- ./my_mpi_program\n"
      "  wavetap run --gpu rx6800xt --no-trace -- rocminfo\n"
      "  wavetap run --gpu rx6800xt,mi210 -- ./my_hip_program --size 1024\n"
      "  wavetap run --gpu mi210 --counters counters.json -- ./my_hip_program\n"
      "  wavetap run --gpu mi210 --swap tuned/ -- ./my_hip_program\n"
      "  wavetap run --gpu rx6800xt --gpu-seed 7 --gpu-threads 1 -- ./racy\n");
  command.prefix_command();
  command
      .add_option(
          "--gpu", options->gpus,
          "virtual GPUs the program sees: names of `wavetap gpu list` or paths of "
          "model files, separated by commas; without it the program runs on the machine's own GPU")
      ->type_name("MODEL[,MODEL…]")
      ->allow_extra_args(false);
  add_recording_options(command, *options);
  add_swap_options(command, *options, *verify);
  add_gpu_options(command, *options);
  command
      .add_option("--correct-device", options->environment.correct,
                  "let HIP and CUDA-named entry points report the "
                  "published figures of the GPU, or those given: multiprocessors, clock-mhz, "
                  "wave-size, lds-bytes, arch")
      ->type_name("[FIELD=VALUE,…]")
      ->expected(0, 1);
  command.add_flag("--require-gpu", options->require_gpu,
                   "exit with 2 when the program ends well and has dispatched no kernel, its "
                   "children included; the runtime's own copies and fills do not count");
  command.add_flag("--safe", options->environment.safe,
                   "change the program's environment as wavetap doctor advises, and say what");
  command.add_flag("--no-checks", options->no_checks,
                   "start the program even if it is known to fail");
  command.callback([options, verify, &command, &invocation] {
    const Result<std::vector<std::string>> program = program_words(command, invocation);
    if (!program.ok()) {
      invocation.exit_code = fail(program.error());
      return;
    }
    const Result<std::string> library = prepare_environment(options->gpus, options->environment);
    if (!library.ok()) {
      invocation.exit_code = fail(library.error());
      return;
    }
    options->correct_library = *library;
    if (!options->no_trace) use_logduration_variables(options->recording, options->swap);
    invocation.exit_code = verify->wanted ? run_and_verify(*options, *verify, *program)
                                          : run_program(*options, *program);
  });
}

}  // namespace wavetap::cli
