// What is decoded, how much of it, and how long it is kept.
#include "emu/code_cache.h"

#include <gtest/gtest.h>

#include <mutex>
#include <string>

#include "emu/testing/assembler.h"
#include "emu/testing/machine.h"
#include "emu/testing/targets.h"
#include "emu/testing/wanting_threads.h"
#include "emu/watch.h"

namespace wavetap::emu {
namespace {

constexpr uint64_t kCode = 0x200000;
constexpr size_t kCodeBytes = 1 << 20;

// Executable memory with assembled functions in it, and a cache to decode them.
class CodeCacheTest : public testing::Test {
 protected:
  CodeCacheTest() { memory_.map(kCode, kCodeBytes, /*writable=*/true, /*executable=*/true); }

  CodeCache::Key key(amd::GfxTarget target = kGfx1030) {
    return {.memory = &memory_,
            .target = target,
            .wave64 = !target.has_wave32(),
            .lowering = {.registers = {64, 0}}};
  }
  // Puts code at `at`; returns the address behind it.
  uint64_t put(uint64_t at, const std::string& text, amd::GfxTarget target = kGfx1030) {
    const std::vector<std::byte> code = assemble(text, target, !target.has_wave32());
    EXPECT_FALSE(code.empty()) << text;
    const MappedRange range = memory_.lookup({at});
    std::memcpy(range.host + (at - range.begin), code.data(), code.size());
    return at + code.size();
  }
  int32_t decoded_at(uint64_t pc, amd::GfxTarget target = kGfx1030) {
    const CodeCache::Found found = cache_.find(key(target), {pc}, ++serial_);
    return found.code == nullptr ? -1 : found.code->program().size();
  }

  TestMemory memory_;
  CodeCache cache_{nullptr, size_t{512} << 20};
  uint64_t serial_ = 0;
};

TEST_F(CodeCacheTest, StopsAtTheEndOfAFunctionThatHasAClause) {
  put(kCode, "s_clause 0x1\ns_nop 0\ns_nop 0\ns_endpgm\ns_nop 1\ns_nop 2\ns_endpgm");
  EXPECT_EQ(decoded_at(kCode), 4);
}

TEST_F(CodeCacheTest, FollowsForwardBranchesOverTheFirstEnd) {
  for (const amd::GfxTarget target : {kGfx90a, kGfx1030, kGfx1100}) {
    put(kCode, "s_cbranch_scc0 over\ns_endpgm\nover:\ns_nop 0\ns_endpgm\ns_nop 1\ns_endpgm",
        target);
    cache_.invalidate({kCode}, 64);
    EXPECT_EQ(decoded_at(kCode, target), 4) << amd::to_string(target);
  }
}

// Every operation that is no jump, on every target: the function ends where it ends.
TEST_F(CodeCacheTest, TakesOnlyJumpsForJumps) {
  for (uint16_t i = 1; i < static_cast<uint16_t>(isa::Op::kCount); ++i) {
    const auto op = static_cast<isa::Op>(i);
    const std::string name = isa::op_name(op);
    const bool says_jump = name.starts_with("s_branch") || name.starts_with("s_cbranch_") ||
                           name == "s_call_b64" || name.starts_with("s_subvector_loop");
    const bool by_register = name == "s_cbranch_g_fork" || name == "s_cbranch_join";
    EXPECT_EQ(isa::is_relative_jump(op), says_jump && !by_register) << name;
  }
}

TEST_F(CodeCacheTest, DecodesNoDataBehindAFunction) {
  const uint64_t end =
      put(kCode, "v_mov_b32 v0, 0\ns_cbranch_vccz 1\ns_nop 0\ns_setpc_b64 s[30:31]");
  for (uint64_t at = end; at < end + 4096; at += 4)
    memory_.write<uint32_t>(at, 0xbf800000);  // s_nop 0, as data may look
  EXPECT_EQ(decoded_at(kCode), 4);
  // What is not decoded is not compared either.
  const size_t bytes = cache_.size_bytes();
  memory_.write<uint32_t>(end, 0x12345678);
  EXPECT_EQ(decoded_at(kCode), 4);
  EXPECT_EQ(cache_.size_bytes(), bytes);
}

TEST_F(CodeCacheTest, ReadsOnUntilALongFunctionEnds) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "v_add_f32 v0, v1, v2\n";  // 12 KB: more than one read
  put(kCode, "s_cbranch_scc1 2999\n" + text + "s_endpgm\ns_nop 0");
  EXPECT_EQ(decoded_at(kCode), 3002);
}

TEST_F(CodeCacheTest, DecodesAsFarAsTheSymbolGoesWhenThatIsKnown) {
  // A jump table leads behind the first end; flow alone does not show that.
  const uint64_t end = put(kCode, "s_setpc_b64 s[0:1]\ns_nop 0\ns_endpgm\ns_nop 1\ns_endpgm");
  put(end, "s_endpgm");
  const CodeCache::Found found = cache_.find(key(), {kCode}, 1, end - kCode);
  ASSERT_NE(found.code, nullptr);
  EXPECT_EQ(found.code->program().size(), 5);
}

TEST_F(CodeCacheTest, StopsAtTheEndOfTheMapping) {
  put(kCode + kCodeBytes - 8, "s_nop 0\ns_nop 1");
  EXPECT_EQ(decoded_at(kCode + kCodeBytes - 8), 2);
}

TEST_F(CodeCacheTest, ReadsOnInTheMappingThatFollows) {
  constexpr uint64_t kNext = kCode + kCodeBytes;
  const uint64_t begin = kNext - 12;
  const std::vector<std::byte> code =
      assemble("s_nop 0\ns_nop 1\ns_mov_b32 s0, 0x12345678\ns_endpgm", kGfx1030, false);
  memory_.map(kNext, 4096, /*writable=*/true, /*executable=*/true);
  for (size_t i = 0; i < code.size(); ++i) {
    const MappedRange range = memory_.lookup({begin + i});
    range.host[begin + i - range.begin] = code[i];
  }
  EXPECT_EQ(decoded_at(begin), 4);
}

TEST_F(CodeCacheTest, DropsWhatWasNotUsedForLongest) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "s_nop 0\n";
  for (uint64_t i = 0; i < 4; ++i) put(kCode + i * 0x1000, text + "s_endpgm");
  const auto code_at = [&](CodeCache& cache, uint64_t i) {
    return cache.find(key(), {kCode + i * 0x1000}, ++serial_).code;
  };
  CodeCache probe(nullptr, size_t{1} << 30);
  code_at(probe, 0);
  const size_t one = probe.size_bytes();
  ASSERT_GT(one, 101 * sizeof(isa::Inst));

