// How the command line and the agent find each other: environment, folder and socket names.
#pragma once

#include <cstdint>

namespace wavetap::format {

// The session folder. Absent: the library was loaded by hand; it makes one beside RPDT_FILENAME or
// in the working directory when recording first starts.
inline constexpr char kSessionVariable[] = "WAVETAP_SESSION";

// What to record, separated by commas: args stacks hsa barriers kernargs paused.
inline constexpr char kOptionsVariable[] = "WAVETAP_OPTIONS";

// "<session>/<pid>-<start>.<stream>.<ordinal>.chunk" and "<session>/<pid>-<start>.<n>.co"
inline constexpr char kChunkSuffix[] = ".chunk";
inline constexpr char kCodeObjectSuffix[] = ".co";
// Counters of virtual GPUs, when they were asked for: docs/counters.md.
inline constexpr char kCountersFile[] = "counters.jsonl";

// The control socket of a process is "<directory>/<pid>.sock", mode 0600 in a folder of mode 0700
// that the user owns: $XDG_RUNTIME_DIR/wavetap, else /tmp/wavetap-<uid>.
//
// One request per connection, a line of text; the answer is lines of "key value" that end with "ok"
// or with "error <text>". Requests: start, stop, flush, status.
inline constexpr char kSocketSuffix[] = ".sock";
inline constexpr uint32_t kMaxRequest = 256;

}  // namespace wavetap::format
