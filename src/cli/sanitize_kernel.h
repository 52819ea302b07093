// Checking kernels that the engine runs without a driver: `gpu exec --sanitize`, `replay --sanitize`,
// `sanitize FILE.wtcap`.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/sanitize_report.h"
#include "codeobj/code_object.h"
#include "replay/captured_kernel.h"
#include "replay/captured_memory.h"
#include "replay/kernel_run.h"
#include "replay/replay_run.h"
#include "sanitize/finding_line.h"
#include "sanitize/fixed_map.h"
#include "sanitize/session.h"

namespace wavetap::cli {

// --sanitize[=TOOL,…]. Nothing when the option was not given.
void add_sanitize_option(Command& command, std::optional<std::string>& tools);
Result<std::optional<sanitize::ToolSet>> parse_sanitize(const std::optional<std::string>& tools);

// The names that a report has of one kernel. What it points at outlives the sanitizer's use of it.
struct KernelNames {
  std::string kernel;  // demangled
  std::string model;   // "": no GPU model is meant
  amd::GfxTarget target;
  emu::Memory* memory = nullptr;
  GpuAddr kernel_object;
  const codeobj::CodeObject* object = nullptr;  // null: not known
  uint64_t load_delta = 0;                      // its loaded address - its linked address
  std::vector<sanitize::PointerArgument> pointers;
};
KernelNames names_of(replay::KernelRun& run);
KernelNames names_of(const replay::Capture& capture, const replay::CapturedKernel& kernel,
                     replay::CapturedMemory& memory, const replay::ReplayResult& result);

// Findings that are printed beside the output of another command.
inline constexpr uint64_t kMostShown = 100;

class KernelSanitizer {
 public:
  KernelSanitizer(const sanitize::ToolSet& tools, sanitize::FixedMap map);

  std::span<emu::Watcher* const> watchers() const { return session_.watchers(); }
  // After the kernel ran `dispatches` times: what was found, as lines for fold_findings().
  std::string take_lines(const KernelNames& names, uint64_t dispatches, bool faulted);
  // The same as a report.
  SanitizeReport report(const KernelNames& names, uint64_t dispatches, bool faulted);

 private:
  const std::string tools_;
  sanitize::FixedMap map_;
  sanitize::Session session_;
};

sanitize::FixedMap memory_map(replay::KernelRun& run);

}  // namespace wavetap::cli
