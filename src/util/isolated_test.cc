#include "util/isolated.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace wavetap::util {
namespace {

TEST(Isolated, AnswersComeInOrderWhateverEndsFirst) {
  std::vector<std::function<std::string()>> pieces;
  for (int i = 0; i < 6; ++i)
    pieces.push_back([i] {
      usleep(static_cast<useconds_t>((6 - i) * 5000));
      return std::to_string(i);
    });
  std::string order;
  const std::vector<Isolated> answers =
      run_isolated(pieces, 3, {}, [&](size_t number, const Isolated& answer) {
        EXPECT_EQ(answer.text, std::to_string(number));
        order += answer.text;
        return true;
      });
  EXPECT_EQ(order, "012345");
  EXPECT_EQ(answers.size(), 6u);
}

TEST(Isolated, CrashesAndHangsAreAnswers) {
  const std::vector<Isolated> answers = run_isolated(
      {[]() -> std::string {
         signal(SIGSEGV, SIG_DFL);  // where a sanitizer has taken it
         raise(SIGSEGV);
         return "";
       },
       []() -> std::string {
         while (true) pause();
       },
       []() -> std::string {
         alarm(1);
         while (true) pause();
       },
       []() -> std::string { throw std::bad_alloc(); }, [] { return std::string(300000, 'x'); }},
      5, {.seconds = 2});
  EXPECT_EQ(answers[0].ending, Ending::kCrashed);
  EXPECT_NE(answers[0].text.find("signal 11"), std::string::npos);
  EXPECT_EQ(answers[1].ending, Ending::kTimedOut);
  EXPECT_EQ(answers[2].ending, Ending::kTimedOut);
  EXPECT_EQ(answers[3].ending, Ending::kCrashed);
  EXPECT_EQ(answers[4].ending, Ending::kDone);
  EXPECT_EQ(answers[4].text.size(), 300000u);
}

TEST(Isolated, StopsWhenItIsToldTo) {
  int begun = 0;
  const std::vector<Isolated> answers =
      run_isolated({[] { return std::string("a"); }, [] { return std::string("b"); }}, 1, {},
                   [&](size_t, const Isolated&) { return ++begun < 1; });
  EXPECT_EQ(answers.size(), 1u);
}

TEST(Shell, GivesStatusOutputAndItsEnd) {
  const Result<ShellResult> failed = run_shell("echo out; echo err >&2; exit 3", {});
  ASSERT_TRUE(failed.ok());
  EXPECT_EQ(failed->status, 3);
  EXPECT_EQ(failed->output, "out\nerr\n");
  const Result<ShellResult> slow =
      run_shell("sleep 100 & sleep 100", {.folder = "", .environment = {}, .seconds = 0.2});
  ASSERT_TRUE(slow.ok());
  EXPECT_TRUE(slow->timed_out);
  const Result<ShellResult> there =
      run_shell("pwd; echo $WORD; yes | head -n 100000",
                {.folder = "/", .environment = {{"WORD", "said"}}, .output_bytes = 10});
  EXPECT_EQ(there->output, "y\ny\ny\ny\ny\n");
  EXPECT_EQ(run_words({"/nowhere/program"}, {})->status, 127);
}

TEST(Shell, EndsAsItsCommandDoes) {
  EXPECT_EQ(run_shell("kill -TERM $$", {})->status, 128 + SIGTERM);
  EXPECT_EQ(run_shell("kill -TERM 0; sleep 10", {})->status, 128 + SIGTERM);
  EXPECT_EQ(run_shell("kill -SEGV $$", {})->status, 128 + SIGSEGV);
  EXPECT_EQ(run_shell("exit 126", {})->status, 126);
}

// Killed without a chance to do anything, a caller takes along whatever its command has started.
TEST(Shell, NothingOutlivesACallerThatIsKilled) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t caller = fork();
  if (caller == 0) {
    // The pipe stays open as long as anything lives that came of this.
    (void)run_shell("(sleep 60 & sleep 60) & echo begun; sleep 60; echo over", {});
    _exit(0);
  }
  close(ends[1]);
  usleep(300000);
  kill(caller, SIGKILL);
  int status = 0;
  waitpid(caller, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  pollfd closed{ends[0], POLLIN, 0};
  EXPECT_EQ(poll(&closed, 1, 20000), 1) << "something lives on";
  EXPECT_NE(closed.revents & POLLHUP, 0);
  close(ends[0]);
}

}  // namespace
}  // namespace wavetap::util
