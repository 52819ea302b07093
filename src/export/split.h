// One trace in several files, each below a size and each complete in itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "export/export.h"

namespace wavetap::exporter {

struct SplitFile {
  std::string path;
  uint64_t bytes = 0;          // before compression
  int64_t begin = 0, end = 0;  // holds what starts within, ns of the trace's clock
};

// "trace.json.gz" -> "trace-001.json.gz".
std::string split_path(const std::string& output, size_t number);

// Cuts by time: a call or op is in the file in which it starts, whole. A file exceeds `limit` only
// when events that start at the same nanosecond alone do. Flows whose ends lie in two files are
// left out.
Result<std::vector<SplitFile>> export_split(const Format& format, const store::Trace& trace,
                                            const Options& options, const std::string& output,
                                            uint64_t limit_bytes);

}  // namespace wavetap::exporter
