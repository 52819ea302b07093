#include "vgpu/guard.h"

#include <gtest/gtest.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <thread>

namespace wavetap::vgpu {
namespace {

#if defined(WT_SANITIZE_THREAD)
constexpr int kManyFaults = 10;  // Its shadow stack is not unwound by a jump out of a handler.
#else
constexpr int kManyFaults = 1000;
#endif

// A page nobody may touch.
volatile char* forbidden() {
  static void* page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return static_cast<volatile char*>(page);
}

bool touch(volatile char* address, uint64_t* fault) {
  return run_guarded([](void* arg) { *static_cast<volatile char*>(arg) = 1; },
                     const_cast<char*>(address), fault);
}

// Runs `body` in a child process and returns its wait status.
template <class Body>
int status_of_child(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST(Guard, TurnsAFaultIntoFalseWithTheAddress) {
  uint64_t fault = 0;
  EXPECT_FALSE(touch(forbidden() + 100, &fault));
  EXPECT_EQ(fault, reinterpret_cast<uintptr_t>(forbidden() + 100));
  char fine = 0;
  EXPECT_TRUE(touch(&fine, &fault));
  EXPECT_EQ(fine, 1);
}

TEST(Guard, WorksManyTimesAndOnEveryThread) {
  const auto many = [](int offset) {
    for (int i = 0; i < kManyFaults; ++i) {
      uint64_t fault = 0;
      ASSERT_FALSE(touch(forbidden() + offset, &fault));
    }
  };
  std::thread other(many, 8);
  many(16);
  other.join();
}

TEST(Guard, TruncatedFilesAreFaultsToo) {
  const int fd = memfd_create("guard", 0);
  ASSERT_EQ(ftruncate(fd, 4096), 0);
  auto* page =
      static_cast<volatile char*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  ASSERT_EQ(ftruncate(fd, 0), 0);
  uint64_t fault = 0;
  EXPECT_FALSE(touch(page, &fault));
  munmap(const_cast<char*>(page), 4096);
  close(fd);
}

TEST(Guard, Nests) {
  uint64_t outer_fault = 0;
  static bool inner_survived;
  inner_survived = false;
  const bool outer = guarded(
      [] {
        uint64_t inner_fault = 0;
        inner_survived = !touch(forbidden(), &inner_fault);
      },
      &outer_fault);
  EXPECT_TRUE(outer);
  EXPECT_TRUE(inner_survived);
}

TEST(Guard, AFaultOutsideStillKillsTheProgram) {
  const int status = status_of_child([] {
    signal(SIGSEGV, SIG_DFL);  // whatever the test program has
    arm_guard();
    *forbidden() = 1;
  });
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGSEGV);
}

TEST(Guard, ASentSignalStillKillsTheProgram) {
  const int status = status_of_child([] {
    signal(SIGSEGV, SIG_DFL);
    arm_guard();
    raise(SIGSEGV);
  });
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGSEGV);
}

sigjmp_buf g_program_recovers;

void program_handler(int) { siglongjmp(g_program_recovers, 1); }

TEST(Guard, KeepsTheProgramsOwnHandlerBeforeAndAfter) {
  const int status = status_of_child([] {
    // Before ours.
    struct sigaction action {};
    action.sa_handler = program_handler;
    action.sa_flags = SA_NODEFER;
    sigaction(SIGSEGV, &action, nullptr);
    arm_guard();
    if (sigsetjmp(g_program_recovers, 1) == 0) {
      *forbidden() = 1;
      _exit(1);
    }
    // After ours: the program replaces it, we come back at the next look.
    sigaction(SIGSEGV, &action, nullptr);
    arm_guard();
    uint64_t fault = 0;
    if (touch(forbidden(), &fault)) _exit(2);
    static int rounds;  // static: survives the jump
    for (rounds = 0; rounds < 3; ++rounds) {
      if (sigsetjmp(g_program_recovers, 1) == 0) {
        *forbidden() = 1;
        _exit(3);
      }
    }
  });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

// As the interposed sigaction() does it.
TEST(Guard, AClaimedHandlerGetsTheFaultsAndNeverSeesOurs) {
  const int status = status_of_child([] {
    signal(SIGSEGV, SIG_DFL);
    arm_guard();
    struct sigaction action {};
    struct sigaction old {};
    action.sa_handler = program_handler;
    if (!claim_sigaction(SIGSEGV, &action, &old) || old.sa_handler != SIG_DFL) _exit(1);
    if (sigsetjmp(g_program_recovers, 1) == 0) {
      *forbidden() = 1;
      _exit(2);
    }
    if (!claim_sigaction(SIGSEGV, nullptr, &old) || old.sa_handler != program_handler) _exit(3);
    uint64_t fault = 0;
    if (touch(forbidden(), &fault)) _exit(4);
    if (claim_sigaction(SIGUSR1, &action, &old)) _exit(5);
    // What a crash reporter does last: back to the default, and again into the fault.
    action.sa_handler = SIG_DFL;
    claim_sigaction(SIGSEGV, &action, nullptr);
    *forbidden() = 1;
  });
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV) << status;
}

struct sigaction g_saved_by_program;
int g_calls_of_chaining_handler = 0;

void chaining_handler(int signal, siginfo_t* info, void* context) {
  if (++g_calls_of_chaining_handler > 3) _exit(4);
  if (g_saved_by_program.sa_flags & SA_SIGINFO) {
    g_saved_by_program.sa_sigaction(signal, info, context);
  } else {
    ::signal(signal, SIG_DFL);
  }
}

TEST(Guard, AHandlerThatChainsBackToOursDoesNotLoop) {
  const int status = status_of_child([] {
    arm_guard();
    struct sigaction action {};
    action.sa_sigaction = chaining_handler;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, &g_saved_by_program);
    arm_guard();
    *forbidden() = 1;
  });
  // Dead by the signal, or by what the test program had installed before (a sanitizer's report).
  EXPECT_FALSE(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 4))
      << status;
}

}  // namespace
}  // namespace wavetap::vgpu
