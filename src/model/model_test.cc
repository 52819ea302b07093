#include "model/model.h"

#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wavetap::model {
namespace {

using ::testing::HasSubstr;

constexpr char kModels[] = WT_SOURCE_DIR "/models";

constexpr char kSmallest[] =
    "target = gfx90a\n"
    "marketing_name = Test GPU\n"
    "pci.device_id = 0x740f\n"
    "compute_units = 4\n"
    "shader_engines = 2\n"
    "cus_per_shader_array = 2\n"
    "simds_per_cu = 4\n"
    "wave_size = 64\n"
    "vram.mib = 64\n";

std::string error_of(const std::string& text) {
  const Result<Model> model = parse_model("test", text);
  return model.ok() ? "" : model.error().message;
}

TEST(Model, ReadsEveryModelThatIsShipped) {
  const std::vector<std::string> names = list_models(kModels);
  EXPECT_GE(names.size(), 6u);
  for (const std::string& name : names) {
    const Result<Model> model = load_model(kModels, name);
    ASSERT_TRUE(model.ok()) << model.error().message;
    EXPECT_EQ(model->name, name);
    EXPECT_GT(model->vram_bytes, 1ull << 30);
    EXPECT_GT(model->power_cap_w, 0u);
  }
}

TEST(Model, HoldsThePublishedFigures) {
  const Result<Model> navi = load_model(kModels, "rx6800xt");
  ASSERT_TRUE(navi.ok());
  EXPECT_EQ(to_string(navi->target), "gfx1030");
  EXPECT_EQ(navi->compute_units, 72u);
  EXPECT_EQ(navi->simd_count(), 144u);
  EXPECT_EQ(navi->family(), 143u);
  EXPECT_EQ(navi->l3_kib, 128u * 1024);
  const Result<Model> mi300 = load_model(kModels, "mi300x");
  ASSERT_TRUE(mi300.ok());
  EXPECT_EQ(mi300->compute_units, 304u);
  EXPECT_EQ(mi300->xccs, 8u);
  EXPECT_EQ(mi300->family(), 141u);
  const Result<Model> mi250 = load_model(kModels, "mi250x");
  ASSERT_TRUE(mi250.ok());
  EXPECT_EQ(mi250->nodes, 2u);
  EXPECT_EQ(mi250->compute_units, 110u);
}

TEST(Model, AcceptsCommentsBlankLinesAndHexadecimal) {
  const Result<Model> model = parse_model(
      "test", std::string("# comment\n\n  \t\n") + kSmallest + "pci.revision = 0xC1   # why\r\n");
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model->revision, 0xc1u);
  EXPECT_EQ(model->marketing_name, "Test GPU");
}

TEST(Model, KeepsQuirksForLater) {
  const Result<Model> model =
      parse_model("test", std::string(kSmallest) + "lie.compute_units = 12\nfault.after = 3\n");
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model->quirks.at("lie.compute_units"), "12");
  EXPECT_EQ(model->quirks.size(), 2u);
}

TEST(Model, ContinuesItsBaseAndReportsItsLies) {
  const Result<Model> base = load_model(kModels, "rx6800xt");
  const Result<Model> liar = load_model(kModels, "zluda-rx6800xt");
  ASSERT_TRUE(base.ok()) << base.error().message;
  ASSERT_TRUE(liar.ok()) << liar.error().message;
  EXPECT_EQ(liar->name, "zluda-rx6800xt");
  EXPECT_EQ(liar->device_id, base->device_id);
  EXPECT_EQ(liar->compute_units, 72u);
  EXPECT_EQ(liar->as_reported().compute_units, 36u);
  EXPECT_EQ(liar->as_reported().target, (amd::GfxTarget{10, 3, 1}));
  EXPECT_EQ(liar->target, base->target);
  // The text travels to the program's process and must say the same there, without the folder.
  const Result<Model> travelled = parse_model(liar->name, liar->text);
  ASSERT_TRUE(travelled.ok()) << travelled.error().message;
  EXPECT_EQ(travelled->as_reported().compute_units, 36u);
  EXPECT_EQ(travelled->vram_bytes, base->vram_bytes);
  EXPECT_TRUE(base->quirk("fault.hang").empty());
}

TEST(Model, SoundModelsAreThoseThatDoNotMisbehave) {
  const std::vector<Model> models = sound_models(kModels);
  EXPECT_LT(models.size(), list_models(kModels).size());
  EXPECT_GE(models.size(), 7u);
  for (const Model& model : models) EXPECT_TRUE(model.quirks.empty()) << model.name;
}

