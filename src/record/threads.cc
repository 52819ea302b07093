#include "record/threads.h"

#include <pthread.h>

#include "record/clock.h"
#include "record/facts.h"
#include "record/session.h"
#include "record/sys.h"

namespace wavetap::record {
namespace {

pthread_key_t g_key;
bool g_have_key = false;

// pthread calls this when a thread ends. Other libraries' destructors may still make calls, so the
// stream is kept for as many rounds as pthread grants but the last, in which thread sanitizers take
// their own state down. Who calls even later gets a stream that stays open.
constexpr uint32_t kExitRounds = PTHREAD_DESTRUCTOR_ITERATIONS - 1;

void thread_exits(void*) {
  if (++t_thread.exits < kExitRounds) {
    pthread_setspecific(g_key, &t_thread);
    return;
  }
  detach_thread();
}

}  // namespace

void prepare_threads() {
  if (!g_have_key) g_have_key = pthread_key_create(&g_key, thread_exits) == 0;
}

void detach_thread() {
  Stream* const stream = t_thread.stream;
  if (stream == nullptr) return;
  t_thread.stream = nullptr;
  if (!is_session_open()) return;
  const Inside inside;
  session().retire_stream(stream);
}

Stream* attach_thread() {
  ensure_started();
  if (!is_session_open()) return nullptr;
  const Inside inside;
  const uint32_t tid = sys::tid();
  Stream* const stream = session().make_stream(tid);
  if (stream == nullptr) return nullptr;
  char name[32] = {};
  pthread_getname_np(pthread_self(), name, sizeof name);
  format::ThreadFact thread{};
  thread.time = ticks();
  thread.stream = stream->number();
  thread.tid = tid;
  fact(thread, format::Kind::kThread, 0, {name});
  t_thread.stream = stream;
  if (g_have_key && t_thread.exits < kExitRounds) pthread_setspecific(g_key, &t_thread);
  return stream;
}

}  // namespace wavetap::record
