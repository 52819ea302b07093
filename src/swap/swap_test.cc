#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <string>

#include "base/sys_files.h"
#include "swap/index.h"
#include "swap/index_cache.h"
#include "swap/legality.h"
#include "swap/manifest.h"
#include "swap/table.h"
#include "swap/whole.h"

namespace wavetap::swap {
namespace {

KernelInfo kernel() {
  KernelInfo info;
  info.name = "_Z5scalePfi";
  info.target = {9, 0, 10};
  info.target_id = "gfx90a:sramecc+:xnack-";
  info.has_metadata = true;
  info.arguments = {{"global_buffer", 0, 8}, {"by_value", 8, 4}, {"hidden_block_count_x", 16, 4}};
  info.kernarg_bytes = 20;
  info.wave_size = 64;
  info.max_workgroup = 1024;
  info.hash = 77;
  return info;
}

TEST(Legality, AcceptsAnotherBuildOfTheKernel) {
  KernelInfo other = kernel();
  other.hash = 78;
  other.lds_bytes = 4096;
  other.arguments.pop_back();  // fewer hidden ones
  other.target_id = "gfx90a";  // runs either way
  EXPECT_TRUE(check(kernel(), other).is_legal());
}

TEST(Legality, NamesTheFirstRuleThatDoesNotHold) {
  const auto reason = [](auto change, uint8_t allowed = 0) {
    KernelInfo original = kernel(), other = kernel();
    change(original, other);
    const Verdict verdict = check(original, other, allowed);
    EXPECT_EQ(verdict.why.empty(), verdict.is_legal());
    return verdict.reason;
  };
  EXPECT_EQ(reason([](auto&, auto& o) { o.target = {10, 3, 0}; }), Reason::kTarget);
  EXPECT_EQ(reason([](auto&, auto& o) { o.target_id = "gfx90a:sramecc+:xnack+"; }),
            Reason::kFeatures);
  EXPECT_EQ(reason([](auto&, auto& o) { o.target_id = "gfx90a:sramecc-"; }), Reason::kFeatures);
  EXPECT_EQ(reason([](auto&, auto& o) { o.wave_size = 32; }), Reason::kWaveSize);
  EXPECT_EQ(reason([](auto&, auto& o) { o.wave_size = 32; }, kAllowOtherWaveSize), Reason::kNone);
  EXPECT_EQ(reason([](auto&, auto& o) { o.has_metadata = false; }), Reason::kNoMetadata);
  EXPECT_EQ(reason([](auto& k, auto&) { k.has_metadata = false; }), Reason::kNoMetadata);
  EXPECT_EQ(reason([](auto&, auto& o) { o.arguments[1].bytes = 8; }), Reason::kArguments);
  EXPECT_EQ(reason([](auto&, auto& o) { o.arguments[1].offset = 12; }), Reason::kArguments);
  EXPECT_EQ(reason([](auto&, auto& o) { o.arguments[0].kind = "by_value"; }), Reason::kArguments);
  EXPECT_EQ(reason([](auto&, auto& o) { o.arguments.erase(o.arguments.begin() + 1); }),
            Reason::kArguments);
  EXPECT_EQ(reason([](auto&, auto& o) {
              o.arguments.push_back({"hidden_heap_v1", 96, 8});
            }),
            Reason::kHidden);
  EXPECT_EQ(reason([](auto&, auto& o) { o.arguments[2].offset = 20; }), Reason::kHidden);
  EXPECT_EQ(reason([](auto&, auto& o) { o.uses_dynamic_stack = true; }), Reason::kStack);
  const auto share = [](auto& k, auto& o) { k.object_variables = o.variables = {"counter"}; };
  EXPECT_EQ(reason(share), Reason::kVariables);
  EXPECT_EQ(reason(share, kAllowOwnVariables), Reason::kNone);
  EXPECT_EQ(reason([](auto&, auto& o) { o.variables = {"its own"}; }), Reason::kNone);
  EXPECT_EQ(check(kernel(), kernel(), 0, 78).reason, Reason::kHash);
  EXPECT_TRUE(check(kernel(), kernel(), 0, 77).is_legal());
}

TEST(Legality, KeepsWhatALaunchAsksForOnTop) {
  KernelInfo original = kernel(), other = kernel();
  original.lds_bytes = 512;
  other.lds_bytes = 2048;
  other.scratch_bytes = 64;
  other.max_workgroup = 256;
  const LaunchRules rules = launch_rules(original, other, 65536);
  EXPECT_EQ(lds_for(rules, 512 + 100), 2148u);
  EXPECT_EQ(lds_for(rules, 0), 2048u);
  EXPECT_EQ(scratch_for(rules, 0), 64u);
  EXPECT_EQ(check_launch(rules, {256, 1, 1}, 512), Reason::kNone);
  EXPECT_EQ(check_launch(rules, {16, 17, 1}, 512), Reason::kWorkgroup);
  EXPECT_EQ(check_launch(rules, {64, 1, 1}, 65536), Reason::kLds);
  LaunchRules fixed = rules;
  fixed.required_workgroup[0] = 64, fixed.required_workgroup[1] = fixed.required_workgroup[2] = 1;
  EXPECT_EQ(check_launch(fixed, {64, 1, 1}, 0), Reason::kNone);
  EXPECT_EQ(check_launch(fixed, {32, 2, 1}, 0), Reason::kWorkgroup);
  EXPECT_NE(describe_launch(fixed, {32, 2, 1}, 0).find("64,1,1"), std::string::npos);
}

// A code object of two kernels and two variables.
struct Object {
  std::vector<KernelInfo> kernels{kernel(), kernel()};
  std::vector<Variable> variables{{"counter", 4}, {"table", 16}};
  Object() {
    kernels[1].name = "other";
    for (KernelInfo& one : kernels) {
      one.kernarg_align = 8;
      one.lds_bytes = 512;
      one.scratch_bytes = 64;
      one.object_variables = one.variables = {"counter", "table"};
    }
  }
  ObjectView view() const { return {kernels, variables}; }
};

// Every kernel of it offered as a whole.
Table offering(const Object& object, uint64_t hash = 0) {
  std::vector<Candidate> candidates;
  for (const KernelInfo& one : object.kernels)
    candidates.push_back({.pattern = one.name,
                          .kernel = one.name,
                          .target_id = one.target_id,
                          .original_hash = hash,
                          .allowed = kOfferWhole,
                          .path = "/new.hsaco"});
  return Table(std::move(candidates));
}

Reason whole_reason(auto change, uint64_t hash = 0) {
  Object original, other;
  change(original, other);
  const Table table = offering(other, hash);
  const std::vector<const Candidate*> offers = whole_offers(table, original.kernels);
  EXPECT_EQ(offers.size(), 1u);
  const Verdict verdict = check_whole(table, *offers.at(0), original.view(), other.view());
  EXPECT_EQ(verdict.why.empty(), verdict.is_legal());
  return verdict.reason;
}

TEST(Whole, AcceptsAnotherBuildWithTheSameVariables) {
  EXPECT_EQ(whole_reason([](auto&, auto&) {}), Reason::kNone);
  EXPECT_EQ(whole_reason([](auto&, auto& o) {
              o.kernels.push_back(kernel());
              o.kernels.back().name = "new";
              o.variables.push_back({"zero", 4});  // of its own
              o.kernels[0].lds_bytes = o.kernels[0].scratch_bytes = 0;
              o.kernels[0].hash = 1;
            }),
            Reason::kNone);
  EXPECT_EQ(whole_reason([](auto&, auto&) {}, 77), Reason::kNone);
}

TEST(Whole, NamesTheFirstRuleThatDoesNotHold) {
  EXPECT_EQ(whole_reason([](auto&, auto& o) { o.kernels.pop_back(); }), Reason::kKernels);
  EXPECT_EQ(whole_reason([](auto&, auto& o) { o.kernels[1].arguments[1].bytes = 8; }),
            Reason::kArguments);
  EXPECT_EQ(whole_reason([](auto&, auto& o) { o.kernels[1].kernarg_bytes = 28; }),
            Reason::kArguments);
  EXPECT_EQ(whole_reason([](auto&, auto& o) { o.kernels[1].kernarg_align = 16; }),
            Reason::kArguments);
  EXPECT_EQ(whole_reason([](auto&, auto& o) { o.kernels[1].lds_bytes = 513; }), Reason::kLds);
  EXPECT_EQ(whole_reason([](auto&, auto& o) { o.kernels[1].scratch_bytes = 65; }),
            Reason::kScratch);
  EXPECT_EQ(whole_reason([](auto&, auto& o) { o.kernels[1].max_workgroup = 256; }),
            Reason::kWorkgroup);
  EXPECT_EQ(whole_reason([](auto& k, auto&) { k.kernels[1].max_workgroup = 0; }),
            Reason::kWorkgroup);
  EXPECT_EQ(whole_reason([](auto&, auto& o) { o.kernels[1].required_workgroup[0] = 64; }),
            Reason::kWorkgroup);
  EXPECT_EQ(whole_reason([](auto&, auto& o) { o.kernels[1].wave_size = 32; }), Reason::kWaveSize);
  EXPECT_EQ(whole_reason([](auto&, auto& o) { o.kernels[1].uses_dynamic_stack = true; }),
            Reason::kStack);
  EXPECT_EQ(whole_reason([](auto&, auto& o) { o.variables.pop_back(); }), Reason::kVariables);
  EXPECT_EQ(whole_reason([](auto&, auto& o) { o.variables[1].bytes = 32; }), Reason::kVariables);
  EXPECT_EQ(whole_reason([](auto&, auto&) {}, 78), Reason::kHash);
}

TEST(Whole, IsOfferedByTheLinesThatSaySo) {
  const Object object;
  Table table = offering(object);
  EXPECT_EQ(whole_offers(table, object.kernels).size(), 1u);  // once, and not once a kernel
  std::vector<Candidate> candidates = table.candidates();
  candidates[0].offset = 4096;  // another code object of the file
  EXPECT_EQ(whole_offers(Table(candidates), object.kernels).size(), 2u);
  for (Candidate& one : candidates) one.allowed = 0;
  EXPECT_TRUE(whole_offers(Table(candidates), object.kernels).empty());
}

TEST(Legality, RefusesToPrintWithTextsThatTheRuntimeDoesNotKnow) {
  KernelInfo original = kernel(), other = kernel();
  for (KernelInfo* one : {&original, &other})
    one->arguments.push_back({"hidden_printf_buffer", 24, 8});
  EXPECT_TRUE(check(original, other).is_legal());  // the same code
  other.hash = 78;
  EXPECT_EQ(check(original, other).reason, Reason::kHidden);
}

TEST(Table, MatchesNamesAndPatterns) {
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("a*b*c", "axxbyyc"));
  EXPECT_FALSE(matches("a*b*c", "axxbyycd"));
  EXPECT_TRUE(matches("?b*", "ab"));
  EXPECT_FALSE(matches("", "a"));
  EXPECT_TRUE(matches_kernel("scale", "_Z5scalePfi"));
  EXPECT_TRUE(matches_kernel("scale(float*, *)", "_Z5scalePfi"));
  EXPECT_TRUE(matches_kernel("_Z5*", "_Z5scalePfi"));
  EXPECT_FALSE(matches_kernel("cal", "_Z5scalePfi"));
}

TEST(Table, SurvivesItsFile) {
  std::vector<Candidate> candidates(3);
  candidates[0] = {.pattern = "b", .kernel = "b", .target_id = "gfx90a", .path = "/a b%\n/x.hsaco"};
  candidates[1] = {.is_exact = false,
                   .pattern = "*",
                   .kernel = "any",
                   .target_id = "gfx1030",
                   .offset = 4096,
                   .bytes = 10,
                   .original_hash = ~uint64_t{0},
                   .allowed = 3,
                   .file_time_ns = 5,
                   .file_bytes = 6,
                   .path = "/y"};
  candidates[2] = {.pattern = "a", .kernel = "a", .target_id = "gfx90a", .path = "/z"};
  const Result<Table> table = Table::parse(Table(candidates, {.watch = true}).text());
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_TRUE(table->watches());
  ASSERT_EQ(table->find("b").size(), 2u);
  EXPECT_EQ(table->find("b")[0]->path, "/a b%\n/x.hsaco");
  EXPECT_EQ(table->find("b")[1]->original_hash, ~uint64_t{0});
  EXPECT_EQ(table->find("c").size(), 1u);
  EXPECT_TRUE(table->find("__amd_rocclr_fillBuffer").empty());
}

TEST(Table, RefusesWhatIsNotOne) {
  const std::string good =
      Table({{.pattern = "a", .kernel = "a", .target_id = "gfx90a", .path = "/z"}}).text();
  ASSERT_TRUE(Table::parse(good).ok());
  for (size_t cut = 1; cut < good.size(); ++cut)
    EXPECT_TRUE(!Table::parse(good.substr(0, cut)).ok() ||
                Table::parse(good.substr(0, cut))->empty())
        << cut;
  EXPECT_FALSE(Table::parse("wavetap-swap 2\n").ok());
  EXPECT_FALSE(Table::parse("wavetap-swap 1\nexact a a gfx90a 0 x 0 0 0 0 /z\n").ok());
}

TEST(Manifest, ReadsRules) {
  const Result<std::vector<Rule>> rules = parse_manifest(
      "# first\nscale new.hsaco\n\n\"f(int, int)\" /abs.co kernel=g hash=ff variables=own wave-size=any # why\r\n",
      "/here");
  ASSERT_TRUE(rules.ok()) << rules.error().message;
  ASSERT_EQ(rules->size(), 2u);
  EXPECT_EQ((*rules)[0].path, "/here/new.hsaco");
  EXPECT_EQ((*rules)[1].pattern, "f(int, int)");
  EXPECT_EQ((*rules)[1].path, "/abs.co");
  EXPECT_EQ((*rules)[1].kernel, "g");
  EXPECT_EQ((*rules)[1].original_hash, 255u);
  EXPECT_EQ((*rules)[1].allowed, kAllowOwnVariables | kAllowOtherWaveSize);
  EXPECT_EQ(parse_manifest("a b object=whole\n", "/")->at(0).allowed, kOfferWhole | kOnlyWhole);
}

TEST(Manifest, NamesTheLineThatIsWrong) {
  for (const char* text :
       {"scale\n", "\"scale x\n", "a b c\n", "a b hash=\n", "a b hash=xyz\n", "\"\" b\n",
        "a b object=\n", "a b object=whole kernel=c\n", "a b variables=own object=whole\n"}) {
    const Result<std::vector<Rule>> rules = parse_manifest(std::string("\n") + text, "/");
    ASSERT_FALSE(rules.ok()) << text;
    EXPECT_TRUE(rules.error().message.starts_with("line 2: ")) << rules.error().message;
  }
}

TEST(IndexCache, SurvivesItsFileAndNoDamage) {
  IndexedFile file{.path = "/a b", .time_ns = 5, .bytes = 6, .objects = {}, .problems = {"x: y"}};
  file.objects.push_back({.offset = 1,
                          .bytes = 2,
                          .number = 3,
                          .is_compressed = true,
                          .kernels = {kernel()},
                          .variables = {}});
  file.objects[0].kernels[0].variables = {"counter"};
  file.objects[0].variables = {{"counter", 4}, {"a b", 8}};
  const std::string text =
      write_cache({file, {.path = "/c", .time_ns = -5, .objects = {}, .problems = {}}});
  const std::vector<IndexedFile> read = read_cache(text);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[1].time_ns, -5);  // older than 1970
  EXPECT_EQ(read[0].path, "/a b");
  EXPECT_EQ(read[0].problems, file.problems);
  ASSERT_EQ(read[0].objects.size(), 1u);
  const KernelInfo& again = read[0].objects[0].kernels[0];
  EXPECT_EQ(again.arguments, kernel().arguments);
  EXPECT_EQ(again.target, kernel().target);
  EXPECT_EQ(again.variables, std::vector<std::string>{"counter"});
  EXPECT_EQ(again.hash, 77u);
  EXPECT_EQ(read[0].objects[0].variables, file.objects[0].variables);
  for (size_t at = 0; at < text.size(); at += 3) {
    std::string bad = text;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    EXPECT_TRUE(read_cache(bad).empty()) << at;
    EXPECT_TRUE(read_cache(text.substr(0, at)).empty()) << at;
  }
}