TEST(Model, NamesFileLineAndKeyOfAMistake) {
  EXPECT_THAT(error_of("target = gfx90a\nwaves = 8\n"),
              HasSubstr("test.gpu:2: `waves = 8` is not a key"));
  EXPECT_THAT(error_of("target = gfx90a\nhello\n"), HasSubstr("test.gpu:2: no `=`"));
  EXPECT_THAT(error_of("target = radeon\n"), HasSubstr("not a gfx target"));
  EXPECT_THAT(error_of("compute_units = 0\n"), HasSubstr("not a number from 1 to 1024"));
  EXPECT_THAT(error_of("compute_units = 12x\n"), HasSubstr("not a number"));
  EXPECT_THAT(error_of("compute_units = 99999999999999999999\n"), HasSubstr("not a number"));
  EXPECT_THAT(error_of("compute_units =\n"), HasSubstr("not a number"));
  EXPECT_THAT(error_of("sram_ecc = maybe\n"), HasSubstr("neither yes nor no"));
}

TEST(Model, RefusesFiguresThatContradictEachOther) {
  EXPECT_THAT(error_of("compute_units = 4\n"), HasSubstr("has no `target`"));
  EXPECT_THAT(error_of(std::string(kSmallest) + "compute_units = 5\n"),
              HasSubstr("more compute units than"));
  EXPECT_THAT(error_of(std::string(kSmallest) + "xccs = 3\n"), HasSubstr("do not divide"));
  EXPECT_THAT(error_of(std::string(kSmallest) + "wave_size = 48\n"),
              HasSubstr("neither 32 nor 64"));
  EXPECT_THAT(error_of(std::string(kSmallest) + "compute_units = 1\nsimds_per_cu = 2\n"),
              HasSubstr("fewer than 4 SIMDs"));
}

TEST(Model, KnowsMeasuredFiguresAndLatencies) {
  const Result<Model> model = parse_model(
      "test", std::string(kSmallest) +
                  "peak.l3 = 17200\nmeasured.vram = 900\nmeasured.matrix.f16 = 100\n"
                  "measured.source = somebody\nlatency.l2 = 200-300\nlatency.source = us\n");
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model->published_gb_s.at(Level::kL3), 17200u);
  EXPECT_EQ(model->measured_gb_s.at(Level::kVram), 900u);
  EXPECT_EQ(model->measured_gops.at(Rate{Pipe::kMatrix, Precision::kF16}), 100u);
  EXPECT_EQ(model->latency.at(Level::kL2).most, 300u);
  const std::string smallest(kSmallest);
  EXPECT_THAT(error_of(smallest + "measured.vram = 9\n"), HasSubstr("no `measured.source`"));
  EXPECT_THAT(error_of(smallest + "latency.l2 = 9\n"), HasSubstr("no `latency.source`"));
  EXPECT_THAT(error_of(smallest + "latency.l2 = 9-8\n"), HasSubstr("is not cycles"));
  EXPECT_THAT(error_of(smallest + "latency.l2 = 9-\n"), HasSubstr("is not cycles"));
  EXPECT_THAT(error_of(smallest + "measured.l9 = 9\n"), HasSubstr("is not a key"));
  EXPECT_THAT(error_of(smallest + "measured.vector.f99 = 9\n"), HasSubstr("is not a key"));
  EXPECT_THAT(error_of(smallest + "peak.vector.f32 = 9\n"), HasSubstr("is not a key"));
  EXPECT_THAT(error_of(smallest + "measured.l2 = 0\n"), HasSubstr("is not a number"));
}

TEST(Model, ListsWhatExistsWhenANameIsWrong) {
  const Result<Model> model = load_model(kModels, "voodoo2");
  ASSERT_FALSE(model.ok());
  EXPECT_THAT(model.error().message, HasSubstr("voodoo2: no such GPU model"));
  EXPECT_THAT(model.error().message, HasSubstr("mi210"));
}

TEST(Model, EveryKeyOfTheShippedModelsIsDocumented) {
  std::ifstream in(WT_SOURCE_DIR "/docs/gpu-models.md");
  const std::string document((std::istreambuf_iterator<char>(in)), {});
  ASSERT_FALSE(document.empty());
  for (const std::string& name : list_models(kModels)) {
    std::ifstream file(std::string(kModels) + "/" + name + ".gpu");
    for (std::string line; std::getline(file, line);) {
      if (line.empty() || line[0] == '#') continue;
      const std::string key = line.substr(0, line.find(' '));
      EXPECT_THAT(document, HasSubstr("`" + key + "`")) << name;
    }
  }
}

}  // namespace
}  // namespace wavetap::model
