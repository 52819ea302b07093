/* wavetap: control of recording and markers, for programs that want to say more than a profiler
 * can see.
 *
 * Nothing needs to be linked. The functions are weak: they exist when the program runs under
 * `wavetap run` (or with libwavetap.so preloaded or linked) and are null otherwise. The macros
 * below ask first:
 *
 *   #include <wavetap/wavetap.h>
 *
 *   WAVETAP_PUSH("load the model");
 *   ...
 *   WAVETAP_POP();
 *
 * All functions may be called from any thread at any time. Starts and stops are counted,
 * together with those of `wavetap start|stop PID` and of Python: recording is on while there
 * were more starts than stops. A program started by `wavetap run` begins with one start, with
 * `--start-paused` with none.
 */
#ifndef WAVETAP_WAVETAP_H
#define WAVETAP_WAVETAP_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef WAVETAP_WEAK
#define WAVETAP_WEAK __attribute__((weak))
#endif

/* Version of the library, "0.1.0". */
WAVETAP_WEAK const char* wavetap_version(void);

/* Start or stop recording. Returns the number of starts minus the number of stops, never below
 * 0. */
WAVETAP_WEAK int wavetap_start(void);
WAVETAP_WEAK int wavetap_stop(void);
/* 1 while calls are recorded. */
WAVETAP_WEAK int wavetap_is_recording(void);
/* Collects what the GPU has finished, so that a reader of the session sees it now. Nothing is
 * lost without it. */
WAVETAP_WEAK void wavetap_flush(void);

/* A range on this thread; ranges nest. push returns the depth of the new range, pop that of the
 * range it ends, both from 0; pop returns -1 when no range is open. */
WAVETAP_WEAK int wavetap_range_push(const char* message);
WAVETAP_WEAK int wavetap_range_pop(void);
/* A range that may end on another thread. */
WAVETAP_WEAK uint64_t wavetap_range_start(const char* message);
WAVETAP_WEAK void wavetap_range_stop(uint64_t range);
/* A moment. */
WAVETAP_WEAK void wavetap_mark(const char* message);

/* The same with a domain (the library or subsystem that speaks) and a category within it; either
 * may be null. */
WAVETAP_WEAK int wavetap_range_push_in(const char* domain, const char* category,
                                       const char* message);
WAVETAP_WEAK uint64_t wavetap_range_start_in(const char* domain, const char* category,
                                             const char* message);
WAVETAP_WEAK void wavetap_mark_in(const char* domain, const char* category, const char* message);

#ifdef __cplusplus
}
#endif

/* Calls the function when it is there; the value of the expression is lost. */
#define WAVETAP_IF_THERE(function, arguments) ((function) ? (void)(function)arguments : (void)0)
#define WAVETAP_START() WAVETAP_IF_THERE(wavetap_start, ())
#define WAVETAP_STOP() WAVETAP_IF_THERE(wavetap_stop, ())
#define WAVETAP_FLUSH() WAVETAP_IF_THERE(wavetap_flush, ())
#define WAVETAP_PUSH(message) WAVETAP_IF_THERE(wavetap_range_push, (message))
#define WAVETAP_POP() WAVETAP_IF_THERE(wavetap_range_pop, ())
#define WAVETAP_MARK(message) WAVETAP_IF_THERE(wavetap_mark, (message))

#endif /* WAVETAP_WAVETAP_H */
