// A recording added to a trace that exists: runs that share a file, at once or one after the other.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace wavetap::store {

struct AppendResult {
  uint64_t calls_before = 0, ops_before = 0;  // what the file held
  bool renumbered =
      false;  // process numbers were taken: those of `added` have a multiple of the stride added
  std::string method;  // how times were brought together, as in merge.h
};

// Adds the sessions of the trace `added` to the trace `file`, in one transaction: whoever dies
// meanwhile, the file is as it was before or holds everything.
//
// Ids move to sessions of their own. Processes keep their numbers unless the file has them already, a
// GPU keeps the number it has in the file when it is the same GPU of the same machine, and queues are
// numbered on. Times are left alone within one boot of a machine, else brought together by wall
// clock. `file` must be of schema 3, RPD's or ours.
Result<AppendResult> append_trace(const std::string& file, const std::string& added);

// A key of rocpd_metadata, "" when there is none, and setting it.
std::string metadata_of(const std::string& file, const std::string& tag);
Status set_metadata(const std::string& file, const std::string& tag, const std::string& value);

}  // namespace wavetap::store
