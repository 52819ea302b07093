#include "tune/spec.h"

#include <gtest/gtest.h>

namespace wavetap::tune {
namespace {

constexpr char kGood[] = R"(
name = "matmul"
conditions = ["TILE % VEC == 0"]
constraints = ["vgprs <= 64"]
[build]
command = "cc -DTILE={TILE} {FLAG} -o {out}"
[parameters]
TILE = { powers = [4, 32] }
VEC = [1, 2, 4]
U = { from = 1, to = 2, step = 0.5 }
FLAG = ["", "-ffast-math"]
[measure]
capture = "matmul.wtcap"
verify = "rel=1e-5"
sanitize = "memcheck"
[launch]
workgroup = ["TILE", "TILE"]
[objective]
minimize = "instructions"
[search]
strategy = "halving"
seed = 7
)";

TEST(Spec, ReadsWhatItSays) {
  const Result<Spec> spec = parse_spec(kGood, "/folder/file.toml");
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  EXPECT_EQ(spec->name, "matmul");
  EXPECT_EQ(spec->full_path(spec->capture), "/folder/matmul.wtcap");
  ASSERT_EQ(spec->parameters.size(), 4u);
  for (const Parameter& parameter : spec->parameters) {
    EXPECT_EQ(parameter.values.size(), parameter.name == "TILE"   ? 4u
                                       : parameter.name == "FLAG" ? 2u
                                                                  : 3u);
    EXPECT_EQ(parameter.is_ordered, parameter.name != "FLAG") << parameter.name;
  }
  EXPECT_EQ(spec->objective, "instructions");
  EXPECT_TRUE(spec->tools.has_value());
  EXPECT_EQ(spec->search.strategy, Strategy::kHalving);
}

// What replaces a piece of the good one, and what the error then says.
TEST(Spec, SaysWhatIsWrong) {
  const struct {
    const char* piece;
    const char* instead;
    const char* message;
  } cases[] = {
      {"strategy = \"halving\"", "strategy = \"magic\"", "not a strategy"},
      {"vgprs <= 64", "metric <= 64", "no parameter or figure metric of what is measured"},
      {"vgprs <= 64", "accuracy < 1", "there are FLAG"},
      {"seed = 7", "sead = 7", "did you mean seed"},
      {"seed = 7", "seed = \"a\"", "not a number"},
      {"seed = 7", "seed = [", "file.toml:"},
      {"[1, 2, 4]", "[1, 1]", "there twice"},
      {"[1, 2, 4]", "[]", "not a list"},
      {"powers = [4, 32]", "powers = [0, 32]", "both above 0"},
      {"powers = [4, 32]", "powers = [4, inf]", "both above 0"},
      {"powers = [4, 32]", "powers = [4, nan]", "both above 0"},
      {"powers = [4, 32]", "from = 1, to = inf", "parameters.TILE.to"},
      {"[1, 2, 4]", "[1, inf]", "numbers and words"},
      {"[search]\nstrategy = \"halving\"\nseed = 7", "[launch.search]", "launch.search"},
      {"[launch]\nworkgroup = [\"TILE\", \"TILE\"]", "[[launch]]", "launch: not a table"},
      {"conditions = ", "search = \"random\"\nconditions = ", "file.toml:"},
      {"TILE % VEC == 0", "TILE % WIDTH == 0", "no parameter or figure WIDTH"},
      {"vgprs <= 64", "vgprs <", "not understood"},
      {"instructions", "speed", "is not a figure"},
      {"-o {out}", "-o x", "nowhere {out}"},
      {"capture = ", "program = ", "either a kernel or a metric"},
      {"rel=1e-5", "close", "not understood"},
      {"memcheck", "magic", "magic"},
  };
  for (const auto& test : cases) {
    std::string text = kGood;
    const size_t at = text.find(test.piece);
    ASSERT_NE(at, std::string::npos) << test.piece;
    text.replace(at, std::string(test.piece).size(), test.instead);
    const Result<Spec> spec = parse_spec(text, "file.toml");
    ASSERT_FALSE(spec.ok()) << test.instead;
    EXPECT_NE(spec.error().message.find(test.message), std::string::npos) << spec.error().message;
  }
}

}  // namespace
}  // namespace wavetap::tune