#ifdef WT_TEST_CODE_OBJECT
TEST(Index, ReadsAFolderOnce) {
  char folder[] = "/tmp/wt-swap-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string base = folder;
  const std::optional<std::string> code = wavetap::sys::read_file(WT_TEST_CODE_OBJECT, SIZE_MAX);
  ASSERT_TRUE(code && !code->empty());
  wavetap::sys::write_file(base + "/kernels/a.hsaco", *code);
  wavetap::sys::write_file(base + "/kernels/deep/b.co", *code);
  wavetap::sys::write_file(base + "/kernels/bad.hsaco", "text");
  wavetap::sys::write_file(base + "/kernels/notes.txt", "text");
  const std::string cache = base + "/cache";
  Result<Index> index = make_index(base + "/kernels/", cache);
  ASSERT_TRUE(index.ok()) << index.error().message;
  EXPECT_EQ(index->read, 3u);
  EXPECT_EQ(index->problems.size(), 1u);
  const size_t kernels = index->kernel_count();
  EXPECT_GT(kernels, 0u);
  EXPECT_EQ(candidates_of(*index, "").size(), kernels);
  index = make_index(base + "/kernels", cache);
  EXPECT_EQ(index->read, 0u);
  EXPECT_EQ(index->kernel_count(), kernels);
  wavetap::sys::write_file(base + "/kernels/a.hsaco", *code + "more");
  EXPECT_EQ(make_index(base + "/kernels", cache)->read, 1u);
  wavetap::sys::write_file(cache, "wavetap-swap-index 2\n");
  EXPECT_EQ(make_index(base + "/kernels", cache)->read, 3u);
  EXPECT_FALSE(make_index(base + "/none", cache).ok());
  wavetap::sys::remove_tree(base);
}

