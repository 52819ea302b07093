/* wavetap/trace.h: reading a trace (.rpd) from C, or from anything that can call C.
 *
 *   wavetap_trace* trace = wavetap_trace_open("trace.rpd", 0);
 *   if (trace == NULL) { fprintf(stderr, "%s\n", wavetap_trace_error()); return 1; }
 *   for (size_t i = 0; i < wavetap_trace_columns(trace, WAVETAP_OPS); ++i) {
 *     wavetap_column column;
 *     wavetap_trace_column(trace, WAVETAP_OPS, i, &column);
 *     ...
 *   }
 *   wavetap_trace_close(trace);
 *
 * A trace is loaded whole, in columns, and never changes afterwards: any thread may read it.
 * Everything a trace hands out belongs to it and lives until wavetap_trace_close(). Texts are
 * UTF-8 as recorded, may hold any byte, and end in a zero byte that is not counted. Link with
 * -lwavetap_trace.
 */
#ifndef WAVETAP_TRACE_H
#define WAVETAP_TRACE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when a function or a meaning changes; additions do not count. */
#define WAVETAP_TRACE_VERSION 1

typedef struct wavetap_trace wavetap_trace;

enum {
  WAVETAP_TRACE_NO_ARGS = 1,     /* leave argument and marker texts out: much less memory */
  WAVETAP_TRACE_STACK_FRAMES = 2 /* load stack frames too */
};

typedef enum wavetap_table {
  WAVETAP_CALLS = 0,    /* API calls and markers */
  WAVETAP_OPS = 1,      /* what GPUs did: kernels, copies, fills */
  WAVETAP_LINKS = 2,    /* which call launched which op */
  WAVETAP_LAUNCHES = 3, /* geometry of kernel launches */
  WAVETAP_COPIES = 4,   /* sizes and ends of copies */
  WAVETAP_MONITORS = 5, /* clocks, temperatures, ... over time */
  WAVETAP_STACK_FRAMES = 6,
  WAVETAP_LIBRARIES = 7, /* shared libraries as they were loaded */
  WAVETAP_COUNTERS = 8,  /* what ops were counted to do */
  /* Of wavetap's own recordings; docs/tables.md has their columns. */
  WAVETAP_PROCESSES = 9,
  WAVETAP_THREAD_NAMES = 10,
  WAVETAP_DEVICES = 11,
  WAVETAP_DEVICE_FIGURES = 12, /* what each layer said of each GPU */
  WAVETAP_QUEUES = 13,
  WAVETAP_CODE_OBJECTS = 14,
  WAVETAP_KERNELS = 15,
  WAVETAP_DISPATCHES = 16, /* how kernels were started */
  WAVETAP_ALLOCATIONS = 17,
  WAVETAP_INFLIGHT = 18,   /* GPU work that never ended */
  WAVETAP_OPEN_CALLS = 19, /* calls that threads were in when the process died */
  WAVETAP_FAULTS = 20,
  WAVETAP_CONTROLS = 21, /* recording started, stopped, ... */
  WAVETAP_LOSSES = 22,   /* what is missing */
  WAVETAP_SWAPS = 23,    /* kernels that were to run as other code */
  WAVETAP_TABLE_COUNT = 24
} wavetap_table;

typedef enum wavetap_type {
  WAVETAP_INT64 = 0,  /* int64_t */
  WAVETAP_INT32 = 1,  /* int32_t */
  WAVETAP_BOOL = 2,   /* one byte, 0 or 1 */
  WAVETAP_STRING = 3, /* uint32_t for wavetap_trace_string() */
  WAVETAP_ROW = 4,    /* uint32_t, a row of the table that names the column, or WAVETAP_NO_ROW */
  WAVETAP_ARGS = 5,   /* no data: ask wavetap_trace_args() */
  WAVETAP_REAL = 6,   /* double */
  WAVETAP_ADDRESS = 7 /* uint64_t */
} wavetap_type;

#define WAVETAP_NO_ROW UINT32_MAX

/* What a recording does not say is 0 or "" in a column; -1 where 0 would be a count or a GPU. */
typedef struct wavetap_column {
  const char* name; /* "start", "name", ...; times are in nanoseconds, sizes in bytes */
  wavetap_type type;
  const void* data; /* of the first row; NULL when there are no rows or no data */
  size_t stride;    /* bytes from one row to the next */
} wavetap_column;

/* WAVETAP_TRACE_VERSION of the library. */
int wavetap_trace_version(void);

/* Loads a trace of schema 2 or 3, by wavetap or by RPD. The file is not changed. NULL on
 * failure. */
wavetap_trace* wavetap_trace_open(const char* path, unsigned flags);
void wavetap_trace_close(wavetap_trace* trace);

/* Why the last function of this thread failed; "" when none did. */
const char* wavetap_trace_error(void);

size_t wavetap_trace_rows(const wavetap_trace* trace, wavetap_table table);
size_t wavetap_trace_columns(const wavetap_trace* trace, wavetap_table table);
/* 0, or -1 when there is no such column. */
int wavetap_trace_column(const wavetap_trace* trace, wavetap_table table, size_t index,
                         wavetap_column* column);

/* The text of a WAVETAP_STRING; "" for a number that is none. `bytes` may be NULL. */
const char* wavetap_trace_string(const wavetap_trace* trace, uint32_t number, size_t* bytes);
/* Arguments of a call, or the text of a marker; not ended by a zero byte. `bytes` must not be
 * NULL. */
const char* wavetap_trace_args(const wavetap_trace* trace, size_t call, size_t* bytes);

/* Metadata, by number; 0, or -1 past the end. Keys may repeat. */
int wavetap_trace_metadata(const wavetap_trace* trace, size_t index, const char** key,
                           const char** value);

/* What `wavetap report` ("report") or `wavetap analyze NAME` prints with --json and --top TOP;
 * docs/json-schema.md. `settings` is NULL or lines of key=value. NULL on failure; free with
 * wavetap_trace_free(). */
char* wavetap_trace_analyze(const wavetap_trace* trace, const char* name, size_t top,
                            const char* settings);
void wavetap_trace_free(char* text);

#ifdef __cplusplus
}
#endif

#endif
