// The recorder's state: when the session opens, what happens in children, threads coming and going,
// facts.
#include "agent/recorder.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "agent/control.h"
#include "agent/environment.h"
#include "agent/helper.h"
#include "agent/libraries.h"
#include "agent/recorder_internal.h"
#include "agent/session.h"
#include "agent/sys.h"
#include "format/session.h"

namespace wavetap::agent {

constinit ForkWiped g_fork_wiped;
__thread Thread t_thread __attribute__((tls_model("initial-exec"))) = {};
void (*g_harvest)() = nullptr;

namespace {

// Everything below is changed under start_lock unless it is atomic.
uint32_t g_pid = 0;       // of the process that this state belongs to
uint32_t g_count = 0;     // starts minus stops
bool g_prepared = false;  // environment read, handlers installed: once per program
bool g_session_tried = false;
enum class Passive : uint8_t { kUnknown, kNo, kYes };
std::atomic<Passive> g_passive{Passive::kUnknown};
Environment g_environment;
pthread_key_t g_thread_key;
bool g_have_thread_key = false;

struct stat g_stderr_at_start;
bool g_have_stderr = false;

constexpr int kLossKinds = 7;
std::atomic<uint64_t> g_losses[kLossKinds];
std::atomic<uint64_t> g_losses_written[kLossKinds];

std::atomic<uint64_t> g_operations{0};
std::atomic<uint32_t> g_queues{0};
std::atomic<uint32_t> g_code_objects{0};

constexpr int kMaxSources = 8;
std::atomic<void (*)()> g_fact_sources[kMaxSources];

constexpr size_t kMaxText = 32 << 10;

// ---- threads -----------------------------------------------------------------------------------

// pthread calls this when a thread ends. Other libraries' destructors may still make calls, so the
// stream is kept for as many rounds as pthread grants but the last, in which thread sanitizers take
// their own state down. Who calls even later gets a stream that stays open.
constexpr uint32_t kExitRounds = PTHREAD_DESTRUCTOR_ITERATIONS - 1;

void thread_exits(void*) {
  if (++t_thread.exits < kExitRounds) {
    pthread_setspecific(g_thread_key, &t_thread);
    return;
  }
  detach_thread();
}

// ---- processes ---------------------------------------------------------------------------------

// In a child of fork(): nothing of the parent's is ours. Only the calling thread exists.
void become_child() {
  t_thread.stream = nullptr;
  g_pid = sys::pid();
  g_session_tried = false;
  g_operations.store(0, std::memory_order_relaxed);
  for (int i = 0; i < kLossKinds; ++i) {
    g_losses[i].store(0, std::memory_order_relaxed);
    g_losses_written[i].store(0, std::memory_order_relaxed);
  }
  g_fork_wiped.session_open.store(0, std::memory_order_relaxed);
  forget_control();
  forget_libraries();
}

void after_fork_in_child() {
  // Kernels before 4.14 do not wipe the page.
  new (&g_fork_wiped) ForkWiped;
  become_child();
}

void prepare_program() {
  if (g_prepared) return;
  g_prepared = true;
  choose_clock();
  g_have_stderr = sys::fstat(2, &g_stderr_at_start) == 0;
  read_environment(g_environment);
  g_count = g_environment.paused ? 0 : 1;
  sys::advise(&g_fork_wiped, sizeof g_fork_wiped, MADV_WIPEONFORK);
  pthread_atfork(nullptr, nullptr, after_fork_in_child);
  g_have_thread_key = pthread_key_create(&g_thread_key, thread_exits) == 0;
}

void write_process_fact() {
  char executable[4096];
  const int64_t length =
      sys::call(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", executable, sizeof executable);
  static char command[kMaxText];  // under start_lock
  const int64_t command_bytes = sys::read_file("/proc/self/cmdline", command, sizeof command);
  char boot[64] = {};
  int64_t boot_bytes = sys::read_file("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
  while (boot_bytes > 0 && boot[boot_bytes - 1] == '\n') --boot_bytes;
  utsname names{};
  uname(&names);
  const auto text = [](const char* at, int64_t size) {
    return std::string_view(at, size > 0 ? static_cast<size_t>(size) : 0);
  };
  format::ProcessFact process{};
  process.time = ticks();
  process.clock_hz = clock_hz();
  process.pid = session().pid();
  process.parent = static_cast<uint32_t>(sys::call(SYS_getppid));
  process.options = g_environment.options | (g_environment.late ? format::kOptionLate : 0);
  process.emulated = g_environment.emulated ? 1 : 0;
  fact(process, format::Kind::kProcess, 0,
       {text(executable, length), text(command, command_bytes), names.nodename,
        text(boot, boot_bytes), WAVETAP_VERSION});
}

void write_control_fact(format::Control what, uint32_t by_pid) {
  format::ControlFact control{};
  control.time = ticks();
  control.by_pid = by_pid;
  control.count = g_count;
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
  for (auto& slot : g_fact_sources)
    if (void (*const write)() = slot.load(std::memory_order_acquire)) write();
  write_library_changes();
  add_helper_work(poll_libraries);
  start_helper();
}

// Under start_lock.
void publish_state() {
  uint32_t state = kReady;
  if (g_count > 0 && !session().failed() &&
      g_fork_wiped.session_open.load(std::memory_order_relaxed) != 0) {
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

}  // namespace

bool is_passive() {
  Passive known = g_passive.load(std::memory_order_relaxed);
  if (known == Passive::kUnknown) {
    known = has_elder_copy() ? Passive::kYes : Passive::kNo;
    g_passive.store(known, std::memory_order_relaxed);
  }
  return known == Passive::kYes;
}

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

void detach_thread() {
  Stream* const stream = t_thread.stream;
  if (stream == nullptr) return;
  t_thread.stream = nullptr;
  if (g_fork_wiped.session_open.load(std::memory_order_acquire) == 0) return;
  const Inside inside;
  session().retire_stream(stream);
}

Stream* attach_thread() {
  ensure_started();
  if (g_fork_wiped.session_open.load(std::memory_order_acquire) == 0) return nullptr;
  const Inside inside;
  const uint32_t tid = sys::tid();
  Stream* const stream = session().make_stream(tid);
  if (stream == nullptr) return nullptr;
  if (g_environment.options & format::kOptionStacks) {
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
      void* at = nullptr;
      size_t size = 0;
      if (pthread_attr_getstack(&attributes, &at, &size) == 0)
        stream->set_stack(reinterpret_cast<uintptr_t>(at), reinterpret_cast<uintptr_t>(at) + size);
      pthread_attr_destroy(&attributes);
    }
  }
  char name[32] = {};
  pthread_getname_np(pthread_self(), name, sizeof name);
  format::ThreadFact thread{};
  thread.time = ticks();
  thread.stream = stream->number();
  thread.tid = tid;
  fact(thread, format::Kind::kThread, 0, {name});
  t_thread.stream = stream;
  if (g_have_thread_key && t_thread.exits < kExitRounds)
    pthread_setspecific(g_thread_key, &t_thread);
  return stream;
}

// ---- facts -------------------------------------------------------------------------------------

void write_fact(const void* fixed, size_t fixed_bytes, format::Kind kind, uint8_t flags,
                std::initializer_list<std::string_view> texts) {
  if (g_fork_wiped.session_open.load(std::memory_order_acquire) == 0) return;
  const Inside inside;
  size_t bytes = fixed_bytes;
  for (const std::string_view text : texts) {
    const size_t kept = text.size() < kMaxText ? text.size() : kMaxText;
    bytes += sizeof(format::Text) + ((kept + 7) & ~size_t{7});
  }
  const Locked lock(g_fork_wiped.fact_lock);
  Stream& facts = session().facts();
  char* const record = reinterpret_cast<char*>(
      facts.reserve<format::RecordHeader>(bytes - sizeof(format::RecordHeader)));
  if (record == nullptr) return;
  char* at = record + sizeof(format::RecordHeader);
  memcpy(at, static_cast<const char*>(fixed) + sizeof(format::RecordHeader),
         fixed_bytes - sizeof(format::RecordHeader));
  at = record + fixed_bytes;
  for (const std::string_view text : texts) {
    const size_t kept = text.size() < kMaxText ? text.size() : kMaxText;
    const format::Text head{static_cast<uint32_t>(kept), static_cast<uint32_t>(text.size() - kept)};
    memcpy(at, &head, sizeof head);
    if (kept != 0) memcpy(at + sizeof head, text.data(), kept);  // what pads it is zero already
    at += sizeof head + ((kept + 7) & ~size_t{7});
  }
  facts.commit(record, kind, flags);
}

void add_fact_source(void (*write)()) {
  for (auto& slot : g_fact_sources) {
    void (*empty)() = nullptr;
    if (slot.compare_exchange_strong(empty, write, std::memory_order_release) || empty == write)
      return;
  }
}

void count_loss(format::Loss reason, uint64_t events) {
  g_losses[static_cast<int>(reason)].fetch_add(events, std::memory_order_relaxed);
}

void report_loss(format::Loss reason, std::string_view what) {
  format::LossFact loss{};
  loss.time = ticks();
  loss.count = 1;
  g_losses_written[static_cast<int>(reason)].fetch_add(1, std::memory_order_relaxed);
  g_losses[static_cast<int>(reason)].fetch_add(1, std::memory_order_relaxed);
  fact(loss, format::Kind::kLoss, static_cast<uint8_t>(reason), {what});
}

void write_losses() {
  static constexpr const char* kWhat[kLossKinds] = {"the disk is full",
                                                    "no memory or file descriptor for a chunk",
                                                    "GPU times of operations",
                                                    "texts were cut",
                                                    "the session folder cannot be written",
                                                    "calls from signal handlers, oversized records",
                                                    "calls of libraries"};
  for (int i = 0; i < kLossKinds; ++i) {
    const uint64_t now = g_losses[i].load(std::memory_order_relaxed);
    const uint64_t before = g_losses_written[i].load(std::memory_order_relaxed);
    if (now <= before) continue;
    g_losses_written[i].fetch_add(now - before, std::memory_order_relaxed);
    format::LossFact loss{};
    loss.time = ticks();
    loss.count = now - before;
    fact(loss, format::Kind::kLoss, static_cast<uint8_t>(i), {kWhat[i]});
  }
}

uint64_t losses_so_far() {
  uint64_t sum = 0;
  for (const auto& loss : g_losses) sum += loss.load(std::memory_order_relaxed);
  return sum;
}

void say(const char* format, ...) {
  struct stat now {};
  // Descriptor 2 may be a data file of the program by now.
  if (!g_have_stderr || sys::fstat(2, &now) != 0 || now.st_ino != g_stderr_at_start.st_ino ||
      now.st_dev != g_stderr_at_start.st_dev)
    return;
  char text[1024] = "wavetap: ";
  constexpr size_t kPrefix = sizeof "wavetap: " - 1;
  va_list arguments;
  va_start(arguments, format);
  int size = vsnprintf(text + kPrefix, sizeof text - kPrefix - 1, format, arguments);
  va_end(arguments);
  if (size < 0) return;
  size_t length = kPrefix + static_cast<size_t>(size);
  if (length > sizeof text - 2) length = sizeof text - 2;
  text[length++] = '\n';
  sys::write(2, text, length);
}

// ---- numbers -----------------------------------------------------------------------------------

uint64_t next_operation() { return g_operations.fetch_add(1, std::memory_order_relaxed) + 1; }
uint32_t next_queue() { return g_queues.fetch_add(1, std::memory_order_relaxed) + 1; }
uint32_t next_code_object() { return g_code_objects.fetch_add(1, std::memory_order_relaxed) + 1; }

std::string_view session_file(uint32_t number, char* buffer, size_t size) {
  if (g_fork_wiped.session_open.load(std::memory_order_acquire) == 0) return {};
  const size_t length = session().path(buffer, size, number, nullptr, format::kCodeObjectSuffix);
  if (length == 0) return {};
  const size_t folder = strlen(session().folder()) + 1;
  return {buffer + folder, length - folder};
}

// ---- start and stop ----------------------------------------------------------------------------

uint32_t recording_count() { return g_count; }
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
  if (void (*const harvest)() = g_harvest) harvest();
  write_pending_facts();
  const Locked lock(g_fork_wiped.start_lock);
  write_control_fact(format::Control::kFlushed, by_pid);
}

void finish_process() {
  if (g_fork_wiped.session_open.load(std::memory_order_acquire) == 0) return;
  const Inside inside;
  if (void (*const harvest)() = g_harvest) harvest();
  write_library_changes();
  write_pending_facts();
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

}  // namespace wavetap::agent
