// What the virtual GPUs counted: lines of text beside the recording (docs/counters.md), joined with
// the dispatches that were recorded.
//
// A line carries the ticks of the GPU's clock that the completion signal got. The recorder keeps the
// times that the HSA runtime makes of them, which interpolates between samples of two clocks and is
// tens of nanoseconds off. So a dispatch gets the line of the same process, GPU and shape that is
// nearest in time, and each line goes to one dispatch.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "format/record.h"

namespace wavetap::store {

class RawCounters {
 public:
  struct Value {
    uint32_t name = 0;  // index of names()
    double value = 0;   // never 0
  };
  struct Line {
    int64_t begin_ns = 0, end_ns = 0;  // CLOCK_BOOTTIME
    uint64_t grid[3] = {}, workgroup[3] = {};
    size_t first = 0, count = 0;  // of values_
    bool is_taken = false;
  };

  // The counters of a recording's folder; none when nothing was counted.
  static RawCounters read(const std::string& folder);

  bool any(uint32_t pid) const { return processes_.contains(pid); }
  // The line of a dispatch that took place at this time; null: none.
  const Line* take(uint32_t pid, uint32_t node, int64_t start_ns, int64_t end_ns,
                   const format::DispatchRecord& dispatch);
  std::pair<const Value*, const Value*> values(const Line& line) const {
    return {values_.data() + line.first, values_.data() + line.first + line.count};
  }
  const std::vector<std::string>& names() const { return names_; }
  uint64_t unreadable() const { return unreadable_; }

 private:
  void add(std::string_view text);
  uint32_t name(const std::string& text);

  using Place = std::pair<uint32_t, uint32_t>;  // process, node
  std::map<Place, std::vector<Line>> lines_;    // by begin
  std::map<uint32_t, uint64_t> processes_;      // lines of each
  std::vector<Value> values_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, uint32_t> number_of_name_;
  uint64_t unreadable_ = 0;
};

}  // namespace wavetap::store
