#include "doctor/recorded_figures.h"

#include <gtest/gtest.h>

#include "doctor/correction_risk.h"

namespace wavetap::doctor {
namespace {

model::Model rx6800xt() {
  model::Model model;
  model.name = "rx6800xt";
  model.target = {10, 3, 0};
  model.marketing_name = "RX 6800 XT";
  model.device_id = 0x73bf;
  model.revision = 0xc1;
  model.compute_units = 72;
  model.wave_size = 32;
  model.lds_kib = 64;
  model.engine_clock_mhz = 2575;
  model.l2_kib = 4096;
  model.vram_bytes = 16ull << 30;
  return model;
}

const std::vector<model::Model> kKnown = {rx6800xt()};

// A GPU as it is, in the layers a program meets. `bus` sets it apart from others.
std::vector<RecordedFigure> sound(int64_t gpu = 0, unsigned bus = 3) {
  const std::string pci = "0000:0" + std::to_string(bus) + ":00.0";
  std::vector<RecordedFigure> figures;
  const auto add = [&](const char* layer, const char* field, const std::string& value) {
    figures.push_back({100, gpu, pci, layer, field, value, {}});
  };
  add("driver", "node", std::to_string(gpu + 1));
  add("driver", "gfx_target_version", "100300");
  add("driver", "simd_count", "144");
  add("driver", "simd_per_cu", "2");
  add("driver", "wave_front_size", "32");
  add("driver", "lds_size_in_kb", "64");
  add("driver", "max_engine_clk_fcompute", "2575");
  add("driver", "device_id", std::to_string(0x73bf));
  add("driver", "revision", std::to_string(0xc1));
  add("driver", "location_id", std::to_string(bus << 8));
  add("driver", "mem_banks/0/heap_type", "1");
  add("driver", "mem_banks/0/size_in_bytes", std::to_string(16ull << 30));
  add("hsa", "arch", "gfx1030");
  add("hsa", "compute_units", "72");
  add("hsa", "wave_size", "32");
  add("hip", "arch", "gfx1030");
  add("hip", "multiprocessors", "36");
  add("hip", "wave_size", "32");
  return figures;
}

void change(std::vector<RecordedFigure>& figures, const std::string& layer,
            const std::string& field, const std::string& value) {
  for (RecordedFigure& figure : figures)
    if (figure.layer == layer && figure.field == field) figure.value = value;
}

std::string only(const std::vector<std::string>& list) {
  return list.size() == 1 ? list.front() : std::to_string(list.size()) + " sentences";
}

TEST(RecordedFigures, SaysNothingWhenAllAgree) {
  const RecordedTruth truth = judge_recorded(sound(), kKnown);
  EXPECT_TRUE(truth.warnings.empty()) << truth.warnings.front();
  EXPECT_TRUE(truth.notes.empty() && truth.rows.empty() && truth.corrections.empty());
  EXPECT_TRUE(judge_recorded({}, kKnown).warnings.empty());
  // HIP counts compute units when it is told to.
  std::vector<RecordedFigure> units = sound();
  change(units, "hip", "multiprocessors", "72");
  EXPECT_TRUE(judge_recorded(units, kKnown).warnings.empty());
}

TEST(RecordedFigures, NamesTheLayerThatLies) {
  std::vector<RecordedFigure> driver = sound();
  change(driver, "driver", "max_engine_clk_fcompute", "1200");
  EXPECT_NE(only(judge_recorded(driver, kKnown).warnings)
                .find("the driver layer misreports peak clock MHz of RX 6800 XT"),
            std::string::npos);
  std::vector<RecordedFigure> hsa = sound();
  change(hsa, "hsa", "compute_units", "36");
  EXPECT_NE(only(judge_recorded(hsa, kKnown).warnings)
                .find("HSA misreports the GPU (HSA compute units: 36, the driver says 72)"),
            std::string::npos);
  std::vector<RecordedFigure> hip = sound();
  change(hip, "hip", "arch", "gfx1100");
  const RecordedTruth truth = judge_recorded(hip, kKnown);
  EXPECT_NE(only(truth.warnings).find("HIP says gfx1100, HSA says gfx1030"), std::string::npos);
  ASSERT_FALSE(truth.rows.empty());
  EXPECT_EQ(truth.rows.front().figures.hip, "gfx1100");
}

TEST(RecordedFigures, TellsWhichOfTwoGpus) {
  std::vector<RecordedFigure> figures = sound();
  std::vector<RecordedFigure> second = sound(1, 4);
  change(second, "hsa", "wave_size", "64");
  figures.insert(figures.end(), second.begin(), second.end());
  const RecordedTruth truth = judge_recorded(figures, kKnown);
  EXPECT_NE(only(truth.warnings).find("node 2: HSA misreports"), std::string::npos);
  for (const RecordedTruth::Row& row : truth.rows) EXPECT_EQ(row.gpu, 1);
}

TEST(RecordedFigures, JudgesTheOverrideOfEachProcess) {
  std::vector<RecordedFigure> figures = sound();
  change(figures, "driver", "gfx_target_version", "100301");
  figures.push_back({100, {}, "", "environment", "HSA_OVERRIDE_GFX_VERSION", "10.3.0", {}});
  const std::vector<model::Model> nobody;
  const RecordedTruth safe = judge_recorded(figures, nobody);
  EXPECT_TRUE(safe.warnings.empty());
  EXPECT_NE(only(safe.notes).find("HSA_OVERRIDE_GFX_VERSION=10.3.0 is safe on gfx1031"),
            std::string::npos);
  change(figures, "driver", "gfx_target_version", "100100");
  EXPECT_NE(
      only(judge_recorded(figures, nobody).warnings).find("runs gfx1030 code on gfx1010 hardware"),
      std::string::npos);
}

TEST(RecordedFigures, ShowsCorrectionsAndWhatTheyBreak) {
  std::vector<RecordedFigure> figures = sound();
  for (RecordedFigure& figure : figures)
    if (figure.layer == "hip" && figure.field == "multiprocessors") figure.told = "72";
  RecordedTruth truth = judge_recorded(figures, kKnown);
  ASSERT_EQ(truth.corrections.size(), 1u);
  EXPECT_NE(only(truth.warnings).find("72 multiprocessors are more than the 36 WGPs"),
            std::string::npos);
  figures.push_back({100, {}, "", "environment", "GPU_ENABLE_WGP_MODE", "0", {}});
  EXPECT_TRUE(judge_recorded(figures, kKnown).warnings.empty());
}

TEST(CorrectionRisk, IsWhatProgramsComputeWith) {
  const TrueFigures truth = true_figures(kKnown.front(), nullptr);
  EXPECT_EQ(correction_risk(truth, "multiprocessors", "36"), "");
  EXPECT_EQ(correction_risk(truth, "multiprocessors", "18"), "");
  EXPECT_NE(correction_risk(truth, "multiprocessors", "37"), "");
  EXPECT_EQ(correction_risk(truth, "clock-mhz", "9999"), "");
  EXPECT_EQ(correction_risk(truth, "wave_size", "32"), "");
  EXPECT_NE(correction_risk(truth, "wave-size", "64"), "");
  EXPECT_EQ(correction_risk(truth, "lds-bytes", "65536"), "");
  EXPECT_NE(correction_risk(truth, "lds_bytes", "65537"), "");
  EXPECT_EQ(correction_risk(truth, "arch", "gfx1030:xnack-"), "");
  EXPECT_NE(correction_risk(truth, "arch", "gfx1031"), "");
}

}  // namespace
}  // namespace wavetap::doctor
