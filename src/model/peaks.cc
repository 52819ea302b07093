#include "model/peaks.h"

#include <algorithm>
#include <cstdio>

namespace wavetap::model {
namespace {

enum class Generation : uint8_t { kUnknown, kCdna1, kCdna2, kCdna3, kRdna1, kRdna2, kRdna3 };

Generation generation_of(amd::GfxTarget target) {
  if (target == amd::GfxTarget{9, 0, 8}) return Generation::kCdna1;
  if (target == amd::GfxTarget{9, 0, 10}) return Generation::kCdna2;
  if (target.major == 9 && target.minor == 4) return Generation::kCdna3;
  if (target.major == 10 && target.minor == 1) return Generation::kRdna1;
  if (target.major == 10 && target.minor == 3) return Generation::kRdna2;
  if (target.major == 11 && target.minor == 0) return Generation::kRdna3;
  return Generation::kUnknown;
}

struct RateRow {
  Generation generation;
  Rate rate;
  uint32_t operations;
};
constexpr RateRow kRates[] = {
#define WT_RATE(generation, pipe, precision, operations) \
  {Generation::generation, {Pipe::pipe, Precision::precision}, operations},
#include "model/peaks.inc"
#undef WT_RATE
};

struct BandwidthRow {
  Generation generation;
  Level level;
  bool per_channel;  // else per CU
  uint32_t bytes;
};
constexpr BandwidthRow kBandwidths[] = {
#define WT_PER_CU(generation, level, bytes) {Generation::generation, Level::level, false, bytes},
#define WT_PER_CHANNEL(generation, level, bytes) \
  {Generation::generation, Level::level, true, bytes},
#include "model/peaks.inc"
#undef WT_PER_CU
#undef WT_PER_CHANNEL
};

// Per clock and unit, times units, times clock.
Figure derived(uint32_t per_clock, uint32_t units, const char* unit, uint32_t clock_mhz) {
  char basis[128];
  std::snprintf(basis, sizeof basis, "%u x %u %s x %u MHz", per_clock, units, unit, clock_mhz);
  return {.per_second = 1e6 * per_clock * units * clock_mhz,
          .source = Source::kDerived,
          .basis = basis};
}

Figure vram_book(const Model& model) {
  const uint32_t transfers = model.vram_transfers();
  char basis[128];
  std::snprintf(basis, sizeof basis, "%u bits x %u x %u MHz", model.vram_width_bits, transfers,
                model.memory_clock_mhz);
  return {.per_second = 1e6 / 8 * model.vram_width_bits * transfers * model.memory_clock_mhz,
          .source = Source::kDerived,
          .basis = basis};
}

Figure level_book(const Model& model, Generation generation, Level level) {
  if (level == Level::kVram) return vram_book(model);
  const auto published = model.published_gb_s.find(level);
  if (published != model.published_gb_s.end())
    return {.per_second = 1e9 * static_cast<double>(published->second),
            .source = Source::kPublished,
            .basis = "published by AMD"};
  for (const BandwidthRow& row : kBandwidths) {
    if (row.generation != generation || row.level != level) continue;
    if (!row.per_channel)
      return derived(row.bytes, model.compute_units, "CUs", model.book_clock_mhz());
    if (model.l2_channels != 0)
      return derived(row.bytes, model.l2_channels * model.xccs, "channels", model.book_clock_mhz());
  }
  return {};
}

template <class Key>
Figure measured_of(const Model& model, const std::map<Key, uint64_t>& figures, Key key) {
  const auto found = figures.find(key);
  if (found == figures.end()) return {};
  return {.per_second = 1e9 * static_cast<double>(found->second),
          .source = Source::kMeasured,
          .basis = model.measured_source};
}

bool exists(const Ceiling& ceiling) {
  return ceiling.book.source != Source::kNone || ceiling.measured.source != Source::kNone;
}

}  // namespace

std::string_view name_of(Source source) {
  switch (source) {
    case Source::kNone: return "none";
    case Source::kPublished: return "published";
    case Source::kDerived: return "derived";
    case Source::kMeasured: return "measured";
  }
  return "none";
}

const Ceiling* Peaks::find(Rate rate) const {
  for (const ComputePeak& peak : compute)
    if (peak.rate == rate) return &peak.ceiling;
  return nullptr;
}

const Ceiling* Peaks::find(Level level) const {
  for (const MemoryPeak& peak : memory)
    if (peak.level == level) return &peak.ceiling;
  return nullptr;
}

Peaks peaks(const Model& model) {
  const Generation generation = generation_of(model.target);
  Peaks found;
  for (const RateRow& row : kRates) {
    if (row.generation != generation) continue;
    found.compute.push_back(
        {.rate = row.rate,
         .ceiling = {
             .book = derived(row.operations, model.compute_units, "CUs", model.book_clock_mhz()),
             .measured = measured_of(model, model.measured_gops, row.rate)}});
  }
  // What was measured counts, whether the table knows the pipe or not.
  for (const auto& [rate, value] : model.measured_gops) {
    if (found.find(rate) == nullptr)
      found.compute.push_back(
          {.rate = rate,
           .ceiling = {.book = {}, .measured = measured_of(model, model.measured_gops, rate)}});
  }
  std::sort(found.compute.begin(), found.compute.end(),
            [](const ComputePeak& a, const ComputePeak& b) { return a.rate < b.rate; });
  for (const Level level : {Level::kLds, Level::kScalarL1, Level::kL1, Level::kGl1, Level::kL2,
                            Level::kL3, Level::kVram}) {
    const Ceiling ceiling{.book = level_book(model, generation, level),
                          .measured = measured_of(model, model.measured_gb_s, level)};
    if (exists(ceiling)) found.memory.push_back({.level = level, .ceiling = ceiling});
  }
  for (const auto& [level, cycles] : model.latency)
    found.latency.push_back({.level = level,
                             .cycles = cycles,
                             .clock_mhz = model.latency_clock_mhz != 0 ? model.latency_clock_mhz
                                                                       : model.engine_clock_mhz,
                             .source = model.latency_source});
  return found;
}

}  // namespace wavetap::model
