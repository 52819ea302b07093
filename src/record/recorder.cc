#include "record/recorder.h"

#include <pthread.h>
#include <string.h>
#include <sys/utsname.h>

#include <atomic>
#include <new>
#include <string_view>

#include "record/clock.h"
#include "record/control.h"
#include "record/environment.h"
#include "record/facts.h"
#include "record/helper.h"
#include "record/losses.h"
#include "record/say.h"
#include "record/session.h"
#include "record/sys.h"
#include "record/threads.h"

namespace wavetap::record {

namespace {

// Everything below is changed under start_lock unless it is atomic.
uint32_t g_pid = 0;       // of the process that this state belongs to
uint32_t g_count = 0;     // starts minus stops
bool g_prepared = false;  // environment read, handlers installed: once per program
bool g_session_tried = false;
enum class Passive : uint8_t { kUnknown, kNo, kYes };
std::atomic<Passive> g_passive{Passive::kUnknown};
std::atomic<bool> g_watched{false};
Environment g_environment;

constexpr int kMaxRegistered = 8;
using Registered = std::atomic<void (*)()>[kMaxRegistered];
Registered g_forgetters;
Registered g_last_words;

void add(Registered& list, void (*function)()) {
  for (auto& slot : list) {
    void (*empty)() = nullptr;
    if (slot.compare_exchange_strong(empty, function, std::memory_order_release) ||
        empty == function)
      return;
  }
}

void call_all(Registered& list) {
  for (auto& slot : list)
    if (void (*const function)() = slot.load(std::memory_order_acquire)) function();
}

// In a child of fork(): nothing of the parent's is ours. Only the calling thread exists.
void become_child() {
  t_thread.stream = nullptr;
  g_pid = sys::pid();
  g_session_tried = false;
  forget_operations();
  forget_losses();
  g_fork_wiped.session_open.store(0, std::memory_order_relaxed);
  forget_control();
  call_all(g_forgetters);
}

void after_fork_in_child() {
  // Kernels before 4.14 do not wipe the page.
  new (&g_fork_wiped) ForkWiped;
  become_child();
}

constexpr Commands kCommands = {
    .start = start_recording,
    .stop = stop_recording,
    .flush = flush_recording,
    .count = [] { return g_count; },
};

void prepare_program() {
  if (g_prepared) return;
  g_prepared = true;
  choose_clock();
  note_standard_error();
  read_environment(g_environment);
  g_count = g_environment.paused ? 0 : 1;
  set_commands(&kCommands);
  sys::advise(&g_fork_wiped, sizeof g_fork_wiped, MADV_WIPEONFORK);
  pthread_atfork(nullptr, nullptr, after_fork_in_child);
  prepare_threads();
}

void write_process_fact() {
  constexpr size_t kMaxCommand = 32 << 10;
  char executable[4096];
  const int64_t length =
      sys::call(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", executable, sizeof executable);
  static char command[kMaxCommand];  // under start_lock
  const int64_t command_bytes = sys::read_file("/proc/self/cmdline", command, sizeof command);
  char boot[64] = {};
  int64_t boot_bytes = sys::read_file("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
  while (boot_bytes > 0 && boot[boot_bytes - 1] == '\n') --boot_bytes;
  utsname names{};
  uname(&names);
  const auto text = [](const char* at, int64_t size) {
    return std::string_view(at, size > 0 ? static_cast<size_t>(size) : 0);
  };
  const format::ProcessFact process{
      .header = {},
      .time = ticks(),
      .clock_hz = clock_hz(),
      .pid = session().pid(),
      .parent = static_cast<uint32_t>(sys::call(SYS_getppid)),
      .options = g_environment.options | (g_environment.late ? format::kOptionLate : 0),
      .emulated = g_environment.emulated ? 1u : 0u,
  };
  fact(process, format::Kind::kProcess, 0,
       {text(executable, length), text(command, command_bytes), names.nodename,
        text(boot, boot_bytes), WAVETAP_VERSION});
}

void write_control_fact(format::Control what, uint32_t by_pid) {
  const format::ControlFact control{
      .header = {}, .time = ticks(), .by_pid = by_pid, .count = g_count};
  fact(control, format::Kind::kControl, static_cast<uint8_t>(what));
}

// Opens the session when there is a place for it. Under start_lock.
void open_session() {
  if (g_session_tried) return;
  const char* const folder = session_folder(g_environment, g_pid);
  if (folder == nullptr) return;
  g_session_tried = true;
  const format::ClockSampleFact before = sample_clocks();
  const int error = session().open(folder, g_pid);
  if (error != 0) {
    count_loss(format::Loss::kFolder);
    drop_session_folder(g_environment);
    say("error: %s: %s; nothing is recorded", folder, strerrordesc_np(error));
    return;
  }
  g_fork_wiped.session_open.store(1, std::memory_order_release);
  const format::ClockSampleFact after = settle_clock_rate(before);
  write_process_fact();
  fact(before, format::Kind::kClockSample, 0);
  fact(after, format::Kind::kClockSample, 0);
  write_known_facts();
  start_helper();
}

// Under start_lock.
void publish_state() {
  uint32_t state = kReady | (g_watched.load(std::memory_order_relaxed) ? kWatched : 0);
  if (g_count > 0 && !session().failed() && is_session_open()) {
    const uint32_t options = g_environment.options;
    state |= kRecording;
    if (options & format::kOptionArguments) state |= kArguments;
    if (options & format::kOptionStacks) state |= kStacks;
    if (options & format::kOptionKernargs) state |= kKernargs;
    if (options & format::kOptionBarriers) state |= kBarriers;
    if (options & format::kOptionHsa) state |= kHsaCalls;
  }
  g_state.store(state, std::memory_order_release);
}

void settle() {
  if (void (*const harvest)() = g_harvest) harvest();
  call_all(g_last_words);
  write_pending_facts();
}

}  // namespace

bool is_passive() {
  Passive known = g_passive.load(std::memory_order_relaxed);
  if (known == Passive::kUnknown) {
    known = has_elder_copy() ? Passive::kYes : Passive::kNo;
    g_passive.store(known, std::memory_order_relaxed);
  }
  return known == Passive::kYes;
}

void add_forgetter(void (*forget)()) { add(g_forgetters, forget); }
void add_last_words(void (*write)()) { add(g_last_words, write); }

void start_process() {
  if (t_thread.inside != 0) return;
  const Inside inside;
  const Locked lock(g_fork_wiped.start_lock);
  if (g_state.load(std::memory_order_relaxed) != 0) return;
  const uint32_t pid = sys::pid();
  if (g_pid != 0 && g_pid != pid) become_child();
  g_pid = pid;
  prepare_program();
  if (is_passive()) g_count = 0;
  // A paused session is opened as well: facts are needed from the beginning.
  if (!is_passive() && (g_count > 0 || g_environment.has_session)) open_session();
  publish_state();
  if (recording()) write_control_fact(format::Control::kStarted, pid);
}

void watch_calls() {
  g_watched.store(true, std::memory_order_relaxed);
  const Inside inside;
  const Locked lock(g_fork_wiped.start_lock);
  if (g_state.load(std::memory_order_relaxed) != 0) publish_state();
}

uint32_t session_options() { return g_environment.options; }
bool came_late() { return g_environment.late; }

uint32_t start_recording(uint32_t by_pid) {
  ensure_started();
  const Inside inside;
  const Locked lock(g_fork_wiped.start_lock);
  if (is_passive()) return 0;
  ++g_count;
  open_session();
  publish_state();
  write_control_fact(format::Control::kStarted, by_pid);
  return g_count;
}

uint32_t stop_recording(uint32_t by_pid) {
  ensure_started();
  const Inside inside;
  const Locked lock(g_fork_wiped.start_lock);
  if (is_passive()) return 0;
  if (g_count > 0) --g_count;
  publish_state();
  write_control_fact(format::Control::kStopped, by_pid);
  write_pending_facts();
  return g_count;
}

void flush_recording(uint32_t by_pid) {
  ensure_started();
  const Inside inside;
  settle();
  const Locked lock(g_fork_wiped.start_lock);
  write_control_fact(format::Control::kFlushed, by_pid);
}

void finish_process() {
  if (!is_session_open()) return;
  const Inside inside;
  settle();
  write_control_fact(format::Control::kExited, session().pid());
  session().remove_spares();
  close_control();
  say_where(g_environment);
}

void forget_session() {
  stop_helper();
  new (&g_fork_wiped) ForkWiped;
  become_child();
  g_prepared = false;
}

}  // namespace wavetap::record
