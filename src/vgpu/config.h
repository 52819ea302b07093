// What a run's virtual machine consists of: GPUs and options. run_directory.h carries it to the
// library in the program.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "model/model.h"

namespace wavetap::vgpu {

inline constexpr uint32_t kMaxGpus = 8;

struct Config {
  std::vector<model::Model> models;

  // The engine
  uint64_t seed = 0;                   // non-zero: permuted workgroup and wave order
  uint32_t threads = 0;                // worker threads; 0: one per core
  uint64_t watchdog_instructions = 0;  // per wave; 0: no limit
  std::string jit_library;             // libwavetap_jit.so: hot code is compiled; empty: none is
  bool jit_verify = false;             // and compared with the interpreter
  std::string jit_cache;               // where compiled code is kept; empty: nowhere
  std::string compile_cache;           // where the compiler library's results are; empty: nowhere
  bool keep_compiled = true;           // and whether they are used
  std::string counters_file;           // where dispatch counters are appended; empty: none
  bool cache_counters = false;         // count modelled caches as well
  bool warm_caches = false;            // they keep what earlier dispatches left
  std::string findings_file;           // where the sanitizer's findings are appended; empty: none
  std::string sanitize_tools;          // "memcheck,…"; empty: the default ones
  std::string sanitize_kernels;        // regular expression of kernels to check; empty: all
  std::string sanitize_launches;       // "3,7": which of those that match, from 1; empty: all

  // Which dispatches are captured, and where to: a file per process.
  std::string capture_dir;  // empty: none
  std::string
      capture_pattern;  // POSIX extended, in the kernel's name; empty: any kernel of the program
  std::string capture_launches;   // "3,7": which of those that match, from 1; empty: all
  uint64_t capture_every = 1;     // of those that match, the first and every N-th after it
  uint64_t capture_max = 0;       // per process; 0: no limit
  uint32_t capture_drain_s = 30;  // how long kernels of other queues get to end before a capture
  bool capture_range =
      false;  // only dispatches of which the recorder says that they are in the range

  // Which dispatches are probed, by which handlers, and where results go: files per process.
  std::string probe_dir;       // empty: none
  std::string probe_handlers;  // see probe/handler_list.h
  std::string probe_kernels;   // POSIX extended, in the kernel's name; empty: any of the program
  std::string
      probe_libraries;  // POSIX extended, in the path of the file the kernel is from; empty: any
  std::string probe_not_libraries;  // likewise, of those that are not; empty: none
  std::string probe_launches;  // which of those that match (format/launch_choice.h); empty: all
  uint64_t probe_every = 1;    // of those that match, the first and every N-th after it
  uint64_t probe_max = 0;      // per process; 0: no limit

  // The machine
  // "0:15,1:7": global wave sync, counters that a queue finds when it gets them; others are left alone
  std::string wave_sync;
  bool small_bar = false;         // the CPU reaches no VRAM
  bool strict_cpu_access = true;  // VRAM the driver maps PROT_NONE stays so for the CPU
  bool svm = false;               // the shared-virtual-memory ioctl works
  bool low_va = false;            // keep reserved ranges below 2^47, as x86-64 kernels do
  // Every allocation alone, far from the next; freed addresses are never used again.
  bool guard_allocations = false;
  uint32_t kfd_minor = 17;  // interface version 1.x
};

// The options of the virtual machine by the names `wavetap run --gpu-option` knows them: code, help
// and messages come from this table.
struct DriverOption {
  const char* name;
  const char* help;
  std::variant<bool Config::*, uint32_t Config::*> field;
};
std::span<const DriverOption> driver_options();
// `text` is KEY or KEY=VALUE; a missing value means 1.
Status set_driver_option(Config& config, const std::string& text);

// One GPU of the topology: which model, and every number software finds it by.
struct GpuPlace {
  uint32_t model = 0;  // index into Config::models
  uint32_t die = 0;    // 0-based within a model of several nodes
  uint32_t index = 0;  // 0-based among the GPUs
  uint32_t node = 0;   // topology node, 1-based: node 0 is the CPU
  uint32_t gpu_id = 0;
  uint32_t card_minor = 0;    // /dev/dri/card<N>
  uint32_t render_minor = 0;  // /dev/dri/renderD<N>
  uint32_t pci_bus = 0;       // domain 0, device 0, function 0
  uint64_t unique_id = 0;
  uint64_t hive_id = 0;  // GPUs with the same non-zero one are joined by xGMI

  std::string pci_address() const;    // 0000:d3:00.0
  std::string pci_directory() const;  // below /sys/devices
};

// Expands models of several nodes. At most kMaxGpus; validate() refuses more.
std::vector<GpuPlace> place_gpus(const Config& config);

// Errors a user can cause: no GPU, too many, options that exclude each other.
Status validate(const Config& config);

}  // namespace wavetap::vgpu
