#include "itrace/ui_output.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "itrace/schedule.h"
#include "util/json_library.h"

namespace wavetap::itrace {
namespace {

Trace small_trace() {
  Trace trace;
  trace.kernel = "k(\"int\")";
  trace.gpu = "AMD Instinct MI210";
  trace.target = "gfx90a";
  trace.is_modelled = true;
  trace.clock_hz = 1.7e9;
  trace.losses = {10, 2, 1, 77};
  trace.notes = {"a note"};
  trace.code = {{"; _Z1kPi", "k(\"int\")", 1, 0x1000},
                {"s_load_dword s0, s[4:5], 0x0", "/tmp/none.hip:3 -> /tmp/none.hip:9", 1, 0x1000},
                {"s_waitcnt lgkmcnt(0)", "/tmp/none.hip:3", 1, 0x1008},
                {"s_cbranch_scc1 -2", "", 1, 0x100c},
                {"s_endpgm", "", 1, 0x1010}};
  trace.entry_row = 1;
  for (uint32_t slot = 0; slot < 2; ++slot) {
    Wave wave;
    wave.slot = slot;
    wave.workgroup = 7;
    wave.wave_in_group = slot;
    wave.begin = 64 + slot * 4;
    wave.issues = {{wave.begin + 4, 0, 4, 1, Category::kSmem},
                   {wave.begin + 8, 48, 52, 2, Category::kImmed},
                   {wave.begin + 60, 0, 4, 3, Category::kNext},
                   {wave.begin + 64, 0, 4, 4, Category::kImmed}};
    wave.end = wave.begin + 68;
    wave.timeline = timeline_of(wave);
    wave.waits = {{2, {1}}};
    wave.is_cut = slot == 1;
    trace.waves.push_back(wave);
  }
  add_up(trace);
  return trace;
}

class UiOutput : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/itrace_ui." + std::to_string(getpid());
    std::filesystem::remove_all(folder_);
    const Status written = write_ui_output(small_trace(), folder_ + "/" + ui_output_name(1, 2));
    ASSERT_TRUE(written.ok()) << written.error().message;
    for (const auto& entry :
         std::filesystem::directory_iterator(folder_ + "/" + ui_output_name(1, 2))) {
      std::ifstream in(entry.path());
      files_[entry.path().filename()] = {std::istreambuf_iterator<char>(in), {}};
    }
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Result<Trace> read() const {
    return read_ui_output(
        [&](const std::string& name) -> std::optional<std::string> {
          const auto found = files_.find(name);
          return found == files_.end() ? std::nullopt : std::optional(found->second);
        },
        "ui");
  }
  // What reading says after `name` has become `text`.
  std::string complaint(const std::string& name, const std::string& text) {
    const std::string before = files_[name];
    files_[name] = text;
    const Result<Trace> trace = read();
    files_[name] = before;
    return trace.ok() ? "" : trace.error().message;
  }

  std::string folder_;
  std::map<std::string, std::string> files_;
};

TEST_F(UiOutput, IsReadBackAsItWasWritten) {
  const Trace written = small_trace();
  const Result<Trace> read = this->read();
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->kernel, written.kernel);
  EXPECT_EQ(read->target, written.target);
  EXPECT_TRUE(read->is_modelled);
  EXPECT_EQ(read->notes, written.notes);
  EXPECT_EQ(read->losses.instructions_lost, 77u);
  ASSERT_EQ(read->code.size(), written.code.size());
  for (size_t i = 0; i < written.code.size(); ++i) {
    EXPECT_EQ(read->code[i].text, written.code[i].text);
    EXPECT_EQ(read->code[i].source, written.code[i].source);
    EXPECT_EQ(read->code[i].address, written.code[i].address);
    EXPECT_EQ(read->code[i].hits, written.code[i].hits);
    EXPECT_EQ(read->code[i].stall, written.code[i].stall);
  }
  ASSERT_EQ(read->waves.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(read->waves[i].issues, written.waves[i].issues);
    EXPECT_EQ(read->waves[i].timeline, written.waves[i].timeline);
    EXPECT_EQ(read->waves[i].waits, written.waves[i].waits);
    EXPECT_EQ(read->waves[i].workgroup, 7u);
    EXPECT_EQ(read->waves[i].is_cut, i == 1);
  }
}

TEST_F(UiOutput, HasWhatTheViewerAsksFor) {
  const auto names = nlohmann::ordered_json::parse(files_["filenames.json"]);
  EXPECT_EQ(names["gfxv"], "vega");
  EXPECT_EQ(names["gfxip"], 9);
  EXPECT_EQ(names["wave_filenames"]["0"]["0"]["1"]["0"][0], "se0_sm0_sl1_wv0.json");
  const auto wave = nlohmann::ordered_json::parse(files_["se0_sm0_sl0_wv0.json"]);
  int64_t cycles = 0;
  for (const auto& span : wave["wave"]["timeline"]) cycles += span[1].get<int64_t>();
  EXPECT_EQ(cycles, wave["wave"]["end"].get<int64_t>() - wave["wave"]["begin"].get<int64_t>());
  const auto code = nlohmann::ordered_json::parse(files_["code.json"]);
  EXPECT_EQ(code["code"][0][2].get<int>() + 1, code["code"][1][2].get<int>());  // a function's name
  const auto occupancy = nlohmann::ordered_json::parse(files_["occupancy.json"]);
  EXPECT_EQ(occupancy["0"].size(), 4u);
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/stats_" + ui_output_name(1, 2) + ".csv"));
}

TEST_F(UiOutput, NamesFileAndPlaceOfWhatIsWrong) {
  EXPECT_EQ(complaint("code.json", "{\"code\": [1,"),
            "ui/code.json: byte 13: is not JSON; record it again");
  EXPECT_EQ(complaint("code.json", "{\"code\": [[1]]}"),
            "ui/code.json: code[0]: is not a row of ten fields; record it again");
  EXPECT_EQ(complaint("code.json", "[]"),
            "ui/code.json: top: has no list named code; record it again");
  const std::string wave = "se0_sm0_sl0_wv0.json";
  EXPECT_EQ(complaint(wave, R"({"wave":{"instructions":[[1,2,3]]}})"),
            "ui/" + wave + ": instructions[0]: is not a row of five numbers; record it again");
  EXPECT_EQ(complaint(wave, R"({"wave":{"instructions":[[1,99,3,4,1]]}})"),
            "ui/" + wave + ": instructions[0]: has an unknown category; record it again");
  EXPECT_EQ(
      complaint(wave, R"({"wave":{"waitcnt":[[99,[]]]}})"),
      "ui/" + wave + ": waitcnt[0]: names a line that code.json does not have; record it again");
  EXPECT_EQ(
      complaint("filenames.json", R"({"wave_filenames":{"0":{"0":{"0":{"0":["../x",1,2]}}}}})"),
      "ui/filenames.json: wave_filenames.0.0.0.0: names a file outside the folder; record it again");
  files_.erase(wave);
  EXPECT_EQ(read().error().message, "ui/" + wave + ": is not there; copy the whole folder");
}

}  // namespace
}  // namespace wavetap::itrace