  CodeCache cache(nullptr, 3 * one + one / 2);
  const std::shared_ptr<const LoweredCode> first = code_at(cache, 0);
  const std::shared_ptr<const LoweredCode> second = code_at(cache, 1);
  const std::shared_ptr<const LoweredCode> third = code_at(cache, 2);
  EXPECT_EQ(cache.size_bytes(), 3 * one);
  EXPECT_EQ(code_at(cache, 0), first);
  code_at(cache, 3);  // the second goes
  EXPECT_EQ(cache.size_bytes(), 3 * one);
  EXPECT_EQ(code_at(cache, 0), first);
  EXPECT_EQ(code_at(cache, 2), third);
  EXPECT_NE(code_at(cache, 1), second);
}

TEST_F(CodeCacheTest, KeepsAFunctionThatIsLargerThanTheLimit) {
  put(kCode, "s_nop 0\ns_endpgm");
  CodeCache cache(nullptr, 1);
  const auto code = cache.find(key(), {kCode}, 1).code;
  EXPECT_NE(code, nullptr);
  EXPECT_EQ(cache.find(key(), {kCode}, 2).code, code);
}

TEST_F(CodeCacheTest, KeepsAFewVariantsOfAFunction) {
  put(kCode, "s_nop 0\ns_endpgm");
  CodeCache::Key wanted = key();
  for (uint32_t vgprs = 8; vgprs <= 256; vgprs += 8) {
    wanted.lowering.registers.vgprs = vgprs;
    ASSERT_NE(cache_.find(wanted, {kCode}, ++serial_).code, nullptr);
  }
  EXPECT_LT(cache_.size_bytes(), 8192u);
}

TEST_F(CodeCacheTest, DecodesAgainWhatChanged) {
  put(kCode, "s_nop 0\ns_endpgm");
  EXPECT_EQ(decoded_at(kCode), 2);
  put(kCode, "s_nop 0\ns_nop 0\ns_endpgm");
  EXPECT_EQ(decoded_at(kCode), 3);
  cache_.invalidate({kCode + 8}, 4);
  EXPECT_EQ(cache_.size_bytes(), 0u);
}

// Notes what it is asked, slowly.
class Questioned final : public Watcher {
 public:
  struct Question {
    uint64_t program;
    int32_t index;
  };

  Wants wants(const isa::Program& program, int32_t index) noexcept override {
    {
      const std::lock_guard lock(mutex_);
      questions.push_back({program.begin().value, index});
    }
    std::this_thread::yield();
    return {.before = true};
  }

  std::vector<Question> questions;

 private:
  std::mutex mutex_;
};

TEST_F(CodeCacheTest, AsksAWatcherOnceAndInOneGoHoweverManyThreadsWantTheCode) {
  constexpr uint64_t kFunctions = 8;
  constexpr uint64_t kApart = 0x1000;
  std::string text;
  for (int i = 0; i < 19; ++i) text += "s_nop 0\n";
  for (uint64_t i = 0; i < kFunctions; ++i) put(kCode + i * kApart, text + "s_endpgm");
  Questioned watcher;
  Watcher* const watchers[] = {&watcher};
  CodeCache::Key wanted = key();
  wanted.lowering.watchers[0] = watcher.id();
  wanted.watchers = watchers;
  want_code_at_once(cache_, wanted, kCode, kFunctions, kApart);

  ASSERT_EQ(watcher.questions.size(), kFunctions * 20);
  for (size_t i = 0; i < watcher.questions.size(); ++i) {
    ASSERT_EQ(watcher.questions[i].index, static_cast<int32_t>(i % 20)) << i;
    ASSERT_EQ(watcher.questions[i].program, watcher.questions[i / 20 * 20].program) << i;
  }
}

}  // namespace
}  // namespace wavetap::emu
