// Many recordings, one file: ranks of one job, or processes recorded apart.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace wavetap::store {

enum class Align : uint8_t {
  // By wall clock when the files know it, else not at all when they are of one boot, else by start.
  kAuto,
  kNone,   // times as they are
  kStart,  // every file's first call at the same time
};

struct MergeOptions {
  Align align = Align::kAuto;
  // Called now and then with the share done, 0..1.
  std::function<void(double)> progress = nullptr;
};

struct MergedFile {
  std::string path;
  int64_t shift_ns = 0;  // added to its times
  std::string method;    // "wall clock", "same clock", "first event (inferred)"
  uint64_t calls = 0, ops = 0;
  uint64_t rows = 0;         // in all tables
  std::string newer_schema;  // newer_schema_warning() of it
  // With files before it, or with what ranks of one job look like.
  std::vector<std::string> conflicts;
};

// Rank r of the inputs gets pid and tid + r * pid_stride, gpuId and queueId + r * gpu_stride, as
// the views napi and nop undo; ids move to sessions of their own, so nothing collides. Tables named
// wavetap_* come along, those this version does not know included: what moves follows from the
// names of columns (column_meaning.h).
Result<std::vector<MergedFile>> merge_traces(const std::vector<std::string>& inputs,
                                             const std::string& output,
                                             const MergeOptions& options);

// One file of schema 2 or 3 as a file of schema 3, ids and times as they are.
Result<MergedFile> convert_trace(const std::string& input, const std::string& output);

}  // namespace wavetap::store
