// The report of `heatmap`: a picture of letters per buffer, pages across, time down.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "inspect/reports.h"
#include "util/text.h"

namespace wavetap::inspect {
namespace {

constexpr std::string_view kShades = " .:-=+*#%@";
constexpr size_t kRows = 16;

std::string picture(const HeatBuffer& buffer, uint64_t times, size_t width) {
  const uint64_t pages = (buffer.size_bytes + buffer.page_bytes - 1) / buffer.page_bytes;
  const size_t columns = std::max<size_t>(1, std::min<size_t>(pages, width));
  const size_t rows = std::max<size_t>(1, std::min<size_t>(times, kRows));
  std::vector<uint64_t> cells(columns * rows);
  for (const auto& [at, cell] : buffer.cells) {
    const size_t column =
        std::min<size_t>(at.first * columns / std::max<uint64_t>(pages, 1), columns - 1);
    const size_t row = std::min<size_t>(at.second * rows / std::max<uint64_t>(times, 1), rows - 1);
    cells[row * columns + column] += cell.sum();
  }
  const uint64_t most = *std::max_element(cells.begin(), cells.end());
  std::string text;
  for (size_t row = 0; row < rows; ++row) {
    text += "  |";
    for (size_t column = 0; column < columns; ++column) {
      const uint64_t value = cells[row * columns + column];
      // Logarithmic, so that a page touched once shows beside one touched a million times.
      const double level = value == 0 ? 0
                                      : 1 + (kShades.size() - 2) *
                                                std::log2(1.0 + static_cast<double>(value)) /
                                                std::log2(1.0 + static_cast<double>(most));
      text += kShades[std::min(static_cast<size_t>(std::lround(level)), kShades.size() - 1)];
    }
    text += "|\n";
  }
  return text;
}

}  // namespace

std::string heatmap_text(const ProbeResults&, const ProbedKernel& kernel,
                         const TextOptions& options) {
  if (kernel.heat.empty()) return "heatmap: no access to global memory was executed\n";
  std::string text =
      "heatmap: accesses of lanes; pages from left to right, workgroups in order from top to "
      "bottom\n";
  for (const auto& [key, buffer] : kernel.heat) {
    HeatBuffer::Cell sum;
    std::set<uint64_t> pages;
    for (const auto& [at, cell] : buffer.cells) {
      sum.loads += cell.loads, sum.stores += cell.stores, sum.atomics += cell.atomics;
      pages.insert(at.first);
    }
    text +=
        fmt::format("  {:#x}  {} {}: {} of {} pages of {}; {} loads, {} stores, {} atomics\n",
                    buffer.address, util::human_bytes(buffer.size_bytes), buffer.kind, pages.size(),
                    (buffer.size_bytes + buffer.page_bytes - 1) / buffer.page_bytes,
                    util::human_bytes(buffer.page_bytes), util::group_digits(sum.loads),
                    util::group_digits(sum.stores), util::group_digits(sum.atomics));
    text += picture(buffer, kernel.heat_times, options.columns == 0 ? 96 : options.columns - 4);
  }
  return text;
}

Json heatmap_json(const ProbeResults&, const ProbedKernel& kernel) {
  Json buffers = Json::array();
  for (const auto& [key, buffer] : kernel.heat) {
    Json cells = Json::array();
    for (const auto& [at, cell] : buffer.cells)
      cells.push_back({at.first, at.second, cell.loads, cell.stores, cell.atomics});
    buffers.push_back({{"address", fmt::format("{:#x}", buffer.address)},
                       {"size_bytes", buffer.size_bytes},
                       {"kind", buffer.kind},
                       {"page_bytes", buffer.page_bytes},
                       {"columns", {"page", "time", "loads", "stores", "atomics"}},
                       {"cells", std::move(cells)}});
  }
  return {{"times", kernel.heat_times}, {"buffers", std::move(buffers)}};
}

}  // namespace wavetap::inspect
