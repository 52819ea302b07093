#include "inspect/heatmap_picture.h"

#include <algorithm>
#include <cmath>

#include "inspect/png.h"

namespace wavetap::inspect {
namespace {

constexpr size_t kWidth = 1024;
constexpr size_t kGap = 6;
constexpr size_t kMostRows = 128;
constexpr Colour kBackground{16, 16, 24};
constexpr Colour kEmpty{36, 36, 48};

// Loads are blue, stores red, atomics green; together they mix.
Colour colour_of(const HeatBuffer::Cell& cell, double scale) {
  const auto level = [&](uint64_t count) {
    return count == 0 ? 40.0 : 90.0 + 165.0 * std::log2(1.0 + static_cast<double>(count)) / scale;
  };
  const auto byte = [](double value) { return static_cast<uint8_t>(std::min(value, 255.0)); };
  return {byte(level(cell.stores)), byte(level(cell.atomics)), byte(level(cell.loads))};
}

}  // namespace

std::string heatmap_picture(const ProbedKernel& kernel) {
  const size_t rows = std::clamp<size_t>(kernel.heat_times, 1, kMostRows);
  const size_t row_height = std::max<size_t>(1, 64 / rows);
  const size_t band = rows * row_height;
  uint64_t most = 1;
  for (const auto& [key, buffer] : kernel.heat)
    for (const auto& [at, cell] : buffer.cells) most = std::max(most, cell.sum());
  const double scale = std::log2(1.0 + static_cast<double>(most));
  Picture picture(kWidth, kGap + kernel.heat.size() * (band + kGap), kBackground);
  size_t top = kGap;
  for (const auto& [key, buffer] : kernel.heat) {
    const uint64_t pages =
        std::max<uint64_t>((buffer.size_bytes + buffer.page_bytes - 1) / buffer.page_bytes, 1);
    picture.fill(0, top, kWidth, band, kEmpty);
    // Several times may fall into one row.
    std::map<std::pair<uint64_t, size_t>, HeatBuffer::Cell> cells;
    for (const auto& [at, cell] : buffer.cells) {
      const size_t row =
          std::min<size_t>(at.second * rows / std::max<uint64_t>(kernel.heat_times, 1), rows - 1);
      HeatBuffer::Cell& sum = cells[{at.first, row}];
      sum.loads += cell.loads, sum.stores += cell.stores, sum.atomics += cell.atomics;
    }
    for (const auto& [at, cell] : cells) {
      const size_t left = at.first * kWidth / pages;
      const size_t right = std::max<size_t>((at.first + 1) * kWidth / pages, left + 1);
      picture.fill(left, top + at.second * row_height, right - left, row_height,
                   colour_of(cell, scale));
    }
    top += band + kGap;
  }
  return picture.png();
}

}  // namespace wavetap::inspect
