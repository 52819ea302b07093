// Sessions: the chosen tools, dispatch after dispatch. What each tool finds is tested with the tool.
#include "sanitize/session.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "emu/testing/kernel.h"
#include "sanitize/finding_line.h"
#include "sanitize/fixed_map.h"

namespace wavetap::sanitize::session_test {
namespace {

using emu::TestKernel;

class NoMemory final : public MemoryMap {
 public:
  uint64_t epoch() const noexcept override { return 1; }
  void list(std::vector<Block>&) const noexcept override {}
  Neighbour neighbour(GpuAddr) const noexcept override { return {}; }
};

TEST(Session, ChecksOneDispatchAfterAnother) {
  TestKernel kernel({}, "v_mov_b32 v1, 0\nds_write_b32 v1, v0\ns_endpgm\n");
  kernel.set_size(64, 64);
  const NoMemory map;
  emu::Engine engine({.threads = 1});
  Session session({.tools = *ToolSet::parse("memcheck")});
  for (const uint32_t lds_bytes : {0u, 4u, 2u}) {
    kernel.dispatch.group_segment_bytes = lds_bytes;
    session.begin(map);
    kernel.dispatch.watchers = session.watchers();
    engine.run(kernel.dispatch);
    const SessionFindings found = session.take();
    EXPECT_EQ(found.findings.size(), lds_bytes == 4 ? 0u : 1u) << lds_bytes;
    EXPECT_EQ(found.dropped, 0u);
  }
}

TEST(FindingTable, FoldsByBothPlacesAndKindAndKeepsTheWorstSeverity) {
  FindingTable table;
  Finding finding;
  finding.place.lanes = 3;
  table.add(finding);
  table.add(finding);
  finding.severity = Severity::kError;
  table.add(finding);
  finding.has_other = true;
  finding.other.pc = {8};
  table.add(finding);
  uint64_t dropped = 0;
  const std::vector<Finding> all = table.take(&dropped);
  ASSERT_EQ(all.size(), 2u);
  const auto folded =
      std::find_if(all.begin(), all.end(), [](const Finding& one) { return !one.has_other; });
  EXPECT_EQ(folded->severity, Severity::kError);
  EXPECT_EQ(folded->times, 3u);
  EXPECT_EQ(folded->lane_count, 6u);
}

TEST(FindingLine, HasBothPlaces) {
  Finding finding;
  finding.kind = Kind::kNoAccess;
  finding.place.pc = {0x10};
  finding.place.lanes = 2;
  finding.detail = "why";
  finding.has_other = true;
  finding.other.pc = {0x20};
  finding.other_role = "against";
  std::string line = "{";
  const Naming naming{
      [](GpuAddr pc) {
        return CodePlace{pc.value == 0x10 ? "first" : "second", pc.value - 0x10, {}};
      },
      {}};
  append_finding(line, finding, naming);
  EXPECT_EQ(
      line,
      "{\"tool\":\"memcheck\",\"severity\":\"warning\",\"kind\":\"no-access\",\"pc\":\"0x10\","
      "\"offset\":0,\"instruction\":\"first\",\"workgroup\":[0,0,0],\"thread\":[0,0,0],"
      "\"wave\":0,\"lanes\":\"0x2\",\"detail\":\"why\",\"other\":{\"role\":\"against\","
      "\"pc\":\"0x20\",\"offset\":16,\"instruction\":\"second\",\"workgroup\":[0,0,0],"
      "\"wave\":0},");
}

TEST(FindingLine, NamesTheArgumentThatLeadsThere) {
  Finding finding;
  finding.place.has_access = true;
  finding.place.lanes = 1;
  finding.address = 0x2040;
  const Block block{0x1000, 0x2000, true};
  const FixedMap map({{block, "VRAM"}});
  finding.neighbour = map.neighbour({finding.address});
  EXPECT_EQ(finding.neighbour.relation, Relation::kPast);
  EXPECT_EQ(finding.neighbour.distance, 0x40u);
  Naming naming{[](GpuAddr) { return CodePlace{}; }, {{0, "far", 0x9000}, {1, "", 0x1000}}};
  const auto line_of = [&] {
    std::string line;
    append_finding(line, finding, naming);
    return line;
  };
  EXPECT_NE(line_of().find("\"argument\":{\"number\":1},"), std::string::npos) << line_of();
  naming.pointers.push_back({2, "half", 0x1800});
  EXPECT_NE(line_of().find("\"argument\":{\"number\":2,\"name\":\"half\"},"), std::string::npos);
  finding.address = 0x1400;
  EXPECT_NE(line_of().find("\"argument\":{\"number\":1},"), std::string::npos);
}

TEST(FixedMap, FindsTheNearestBlock) {
  const FixedMap map({{{0x1000, 0x1100, true}, "a"}, {{0x3000, 0x3100, true}, "b"}});
  EXPECT_EQ(map.neighbour({0x1080}).relation, Relation::kInside);
  EXPECT_STREQ(map.neighbour({0x1100}).memory, "a");
  EXPECT_EQ(map.neighbour({0x2fff}).relation, Relation::kBefore);
  EXPECT_EQ(map.neighbour({0x2fff}).distance, 1u);
  EXPECT_EQ(map.neighbour({0x10}).relation, Relation::kBefore);
  EXPECT_EQ(map.neighbour({0x9000}).relation, Relation::kPast);
  EXPECT_EQ(FixedMap({}).neighbour({0}).relation, Relation::kNone);
}

}  // namespace
}  // namespace wavetap::sanitize::session_test
