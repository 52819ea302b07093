#include "probe/session.h"

#include <gtest/gtest.h>

#include <map>

#include "emu/engine.h"
#include "emu/testing/kernel.h"
#include "probe/handler_list.h"

namespace wavetap::probe {
namespace {

class Collected final : public Surroundings {
 public:
  void result(const char* handler, uint64_t, std::string_view json) noexcept override {
    results[handler] = json;
  }
  bool write(const char* handler, const char* suffix, std::string_view bytes) noexcept override {
    files[std::string(handler) + "." + suffix] += bytes;
    return true;
  }
  void lose(const char* handler, uint64_t count) noexcept override { lost[handler] += count; }
  uint32_t source(const Code&, uint32_t, uint32_t, wavetap_source*) noexcept override { return 0; }
  bool buffer(uint32_t, uint64_t, wavetap_buffer*) noexcept override { return false; }

  std::map<std::string, std::string> results, files;
  std::map<std::string, uint64_t> lost;
};

// Counts events of each kind, and remembers some.
struct Counted {
  uint64_t waves[4] = {}, blocks = 0, accesses = 0, barriers[2] = {}, messages = 0;
  uint64_t last_lanes = 0, last_value = 0;
  uint64_t workgroups = 0,
           last_workgroup = 0;  // waves by their workgroups' numbers, summed; the highest
  uint32_t status = 0;
};

class SessionTest : public testing::Test {
 protected:
  SessionTest() : session_(surroundings_) {
    handler_.size = sizeof handler_;
    handler_.name = "counted";
    handler_.wants = WAVETAP_WAVES | WAVETAP_BLOCKS | WAVETAP_VALUES | WAVETAP_BARRIERS |
                     WAVETAP_MESSAGES | WAVETAP_SERIAL;
    handler_.self = &counted_;
    handler_.dispatch_begin = [](void* self, const wavetap_dispatch*) { return self; };
    handler_.wave = [](void* strand, const wavetap_wave_event* event) {
      auto& counted = *static_cast<Counted*>(strand);
      ++counted.waves[event->what];
      if (event->what != WAVETAP_WAVE_BEGINS) return;
      counted.workgroups += event->at.wave->workgroup[0];
      counted.last_workgroup =
          std::max<uint64_t>(counted.last_workgroup, event->at.wave->workgroup[0]);
      EXPECT_EQ(event->at.wave->workgroup_number, event->at.wave->workgroup[0]);
    };
    handler_.block = [](void* strand, const wavetap_block*) {
      ++static_cast<Counted*>(strand)->blocks;
    };
    handler_.memory = [](void* strand, const wavetap_memory* event) {
      auto& counted = *static_cast<Counted*>(strand);
      ++counted.accesses;
      counted.last_lanes = event->lanes;
      if (event->values != nullptr) std::memcpy(&counted.last_value, event->values, 4);
    };
    handler_.barrier = [](void* strand, const wavetap_barrier* event) {
      ++static_cast<Counted*>(strand)->barriers[event->what];
    };
    handler_.message = [](void* strand, const wavetap_message*) {
      ++static_cast<Counted*>(strand)->messages;
    };
    handler_.dispatch_end = [](void* self, void*, const wavetap_dispatch* described) {
      static_cast<Counted*>(self)->status = described->status;
    };
    std::string why;
    EXPECT_TRUE(session_.add(&handler_, session_.make_host("counted"), &why)) << why;
  }

  emu::DispatchResult run(emu::TestKernel& kernel) {
    emu::Watcher* watchers[] = {&session_};
    kernel.dispatch.watchers = watchers;
    kernel.dispatch.host = &host_;
    session_.begin(kernel.dispatch, {.kernel = "k", .gpu_model = "m", .kernarg = {}});
    emu::Engine engine({.threads = 2});
    const emu::DispatchResult result = engine.run(kernel.dispatch);
    session_.end(kernel.dispatch, result.fault ? WAVETAP_FAULTED : WAVETAP_COMPLETE);
    return result;
  }

  class QuietHost final : public emu::Host {
   public:
    void interrupt() noexcept override {}
    uint64_t clock_ticks() noexcept override { return 0; }
  };

