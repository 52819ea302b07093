#include "probe/handler_list.h"

#include <gtest/gtest.h>

namespace wavetap::probe {
namespace {

TEST(HandlerList, IsReadAndWritten) {
  const auto choices = parse_handlers("memory,./x.so=a=1\\,b,log=limit=5");
  ASSERT_EQ(choices.size(), 3u);
  EXPECT_EQ(choices[0].name, "memory");
  EXPECT_FALSE(choices[0].is_library());
  EXPECT_EQ(choices[1].name, "./x.so");
  EXPECT_EQ(choices[1].arguments, "a=1,b");
  EXPECT_TRUE(choices[1].is_library());
  EXPECT_EQ(choices[2].arguments, "limit=5");
  EXPECT_EQ(handlers_text(choices), "memory,./x.so=a=1\\,b,log=limit=5");
}

// Collects what a session says.
class Collected final : public Surroundings {
 public:
  void result(const char*, uint64_t, std::string_view) noexcept override {}
  bool write(const char*, const char*, std::string_view) noexcept override { return true; }
  void lose(const char*, uint64_t) noexcept override {}
  uint32_t source(const Code&, uint32_t, uint32_t, wavetap_source*) noexcept override { return 0; }
  bool buffer(uint32_t, uint64_t, wavetap_buffer*) noexcept override { return false; }
};

TEST(HandlerList, OpensWhatThereIsAndSaysWhyNot) {
  Collected surroundings;
  Session session(surroundings);
  const auto refused =
      open_handlers(parse_handlers("memory,nonsense,memory,log=rubbish,/nowhere/x.so"), session);
  ASSERT_EQ(refused.size(), 4u);
  EXPECT_EQ(refused[0].why, "there is no such handler");
  EXPECT_EQ(refused[1].why, "there is a handler memory already");
  EXPECT_EQ(refused[2].why, "the only argument it knows is limit=N");
  EXPECT_NE(refused[3].why.find("cannot be loaded"), std::string::npos);
  EXPECT_FALSE(session.empty());
}

}  // namespace
}  // namespace wavetap::probe
