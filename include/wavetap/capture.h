/* wavetap/capture.h: captured dispatches (.wtcap) from C, or from anything that can call C: what is in
 * them, and running them again on the engine, without ROCm and without a GPU.
 *
 *   wavetap_captures* file = wavetap_capture_open("saxpy.wtcap");
 *   if (file == NULL) { fprintf(stderr, "%s\n", wavetap_capture_error()); return 1; }
 *   wavetap_replay* replay = wavetap_replay_new(file, 0);
 *   if (wavetap_replay_run(replay, NULL) == 0) ... wavetap_replay_read(replay, address, to, bytes);
 *   wavetap_replay_free(replay);
 *   wavetap_capture_close(file);
 *
 * Functions that return int give 0, or an exit status of `wavetap replay`: 1 usage, 10 damaged file,
 * 11 code for another GPU, 12 no such kernel, 13 arguments lie elsewhere, 14 fault in the kernel,
 * 15 mismatch, 16 something a replay does not have, 17 memory cannot be had. wavetap_capture_error()
 * has the sentence. A file and its replays are used by one thread at a time; texts and arguments
 * belong to the file and live until wavetap_capture_close(), which comes after its replays are freed.
 * Link with -lwavetap_capture.
 */
#ifndef WAVETAP_CAPTURE_H
#define WAVETAP_CAPTURE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when a function or a meaning changes; additions do not count. */
#define WAVETAP_CAPTURE_VERSION 1

typedef struct wavetap_captures wavetap_captures;
typedef struct wavetap_replay wavetap_replay;

typedef struct wavetap_captured_dispatch {
  const char* kernel; /* demangled */
  const char* target; /* "gfx1030" */
  const char* model;
  const char* program; /* its command line */
  const char* fault;   /* what stopped the kernel; "" */
  uint64_t launch;     /* which of the launches that were counted, from 1 */
  uint32_t grid[3];    /* work-items */
  uint32_t workgroup[3];
  uint32_t lds_bytes;
  uint32_t scratch_bytes; /* per lane */
  int has_before;         /* it can be run again */
  int has_after;          /* it can be compared with */
  int is_unordered;       /* other queues ran meanwhile */
  size_t arguments;
} wavetap_captured_dispatch;

typedef struct wavetap_captured_argument {
  const char* name;    /* "" in optimised builds */
  const char* type;    /* of the kernel's signature: "float const*"; "" when not known */
  const char* kind;    /* "global_buffer", "by_value", "hidden_block_count_x", ... */
  const char* element; /* "f32", "i32", ...: of a number, or of what a pointer points at; "" */
  uint64_t offset;
  const void* value; /* its bytes */
  size_t value_bytes;
  uint64_t pointer;      /* into captured memory; 0 */
  uint64_t extent_bytes; /* from there to the next such pointer or the end of its memory */
  int is_hidden;
} wavetap_captured_argument;

typedef struct wavetap_replay_options {
  uint32_t iterations; /* 0 is 1; the captured state comes before each */
  uint32_t threads;    /* 0: one per core; 1 is deterministic */
  uint64_t seed;
  const char* swap; /* a file to take the kernel of the same name from; NULL */
} wavetap_replay_options;

typedef struct wavetap_comparison {
  uint64_t written_bytes; /* that the replay changed */
  uint64_t differing;     /* elements that are not as captured */
  uint64_t first_address; /* of the first of them; 0 */
} wavetap_comparison;

/* WAVETAP_CAPTURE_VERSION of the library. */
int wavetap_capture_version(void);
/* Why the last function of this thread failed; "" when none did. */
const char* wavetap_capture_error(void);

/* NULL on failure. A file that ends early is opened as far as it reaches. */
wavetap_captures* wavetap_capture_open(const char* path);
void wavetap_capture_close(wavetap_captures* file);
size_t wavetap_capture_count(const wavetap_captures* file);
int wavetap_capture_dispatch(const wavetap_captures* file, size_t number,
                             wavetap_captured_dispatch* dispatch);
int wavetap_capture_argument(const wavetap_captures* file, size_t number, size_t index,
                             wavetap_captured_argument* argument);
/* Memory before the kernel ran, or after it. */
int wavetap_capture_read(const wavetap_captures* file, size_t number, int after, uint64_t address,
                         void* to, size_t bytes);

/* The captured memory, in the state before, to run the kernel on. NULL on failure. */
wavetap_replay* wavetap_replay_new(const wavetap_captures* file, size_t number);
void wavetap_replay_free(wavetap_replay* replay);
/* Runs it from the state that wavetap_replay_write() and the last run have left; between iterations
 * the captured state is restored. `options` may be NULL. */
int wavetap_replay_run(wavetap_replay* replay, const wavetap_replay_options* options);
void wavetap_replay_restore(wavetap_replay* replay);
/* How long each iteration of the last run took, in seconds. `count` gets how many there are. */
const double* wavetap_replay_seconds(const wavetap_replay* replay, size_t* count);
/* What the kernel printed in the last run. */
const char* wavetap_replay_printed(const wavetap_replay* replay);
int wavetap_replay_read(const wavetap_replay* replay, uint64_t address, void* to, size_t bytes);
int wavetap_replay_write(wavetap_replay* replay, uint64_t address, const void* from, size_t bytes);
/* 0 when all is as captured, 15 when not. `tolerance`: "bits", "rel=1e-5", "abs=X", "ulp=N"; NULL is
 * "bits". `comparison` may be NULL. */
int wavetap_replay_compare(const wavetap_replay* replay, const char* tolerance,
                           wavetap_comparison* comparison);

#ifdef __cplusplus
}
#endif

#endif
