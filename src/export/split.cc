#include "export/split.h"

#include <algorithm>
#include <cstdio>

namespace wavetap::exporter {
namespace {

// A first guess of what a call or an op takes in any format; the files themselves then tell.
constexpr double kGuessedBytesPerRow = 300;

}  // namespace

std::string split_path(const std::string& output, size_t number) {
  const size_t slash = output.rfind('/');
  const size_t name = slash == std::string::npos ? 0 : slash + 1;
  size_t dot = output.ends_with(".gz") ? output.rfind('.', output.size() - 4) : output.rfind('.');
  if (dot == std::string::npos || dot <= name) dot = output.size();
  char digits[24];
  std::snprintf(digits, sizeof digits, "-%03zu", number);
  return output.substr(0, dot) + digits + output.substr(dot);
}

Result<std::vector<SplitFile>> export_split(const Format& format, const store::Trace& trace,
                                            const Options& options, const std::string& output,
                                            uint64_t limit_bytes) {
  std::vector<int64_t> starts;
  for (const std::vector<int64_t>* column : {&trace.apis.start, &trace.ops.start})
    for (const int64_t start : *column)
      if (options.wants(start)) starts.push_back(start);
  std::sort(starts.begin(), starts.end());

  std::vector<SplitFile> files;
  double bytes_per_row = kGuessedBytesPerRow;
  size_t first = 0;
  while (files.empty() || first < starts.size()) {
    size_t rows =
        std::max<size_t>(1, static_cast<size_t>(static_cast<double>(limit_bytes) / bytes_per_row));
    while (true) {
      // Events of one nanosecond stay together.
      size_t last = std::min(starts.size(), first + rows);
      while (last < starts.size() && last > first + 1 && starts[last] == starts[last - 1]) --last;
      const bool can_shrink = last > first + 1;
      while (last < starts.size() && starts[last] == starts[last - 1]) ++last;

      Options part = options;
      if (first > 0) part.begin = starts[first];
      if (last < starts.size()) part.end = starts[last] - 1;
      const std::string path = split_path(output, files.size() + 1);
      Result<Sink> sink = Sink::open(path);
      if (!sink.ok()) return sink.error();
      if (Status s = format.write(trace, part, *sink); !s.ok()) return s.error();
      const uint64_t bytes = sink->bytes_written();
      const auto taken = static_cast<double>(std::max<size_t>(1, last - first));
      if (bytes > limit_bytes && can_shrink) {
        // Too much: the sink is dropped unfinished and its file with it. Some slack, to converge
        // quickly.
        rows = std::min(rows / 2 + rows / 4,
                        static_cast<size_t>(taken * 0.95 * static_cast<double>(limit_bytes) /
                                            static_cast<double>(bytes)));
        rows = std::max<size_t>(1, rows);
        continue;
      }
      if (Status s = sink->finish(); !s.ok()) return s.error();
      files.push_back(
          {path, bytes, starts.empty() ? 0 : starts[first], starts.empty() ? 0 : starts[last - 1]});
      bytes_per_row = static_cast<double>(bytes) / taken * 1.03;
      first = last;
      break;
    }
  }
  return files;
}

}  // namespace wavetap::exporter
