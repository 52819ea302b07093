// Running a program as `wavetap run` and the commands built on it do: as a child, recorded or not, on
// virtual GPUs or not.
//
// The program runs with libwavetap.so preloaded, which records into a session folder that becomes the
// trace when the program has ended (recording.h). With GPUs libwavetap_gpu.so is preloaded as well; a
// run folder tells it which GPUs to be. Standard streams, signals and exit status are the program's
// own. Without either this process simply becomes the program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/recording.h"
#include "cli/run_environment.h"
#include "cli/swap_start.h"

namespace wavetap::cli {

// Probing, for `wavetap probe`; see vgpu::Config.
struct ProbeRunOptions {
  std::string folder;  // for the results; "": do not probe
  std::string handlers;
  std::string kernels;        // regular expression; "": any of the program's
  std::string libraries;      // regular expression in the path of a kernel's file; "": any
  std::string not_libraries;  // likewise, of those that are left out; "": none
  std::string launches;       // format/launch_choice.h
  uint64_t every = 0;
  uint64_t max = 0;
  bool names_buffers = false;  // every allocation apart, with the size the program asked for
  // What instrumented kernels are to tell, a file for the recorder (format/probe_ring.h); "": nothing.
  std::string request_file;
};

// Capturing, for `wavetap run --swap-verify` and `trace-instructions`; see vgpu::Config.
struct CaptureRunOptions {
  std::string folder;    // for the captures; "": none
  std::string kernels;   // regular expression; "": any of the program's
  std::string launches;  // of those, "3,7"; "": all of them
  uint64_t max = 0;
};

// The virtual GPU of commands that need one and were told none.
inline constexpr char kDefaultGpu[] = "rx6800xt";

struct RunOptions {
  std::vector<std::string> gpus;
  bool no_trace = false;
  bool require_gpu = false;
  RecordingOptions recording;
  bool no_checks = false;
  RunEnvironment environment;
  std::string correct_library;  // from the above; "" for none
  uint64_t seed = 0;
  uint32_t threads = 0;
  uint64_t watchdog = 0;
  std::string jit;  // empty: as WAVETAP_GPU_JIT says, else off
  std::string counters;
  bool caches = false;       // with `counters`: model caches as well
  bool warm_caches = false;  // they keep what earlier dispatches left
  std::vector<std::string> gpu_options;
  SwapOptions swap;
  std::string findings_file;      // check every dispatch and append what is found; "": do not
  std::string sanitize_tools;     // "memcheck,…"; "": the default ones
  std::string sanitize_kernels;   // regular expression; "": all of them
  std::string sanitize_launches;  // of those, "3,7"; "": all of them
  ProbeRunOptions probe;
  CaptureRunOptions capture;
};

// Returns the exit status, the program's own as a shell reports it unless something of ours failed.
// *ran, if given: whether the program was started at all.
int run_program(const RunOptions& options, const std::vector<std::string>& program,
                bool* ran = nullptr);

}  // namespace wavetap::cli