  QuietHost host_;
  Collected surroundings_;
  Session session_;
  wavetap_handler handler_{};
  Counted counted_;
};

TEST_F(SessionTest, TellsEverythingOnce) {
  emu::TestKernel kernel({}, R"(
    v_mov_b32 v2, 7
    v_mov_b32 v4, 0x400000
    v_mov_b32 v5, 0
    s_barrier
    global_store_dword v[4:5], v2, off
    s_sendmsg sendmsg(MSG_INTERRUPT)
    s_endpgm)");
  kernel.set_size(256, 128);
  EXPECT_FALSE(run(kernel).fault);
  EXPECT_EQ(counted_.waves[WAVETAP_WAVE_BEGINS], 4u);
  EXPECT_EQ(counted_.waves[WAVETAP_WAVE_ENDS], 4u);
  EXPECT_EQ(counted_.blocks, 4u);
  EXPECT_EQ(counted_.accesses, 4u);
  EXPECT_EQ(counted_.last_lanes, ~uint64_t{0});
  EXPECT_EQ(counted_.last_value, 7u);
  EXPECT_EQ(counted_.barriers[WAVETAP_BARRIER_REACHED], 4u);
  EXPECT_EQ(counted_.barriers[WAVETAP_BARRIER_PASSED], 2u);
  EXPECT_EQ(counted_.messages, 4u);
  EXPECT_EQ(counted_.status, WAVETAP_COMPLETE);
  const std::vector<const Code*> code = session_.take_new_code();
  ASSERT_EQ(code.size(), 1u);
  EXPECT_EQ(code[0]->described.site_count, 7u);
  EXPECT_TRUE(session_.take_new_code().empty());
}

TEST_F(SessionTest, TellsWorkgroupsBeyond16Bits) {
  emu::TestKernel kernel({}, "s_endpgm");
  constexpr uint64_t kGroups = 70'000;
  kernel.set_size(kGroups * 64, 64);
  EXPECT_FALSE(run(kernel).fault);
  EXPECT_EQ(counted_.waves[WAVETAP_WAVE_BEGINS], kGroups);
  EXPECT_EQ(counted_.last_workgroup, kGroups - 1);
  EXPECT_EQ(counted_.workgroups, kGroups * (kGroups - 1) / 2);
}

TEST_F(SessionTest, TellsWhatCameBeforeAFault) {
  EXPECT_TRUE(open_handlers(parse_handlers("instructions,memory"), session_).empty());
  emu::TestKernel kernel({}, R"(
    v_mov_b32 v4, 0
    v_mov_b32 v5, 0
    global_load_dword v7, v[4:5], off
    v_mov_b32 v6, 1
    v_mov_b32 v6, 2
    s_endpgm)");
  kernel.set_size(64, 64);
  EXPECT_TRUE(run(kernel).fault);
  EXPECT_EQ(counted_.waves[WAVETAP_WAVE_FAULTS], 1u);
  EXPECT_EQ(counted_.status, WAVETAP_FAULTED);
  EXPECT_EQ(counted_.accesses, 0u) << "no value has moved";
  // The load itself counts, what stands behind it does not.
  EXPECT_EQ(
      surroundings_.results["instructions"],
      R"({"columns":["code","site","count","lanes"],"rows":[[0,0,1,64],[0,1,1,64],[0,2,1,64]]})");
  EXPECT_NE(surroundings_.results["memory"].find("\"rows\":[[0,2,0,0,0,4,"), std::string::npos)
      << surroundings_.results["memory"];
}

TEST_F(SessionTest, KeepsDispatchesOfTheSameCodeTogether) {
  EXPECT_TRUE(open_handlers(parse_handlers("log=limit=3"), session_).empty());
  emu::TestKernel kernel({}, "s_nop 0\ns_endpgm");
  kernel.set_size(64, 64);
  run(kernel);
  run(kernel);
  EXPECT_EQ(session_.take_new_code().size(), 1u);
  const std::string& log = surroundings_.files["log.jsonl"];
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 3);
  EXPECT_EQ(surroundings_.lost["log"], 7u) << "five events a dispatch";
}

TEST(Session, RefusesBrokenHandlers) {
  Collected surroundings;
  Session session(surroundings);
  const wavetap_host* host = session.make_host("x");
  wavetap_handler handler{};
  std::string why;
  EXPECT_FALSE(session.add(&handler, host, &why));
  EXPECT_NE(why.find("its wavetap_handler has 0 bytes"), std::string::npos) << why;
  handler.size = sizeof handler;
  EXPECT_FALSE(session.add(&handler, host, &why));
  EXPECT_NE(why.find("name"), std::string::npos) << why;
  handler.name = "fine";
  handler.wants = WAVETAP_BLOCKS;
  EXPECT_FALSE(session.add(&handler, host, &why));
  EXPECT_NE(why.find("no function"), std::string::npos) << why;
  handler.wants = 1u << 31;
  EXPECT_FALSE(session.add(&handler, host, &why));
  EXPECT_NE(why.find("0x80000000"), std::string::npos) << why;
  handler.wants = 0;
  EXPECT_TRUE(session.add(&handler, host, &why));
}

}  // namespace
}  // namespace wavetap::probe
