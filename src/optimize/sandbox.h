// Sandbox: runs a build of code that nobody trusts.
//
// The command sees the machine's files, but can write only its own folder; it has no network, no
// processes of others, and limits of time, memory, file size and processes. By bubblewrap where it is
// installed and works, else by namespaces that we make ourselves (user, mount, network, process ids). Both
// with a filter of system calls (sandbox_filter.h).
// Where the machine forbids both there is no sandbox, and the caller has to refuse.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace wavetap::optimize {

enum class SandboxKind {
  kNone,        // runs as it is: only where the user says --unsafe
  kBubblewrap,  // bwrap
  kNamespaces,  // ours
};
std::string name_of(SandboxKind kind);

struct SandboxLimits {
  double seconds = 120;
  uint64_t memory_bytes = uint64_t{8} << 30;  // of each process
  uint64_t file_bytes = uint64_t{1} << 30;    // of each file
  uint64_t processes = 256;
};

struct SandboxResult {
  int status = 0;
  bool timed_out = false;
  bool is_crowd = false;  // more processes than it may have
  std::string output;     // the end of it
};

// The first that works here; an error that says what was tried when none does.
Result<SandboxKind> find_sandbox();

using Environment = std::vector<std::pair<std::string, std::string>>;

// Runs a shell command in `folder`, which is all it can write; TMPDIR and HOME are there. `added` is in its
// environment besides what a compiler needs of ours.
Result<SandboxResult> run_sandboxed(SandboxKind kind, const std::string& command,
                                    const std::string& folder, const SandboxLimits& limits,
                                    const Environment& added = {});

}  // namespace wavetap::optimize
