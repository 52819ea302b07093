// One interface for every output format: a trace goes in, bytes go to a Sink.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/time_spec.h"
#include "base/result.h"
#include "export/sink.h"
#include "store/trace.h"

namespace wavetap::exporter {

struct Options {
  bool rpd_compatible = false;
  // Only calls and ops that start within [begin, end], ns of the trace's clock.
  int64_t begin = std::numeric_limits<int64_t>::min();
  int64_t end = std::numeric_limits<int64_t>::max();
  bool json_array = false;  // chrome: a bare array instead of an object
  std::string table;        // csv: the table or view to print
  std::function<void(double)> progress = nullptr;

  bool whole() const {
    return begin == std::numeric_limits<int64_t>::min() &&
           end == std::numeric_limits<int64_t>::max();
  }
  bool wants(int64_t start_ns) const { return start_ns >= begin && start_ns <= end; }
  analysis::Window window() const { return {begin, end}; }
};

struct Format {
  std::string_view name;
  std::string_view help;
  std::string_view suffix;  // of the default output file
  bool needs_args = false;
  bool can_split = false;  // every time window of it is a file of its own
  // Asks the file itself: nothing needs to be loaded, and there is no time window.
  bool reads_file = false;
  Status (*write)(const store::Trace& trace, const Options& options, Sink& sink) = nullptr;
};

const std::vector<Format>& all_formats();
const Format* find_format(std::string_view name);

}  // namespace wavetap::exporter