TEST(Index, SaysWhatOfAFolderItCannotLookAt) {
  char folder[] = "/tmp/wt-swap-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string base = folder;
  const std::optional<std::string> code = wavetap::sys::read_file(WT_TEST_CODE_OBJECT, SIZE_MAX);
  wavetap::sys::write_file(base + "/kernels/a.hsaco", *code);
  wavetap::sys::write_file(base + "/kernels/b.hsaco", *code);
  ASSERT_EQ(::symlink("/no/such/file", (base + "/kernels/gone.hsaco").c_str()), 0);
  ASSERT_EQ(::symlink("itself", (base + "/kernels/itself").c_str()), 0);
  ASSERT_EQ(::symlink("..", (base + "/kernels/back").c_str()), 0);
  std::string deep = base + "/kernels";
  for (int i = 0; i < 20; ++i) deep += "/d";
  wavetap::sys::write_file(deep + "/c.hsaco", *code);
  Result<Index> index = make_index(base + "/kernels", "");
  ASSERT_TRUE(index.ok()) << index.error().message;
  std::sort(index->problems.begin(), index->problems.end());
  ASSERT_EQ(index->problems.size(), 3u);
  EXPECT_TRUE(index->problems[0].ends_with("/d: is too deep and is not searched"));
  EXPECT_EQ(index->problems[1],
            base + "/kernels/gone.hsaco: leads nowhere; remove the link, or mend it");
  EXPECT_EQ(index->problems[2],
            base + "/kernels/itself: leads nowhere; remove the link, or mend it");
  EXPECT_EQ(index->files.size(), 2u);  // not again by way of `back`
  wavetap::sys::remove_tree(base);
}
#endif

}  // namespace
}  // namespace wavetap::swap
