// A call that takes its time, the program's own measure of it, and an end of every kind soon after:
// `clocks exit|_exit|quick_exit|abort|kill|segv|term|hup|exec`.
//
//   clocks BEFORE AFTER     nanoseconds of CLOCK_MONOTONIC around the call
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "host.h"

namespace {

long long now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

void sleep_here(hipStream_t, hipError_t, void*) {
  const timespec time{0, 200'000'000};
  nanosleep(&time, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  const long long before = now();
  CALL(hipStreamAddCallback, nullptr, sleep_here, nullptr, 0);
  const long long after = now();
  host::say("clocks %lld %lld", before, after);
  host::report();
  const auto is = [&](const char* word) { return std::strcmp(how, word) == 0; };
  if (is("_exit")) _exit(0);
  if (is("quick_exit")) std::quick_exit(0);
  if (is("abort")) std::abort();
  if (is("kill")) raise(SIGKILL);
  if (is("segv")) raise(SIGSEGV);
  if (is("term")) raise(SIGTERM);
  if (is("hup")) raise(SIGHUP);
  if (is("exec")) execlp("true", "true", static_cast<char*>(nullptr));
  return is("exit") ? 0 : 1;
}
