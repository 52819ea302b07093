#include "model/peaks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wavetap::model {
namespace {

using ::testing::HasSubstr;

Peaks peaks_of(const char* name) {
  const Result<Model> model = load_model(WT_SOURCE_DIR "/models", name);
  EXPECT_TRUE(model.ok()) << name;
  return model.ok() ? peaks(*model) : Peaks{};
}

double book(const Peaks& found, Pipe pipe, Precision precision) {
  const Ceiling* ceiling = found.find(Rate{pipe, precision});
  return ceiling == nullptr ? 0 : ceiling->book.per_second;
}

double book(const Peaks& found, Level level) {
  const Ceiling* ceiling = found.find(level);
  return ceiling == nullptr ? 0 : ceiling->book.per_second;
}

// AMD's data sheets print these, rounded to three digits.
TEST(Peaks, AgreeWithTheDataSheets) {
  const Peaks mi100 = peaks_of("mi100");
  EXPECT_NEAR(book(mi100, Pipe::kVector, Precision::kF32), 23.1e12, 0.1e12);
  EXPECT_NEAR(book(mi100, Pipe::kVector, Precision::kF64), 11.5e12, 0.1e12);
  EXPECT_NEAR(book(mi100, Pipe::kMatrix, Precision::kF16), 184.6e12, 0.1e12);
  EXPECT_NEAR(book(mi100, Level::kVram), 1229e9, 1e9);
  const Peaks mi210 = peaks_of("mi210");
  EXPECT_NEAR(book(mi210, Pipe::kVector, Precision::kF32), 22.6e12, 0.1e12);
  EXPECT_NEAR(book(mi210, Pipe::kMatrix, Precision::kF64), 45.3e12, 0.1e12);
  EXPECT_NEAR(book(mi210, Pipe::kMatrix, Precision::kF16), 181.0e12, 0.1e12);
  EXPECT_NEAR(book(mi210, Level::kVram), 1638e9, 1e9);
  const Peaks mi250x = peaks_of("mi250x");  // one of two dies
  EXPECT_NEAR(book(mi250x, Pipe::kMatrix, Precision::kF16), 191.5e12, 0.1e12);
  const Peaks mi300x = peaks_of("mi300x");
  EXPECT_NEAR(book(mi300x, Pipe::kPacked, Precision::kF32), 163.4e12, 0.1e12);
  EXPECT_NEAR(book(mi300x, Pipe::kMatrix, Precision::kF16), 1307.4e12, 0.1e12);
  EXPECT_NEAR(book(mi300x, Pipe::kMatrix, Precision::kF8), 2614.9e12, 0.1e12);
  EXPECT_NEAR(book(mi300x, Level::kVram), 5325e9, 1e9);
  EXPECT_NEAR(book(mi300x, Level::kL3), 17.2e12, 0.1e12);
  const Peaks navi21 = peaks_of("rx6800xt");
  EXPECT_NEAR(book(navi21, Pipe::kVector, Precision::kF32), 20.74e12, 0.01e12);
  EXPECT_NEAR(book(navi21, Level::kVram), 512e9, 1e9);
  const Peaks navi31 = peaks_of("rx7900xtx");
  EXPECT_NEAR(book(navi31, Pipe::kDual, Precision::kF32), 61.4e12, 0.1e12);
  EXPECT_NEAR(book(navi31, Pipe::kMatrix, Precision::kF16), 122.9e12, 0.1e12);
  EXPECT_NEAR(book(navi31, Level::kVram), 960e9, 1e9);
  EXPECT_NEAR(book(peaks_of("rx5600xt"), Pipe::kVector, Precision::kF32), 7.19e12, 0.01e12);
}

TEST(Peaks, OfMemoryFollowFromWidthUnitsAndClock) {
  const Peaks mi210 = peaks_of("mi210");
  EXPECT_DOUBLE_EQ(book(mi210, Level::kLds), 128.0 * 104 * 1700e6);
  EXPECT_DOUBLE_EQ(book(mi210, Level::kL1), 64.0 * 104 * 1700e6);
  EXPECT_DOUBLE_EQ(book(mi210, Level::kL2), 128.0 * 32 * 1700e6);
  EXPECT_DOUBLE_EQ(book(peaks_of("mi300x"), Level::kL2), 128.0 * 16 * 8 * 2100e6);
}

// A measurement above the book's value would mean that one of the two is wrong.
TEST(Peaks, NoMeasurementExceedsTheBook) {
  for (const Model& model : sound_models(WT_SOURCE_DIR "/models")) {
    const Peaks found = peaks(model);
    for (const ComputePeak& peak : found.compute) {
      EXPECT_GT(peak.ceiling.book.per_second, 0) << model.name << " " << name_of(peak.rate);
      EXPECT_LE(peak.ceiling.measured.per_second, peak.ceiling.book.per_second)
          << model.name << " " << name_of(peak.rate);
    }
    for (const MemoryPeak& peak : found.memory) {
      if (peak.ceiling.book.source == Source::kNone) continue;
      EXPECT_LE(peak.ceiling.measured.per_second, peak.ceiling.book.per_second)
          << model.name << " " << name_of(peak.level);
    }
  }
}

TEST(Peaks, EveryFigureSaysWhereItComesFrom) {
  for (const Model& model : sound_models(WT_SOURCE_DIR "/models")) {
    const Peaks found = peaks(model);
    EXPECT_FALSE(found.compute.empty()) << model.name;
    EXPECT_NE(found.find(Level::kVram), nullptr) << model.name;
    const auto check = [&](const Figure& figure) {
      EXPECT_EQ(figure.source == Source::kNone, figure.per_second == 0) << model.name;
      EXPECT_EQ(figure.source == Source::kNone, figure.basis.empty()) << model.name;
    };
    for (const ComputePeak& peak : found.compute) {
      check(peak.ceiling.book);
      check(peak.ceiling.measured);
    }
    for (const MemoryPeak& peak : found.memory) {
      check(peak.ceiling.book);
      check(peak.ceiling.measured);
    }
    for (const Latency& latency : found.latency) {
      EXPECT_FALSE(latency.source.empty()) << model.name;
      EXPECT_GT(latency.clock_mhz, 0u) << model.name;
    }
  }
}

TEST(Peaks, MeasuredCeilingIsTheOneToHoldAProgramAgainst) {
  const Peaks mi210 = peaks_of("mi210");
  const Ceiling* vram = mi210.find(Level::kVram);
  ASSERT_NE(vram, nullptr);
  EXPECT_EQ(vram->measured.per_second, 1389e9);
  EXPECT_EQ(vram->known_best().source, Source::kMeasured);
  EXPECT_THAT(vram->measured.basis, HasSubstr("rocprofiler-compute"));
  const Ceiling* packed = mi210.find(Rate{Pipe::kPacked, Precision::kF32});
  ASSERT_NE(packed, nullptr);
  EXPECT_EQ(packed->known_best().source, Source::kDerived);
  EXPECT_EQ(packed->book.basis, "256 x 104 CUs x 1700 MHz");
}

TEST(Peaks, LatencyGrowsWithTheDistance) {
  for (const Model& model : sound_models(WT_SOURCE_DIR "/models")) {
    uint32_t before = 0;
    for (const auto& [level, cycles] : model.latency) {
      EXPECT_LE(cycles.least, cycles.most) << model.name;
      if (level == Level::kScalarL1) continue;
      EXPECT_GT(cycles.least, before) << model.name << " " << name_of(level);
      before = cycles.least;
    }
  }
}

TEST(Peaks, OfAnUnknownGenerationAreNotGuessed) {
  Model model;
  model.target = {12, 0, 1};
  const Peaks found = peaks(model);
  EXPECT_TRUE(found.compute.empty());
  EXPECT_EQ(found.find(Level::kLds), nullptr);
  EXPECT_NE(found.find(Level::kVram), nullptr);
}

TEST(Figures, NamesReadBack) {
  for (const char* name : {"vector.f32", "packed.f16", "dual.f32", "matrix.bf16", "matrix.xf32"}) {
    const std::optional<Rate> rate = parse_rate(name);
    ASSERT_TRUE(rate.has_value()) << name;
    EXPECT_EQ(name_of(*rate), name);
  }
  for (const char* name : {"lds", "scalar_l1", "l1", "gl1", "l2", "l3", "vram"}) {
    const std::optional<Level> level = parse_level(name);
    ASSERT_TRUE(level.has_value()) << name;
    EXPECT_EQ(name_of(*level), name);
  }
  EXPECT_FALSE(parse_rate("vector"));
  EXPECT_FALSE(parse_rate("vector.f33"));
  EXPECT_FALSE(parse_rate("l2"));
  EXPECT_FALSE(parse_level("l4"));
}

}  // namespace
}  // namespace wavetap::model
