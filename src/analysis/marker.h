// What a marker is called. PyTorch writes an operator's numbers into the text of its marker
// ("aten::mm, seq = 3, op_id = 17, sizes = …"), which makes every text unique; grouping wants the
// operator.
#pragma once

#include <string_view>

namespace wavetap::analysis {

inline constexpr std::string_view kMarkerSeq = ", seq = ";
inline constexpr std::string_view kMarkerOpId = ", op_id = ";
inline constexpr std::string_view kMarkerSizes = ", sizes = ";
inline constexpr std::string_view kMarkerInputs = ", input_op_ids = ";

// Where the numbers begin, or npos when the text has none.
inline size_t find_marker_numbers(std::string_view text) {
  for (size_t at = text.find(','); at != std::string_view::npos; at = text.find(',', at + 1)) {
    const std::string_view rest = text.substr(at);
    for (const std::string_view mark : {kMarkerSeq, kMarkerOpId, kMarkerSizes, kMarkerInputs})
      if (rest.starts_with(mark)) return at;
  }
  return std::string_view::npos;
}

inline std::string_view marker_label(std::string_view text) {
  return text.substr(0, find_marker_numbers(text));
}

}  // namespace wavetap::analysis
