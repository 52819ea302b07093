#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "doctor/active_trials.h"
#include "doctor/child.h"
#include "doctor/finding.h"
#include "doctor/fix.h"
#include "doctor/isa_families.h"
#include "doctor/machine.h"
#include "doctor/rocm_environment.h"
#include "doctor/root.h"

namespace wavetap::doctor {
namespace {

namespace fs = std::filesystem;

amd::GfxTarget target(const char* name) { return *amd::parse_gfx_target(name); }

TEST(Override, KnowsWhichChipRunsWhichCode) {
  EXPECT_EQ(judge_override(target("gfx1030"), target("gfx1030")).compatibility,
            Compatibility::kSame);
  for (const char* chip : {"gfx1031", "gfx1032", "gfx1034", "gfx1035", "gfx1036"}) {
    EXPECT_EQ(judge_override(target(chip), target("gfx1030")).compatibility, Compatibility::kSafe)
        << chip;
  }
  for (const char* chip : {"gfx1101", "gfx1102", "gfx1103"}) {
    EXPECT_EQ(judge_override(target(chip), target("gfx1100")).compatibility, Compatibility::kSafe)
        << chip;
  }
  EXPECT_EQ(judge_override(target("gfx90c"), target("gfx900")).compatibility,
            Compatibility::kPartial);
  const OverrideVerdict unsafe = judge_override(target("gfx1010"), target("gfx1030"));
  EXPECT_EQ(unsafe.compatibility, Compatibility::kUnsafe);
  EXPECT_NE(unsafe.symptom.find("0x29"), std::string::npos);
  EXPECT_EQ(judge_override(target("gfx1012"), target("gfx1030")).instead, "10.1.0");
  EXPECT_EQ(judge_override(target("gfx1100"), target("gfx1030")).compatibility,
            Compatibility::kUnsafe);
  EXPECT_EQ(judge_override(target("gfx906"), target("gfx908")).compatibility,
            Compatibility::kUnsafe);
}

TEST(Override, IsReadAsTheThunkReadsIt) {
  EXPECT_EQ(parse_override("10.3.0"), target("gfx1030"));
  EXPECT_EQ(parse_override("9.0.10"), target("gfx90a"));
  for (const char* text :
       {"", "10", "10.3", "10.3.x", "10.3.0 ", "gfx1030", "-1.0.0", "0.0.0", "99.0.0"}) {
    EXPECT_FALSE(parse_override(text)) << text;
  }
}

TEST(Variables, AreFoundByNameAndFamily) {
  EXPECT_EQ(find_variable_fact("HSA_ENABLE_SDMA")->kind, VariableKind::kKnown);
  EXPECT_EQ(find_variable_fact("HIP_FORCE_COARSE_GRAIN")->kind, VariableKind::kInert);
  EXPECT_EQ(find_variable_fact("MIOPEN_DEBUG_CONV_FFT")->kind, VariableKind::kDebug);
  EXPECT_EQ(find_variable_fact("HSA_OVERRIDE_GFX_VERSION_2")->kind, VariableKind::kDangerous);
  EXPECT_EQ(find_variable_fact("HSA_ENABEL_SDMA"), nullptr);
  EXPECT_EQ(nearest_variable("HSA_ENABEL_SDMA"), "HSA_ENABLE_SDMA");
  EXPECT_FALSE(concerns_rocm("PATH"));
}

// What the doctor says of libraries that variables inject: the evidence of each note.
std::vector<std::string> injected(std::vector<Variable> variables) {
  Machine machine;
  machine.environment = {true, std::move(variables), {}};
  Findings findings;
  check_environment(machine, findings);
  std::vector<std::string> values;
  for (const Finding& finding : findings.all())
    if (finding.id == "environment.injected") values.push_back(finding.evidence[0].value);
  return values;
}

TEST(Variables, OursAreNotedOnceUnderRun) {
  const std::string gpu = "/x/lib/libwavetap_gpu.so", agent = "/x/lib/libwavetap.so";
  const Variable preload = {"LD_PRELOAD", gpu + ":" + agent};
  const std::string noted = "LD_PRELOAD=" + preload.value;
  EXPECT_EQ(injected({{"HSA_TOOLS_LIB", gpu}, preload}), std::vector{noted});
  EXPECT_EQ(injected({{"HSA_TOOLS_LIB", gpu + " " + agent}, preload}), std::vector{noted});
  EXPECT_EQ(injected({{"HSA_TOOLS_LIB", gpu + " other.so " + agent}, preload}),
            (std::vector<std::string>{"HSA_TOOLS_LIB=other.so", noted}));
  // Named by the user: nothing else tells of it.
  EXPECT_EQ(injected({{"HSA_TOOLS_LIB", agent}}), std::vector{"HSA_TOOLS_LIB=" + agent});
  EXPECT_EQ(injected({{"HSA_TOOLS_LIB", agent}, {"LD_PRELOAD", "libm.so.6"}}),
            (std::vector<std::string>{"HSA_TOOLS_LIB=" + agent, "LD_PRELOAD=libm.so.6"}));
}

class TreeTest : public testing::Test {
 protected:
  TreeTest() {
    char name[] = "/tmp/wavetap-doctor-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~TreeTest() override { fs::remove_all(folder_); }
  std::string folder_;
};

TEST_F(TreeTest, LinksStayInsideTheTree) {
  fs::create_directories(folder_ + "/etc");
  fs::create_directories(folder_ + "/deep/er");
  std::ofstream(folder_ + "/etc/inside") << "inside\n";
  fs::create_symlink("/etc/inside", folder_ + "/deep/absolute");
  fs::create_symlink("../../../../../../etc/inside", folder_ + "/deep/er/upwards");
  fs::create_symlink("loop", folder_ + "/loop");
  fs::create_symlink("/etc/passwd", folder_ + "/outside");
  const Root root(folder_);
  EXPECT_EQ(root.line("/deep/absolute"), "inside");
  EXPECT_EQ(root.line("/deep/er/upwards"), "inside");
  EXPECT_EQ(root.line("/loop"), std::nullopt);
  EXPECT_EQ(root.line("/outside"), std::nullopt) << "the host's file was read";
  EXPECT_EQ(root.real("/deep/absolute"), "/etc/inside");
}

TEST_F(TreeTest, StatedOwnersCount) {
  std::ofstream(folder_ + "/kfd") << "";
  std::ofstream(folder_ + "/.wavetap-sysroot") << "/kfd c 0660 0 109\n";
  const Root root(folder_);
  ASSERT_TRUE(root.info("/kfd"));
  EXPECT_EQ(root.info("/kfd")->type, 'c');
  EXPECT_EQ(root.info("/kfd")->mode, 0660u);
  EXPECT_EQ(root.info("/kfd")->gid, 109u);
}

TEST_F(TreeTest, MissingToolsAreFoundOneByOne) {
  std::ofstream(folder_ + "/here.so") << "";
  Machine machine;
  machine.root = Root(folder_);
  machine.environment = {true, {{"HSA_TOOLS_LIB", "/here.so /gone.so"}}, {}};
  Findings findings;
  check_environment(machine, findings);
  ASSERT_TRUE(findings.has(Verdict::kWarning, "environment.missing-tool"));
  EXPECT_EQ(findings.all().back().summary, "HSA_TOOLS_LIB names /gone.so, which does not exist");
}

TEST_F(TreeTest, PipesAreNotWaitedFor) {
  ASSERT_EQ(mkfifo((folder_ + "/pipe").c_str(), 0600), 0);
  EXPECT_FALSE(Root(folder_).read("/pipe").ok());
}

TEST(Child, IsKilledAtItsDeadline) {
  ChildOptions options;
  options.arguments = {"/bin/sh", "-c", "echo begun; sleep 100"};
  options.limit = std::chrono::milliseconds(300);
  const Result<ChildResult> child = run_child(options);
  ASSERT_TRUE(child.ok());
  EXPECT_TRUE(child->timed_out);
  EXPECT_EQ(child->output, "begun\n");
}

TEST(Child, GetsTheChangedEnvironment) {
  ::setenv("WT_TEST_GONE", "1", 1);
  ChildOptions options;
  options.arguments = {"/bin/sh", "-c", "echo \"$WT_TEST_GONE|$WT_TEST_NEW\" >&2; exit 3"};
  options.set = {{"WT_TEST_NEW", "$(id) 'x'"}};
  options.unset = {"WT_TEST_GONE"};
  const Result<ChildResult> child = run_child(options);
  ASSERT_TRUE(child.ok());
  EXPECT_EQ(child->exit_status, 3);
  EXPECT_EQ(child->errors, "|$(id) 'x'\n");
}

TEST(Death, IsDecodedFromTheRuntimesWords) {
  ChildResult child;
  child.signal = SIGABRT;
  child.errors =
      ":0:rocdevice.cpp: Device::callbackQueue aborting with error : "
      "HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION: The agent attempted "
      "to access memory beyond the largest legal address. code: 0x29\n";
  EXPECT_NE(decode_death(child).find("aperture violation (0x29)"), std::string::npos);
  child.errors =
      "Memory access fault by GPU node-1 (Agent handle: 0x1) on address 0x7f00. Reason: Page not "
      "present.\n";
  EXPECT_NE(decode_death(child).find("page fault"), std::string::npos);
  EXPECT_NE(decode_death(child).find("0x7f00"), std::string::npos);
  child.errors = "";
  EXPECT_NE(decode_death(child).find("signal 6"), std::string::npos);
}

TEST(Fix, TakesTheFirstRemedyOfAVariableAndQuotesValues) {
  Findings findings;
  findings.warning("later", "").set("A", "2").set("B", "it's $(here)");
  findings.error("first", "").unset("A");
  findings.note("never", "").set("C", "1");
  findings.error("hostile", "").unset("X; rm -rf /");
  const std::vector<EnvironmentChange> changes = safe_changes(findings);
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_TRUE(changes[0].is_unset);
  const std::string script = fix_script(changes);
  EXPECT_NE(script.find("unset A"), std::string::npos);
  EXPECT_NE(script.find("export B='it'\\''s $(here)'"), std::string::npos);
}

}  // namespace
}  // namespace wavetap::doctor
