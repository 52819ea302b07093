// What the checks answer when code is lowered: for the program they are asked about, whichever they were
// asked about before, and from several threads.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>

#include "emu/code_cache.h"
#include "emu/testing/assembler.h"
#include "emu/testing/machine.h"
#include "emu/testing/wanting_threads.h"
#include "sanitize/fpcheck.h"
#include "sanitize/initcheck.h"
#include "sanitize/memcheck.h"
#include "sanitize/racecheck.h"
#include "sanitize/synccheck.h"
#include "sanitize/wait_states.h"
#include "sanitize/waitcheck.h"

namespace wavetap::sanitize::wants_test {
namespace {

constexpr amd::GfxTarget kGfx90a{9, 0, 10};
constexpr uint64_t kCode = 0x200000;

isa::Program program_of(const std::string& text) {
  const std::vector<std::byte> code = emu::assemble(text + "s_endpgm", kGfx90a, /*wave64=*/true);
  EXPECT_FALSE(code.empty()) << text;
  return isa::decode(code, {kCode}, kGfx90a, /*wave64=*/true);
}

std::vector<emu::Wants> ask(emu::Watcher& watcher, const isa::Program& program) {
  std::vector<emu::Wants> answers;
  for (int32_t i = 0; i < program.size(); ++i) answers.push_back(watcher.wants(program, i));
  return answers;
}

// A program that comes to lie in the host memory of one that is gone is another one.
class OneAfterTheOther {
 public:
  std::vector<emu::Wants> ask(emu::Watcher& watcher, const std::string& text) {
    program_.emplace(program_of(text));
    return wants_test::ask(watcher, *program_);
  }

 private:
  std::optional<isa::Program> program_;
};

TEST(Wants, SynccheckLooksForBarriersInEachProgram) {
  const std::string load = "s_nop 0\nglobal_load_dword v1, v[2:3], off\n";
  Synccheck check;
  OneAfterTheOther programs;
  EXPECT_FALSE(programs.ask(check, load)[1].accessing);
  EXPECT_TRUE(programs.ask(check, load + "s_barrier\n")[1].accessing);
  EXPECT_FALSE(programs.ask(check, load)[1].accessing);
}

TEST(Wants, FpcheckLooksForDivisionsInEachProgram) {
  const std::string division =
      "s_nop 0\nv_div_scale_f32 v3, s[4:5], v2, v2, v1\nv_div_scale_f32 v4, vcc, v1, v2, v1\n"
      "v_rcp_f32 v5, v3\nv_fma_f32 v6, -v3, v5, 1.0\nv_fma_f32 v5, v6, v5, v5\n"
      "v_mul_f32 v6, v4, v5\nv_fma_f32 v7, -v3, v6, v4\nv_fma_f32 v6, v7, v5, v6\n"
      "v_fma_f32 v3, -v3, v6, v4\nv_div_fmas_f32 v3, v3, v5, v6\nv_div_fixup_f32 v8, v3, v2, v1\n";
  Fpcheck check;
  OneAfterTheOther programs;
  EXPECT_TRUE(programs.ask(check, "v_add_f32 v1, v2, v3\n")[0].any());
  EXPECT_FALSE(programs.ask(check, division)[3].any());
}

// Waves may still run what was lowered before other code came to lie there.
template <class Check>
void expect_answers_stay(const std::string& one, const std::string& other) {
  Check check;
  const isa::Program first = program_of(one);
  const isa::Program second = program_of(other);
  const emu::Wants was = ask(check, first)[0];
  ASSERT_TRUE(was.any());
  ASSERT_NE(was.tag, 0u);
  EXPECT_NE(ask(check, second)[0].tag, was.tag);
  EXPECT_EQ(ask(check, first)[0].tag, was.tag);
}

TEST(Wants, WhatATagPointsAtStaysAsItWas) {
  expect_answers_stay<Racecheck>("global_load_dword v1, v[2:3], off\n",
                                 "global_atomic_add v1, v[2:3], v4, off glc\n");
  expect_answers_stay<Waitcheck>("global_load_dword v1, v[2:3], off\nv_mov_b32 v4, v1\n",
                                 "global_load_dword v5, v[2:3], off\nv_mov_b32 v4, v5\n");
}

// All checks at once, as the engine asks them; what they answer is what each answers alone.
TEST(Wants, SeveralThreadsLowerCode) {
  constexpr uint64_t kFunctions = 6;
  constexpr uint64_t kApart = 0x1000;
  constexpr size_t kCodeBytes = kFunctions * kApart;
  emu::TestMemory memory;
  memory.map(kCode, kCodeBytes, /*writable=*/true, /*executable=*/true);
  const emu::MappedRange range = memory.lookup({kCode});
  for (uint64_t i = 0; i < kFunctions; ++i) {
    std::string text;
    for (int k = 0; k < 40; ++k)
      text += i % 2 == 0 ? "global_load_dword v1, v[2:3], off\nv_mov_b32 v4, v1\ns_barrier\n"
                         : "v_add_f32 v1, v2, v3\nglobal_atomic_add v1, v[2:3], v4, off glc\n"
                           "s_waitcnt vmcnt(0)\nbuffer_wbinvl1_vol\n";
    const std::vector<std::byte> code = emu::assemble(text + "s_endpgm", kGfx90a, /*wave64=*/true);
    ASSERT_LE(code.size(), kApart);
    std::memcpy(range.host + i * kApart, code.data(), code.size());
  }
  const auto make_all = [] {
    std::vector<std::unique_ptr<Check>> checks;
    checks.push_back(std::make_unique<Fpcheck>());
    checks.push_back(std::make_unique<Initcheck>());
    checks.push_back(std::make_unique<Memcheck>());
    checks.push_back(std::make_unique<Racecheck>());
    checks.push_back(std::make_unique<Synccheck>());
    checks.push_back(std::make_unique<WaitStates>());
    checks.push_back(std::make_unique<Waitcheck>());
    return checks;
  };
  const std::vector<std::unique_ptr<Check>> checks = make_all();
  std::vector<emu::Watcher*> watchers;
  emu::CodeCache::Key key{.memory = &memory, .target = kGfx90a, .lowering = {.registers = {64, 0}}};
  for (const auto& check : checks) {
    key.lowering.watchers[watchers.size()] = check->id();
    watchers.push_back(check.get());
  }
  key.watchers = watchers;
  emu::CodeCache cache(nullptr, size_t{64} << 20);
  emu::want_code_at_once(cache, key, kCode, kFunctions, kApart);

  const std::vector<std::unique_ptr<Check>> alone = make_all();
  for (uint64_t i = 0; i < kFunctions; ++i) {
    const emu::CodeCache::Found found = cache.find(key, {kCode + i * kApart}, 1);
    ASSERT_NE(found.code, nullptr);
    for (size_t who = 0; who < alone.size(); ++who) {
      const std::vector<emu::Wants> answers = ask(*alone[who], found.code->program());
      for (size_t at = 0; at < answers.size(); ++at) {
        const emu::WatchedStep& step = found.code->watched()[at];
        EXPECT_EQ(step.before >> who & 1, answers[at].before) << i << ", " << who << ", " << at;
        EXPECT_EQ(step.accessing >> who & 1, answers[at].accessing) << who << ", " << at;
        EXPECT_EQ(step.after >> who & 1, answers[at].after) << i << ", " << who << ", " << at;
      }
    }
  }
}

}  // namespace
}  // namespace wavetap::sanitize::wants_test
