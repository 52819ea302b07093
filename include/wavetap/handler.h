/* wavetap/handler.h: handlers for `wavetap probe`, written in C or anything that can stand behind C.
 *
 * A handler is told what the kernels of a program do, while they run: dispatches, waves, blocks of
 * instructions, memory accesses lane by lane, barriers, messages. The handlers that come with
 * wavetap are written against this file and nothing else; yours is a shared library:
 *
 *   #include <wavetap/handler.h>
 *
 *   static void on_memory(void* strand, const wavetap_memory* access) { ... }
 *   static wavetap_handler handler = {
 *       .size = sizeof(wavetap_handler), .name = "mine", .wants = WAVETAP_MEMORY, .memory = on_memory};
 *   const uint32_t wavetap_handler_version = WAVETAP_HANDLER_VERSION;
 *   const wavetap_handler* wavetap_handler_open(const wavetap_host* host, const char* arguments) {
 *     return &handler;
 *   }
 *
 *   wavetap probe ./libmine.so -- ./my_hip_program
 *   wavetap probe ./libmine.so=arguments,memory kernel.wtcap
 *
 * The library is loaded into the program that is probed. It must not end the process, throw, or
 * wait for the program, and it sees copies only: no pointer leads to memory of the GPU.
 *
 * Order and threads. One session; in it dispatches, several at a time when the program has several
 * queues; in each dispatch strands. A strand carries the events of one workgroup at a time, in
 * order, so that what a handler keeps in its strand needs no lock. Strands run at the same time.
 *
 *   open
 *   session_begin
 *     dispatch_begin                               makes the dispatch's state
 *       strand_begin                               makes a strand's state
 *         wave, block, memory, barrier, message    in the order they happen to a workgroup
 *       strand_end                                 one at a time: add what the strand holds to the
 *                                                  dispatch, and free it
 *     dispatch_end                                 report
 *
 * There is no end of the session: processes end in too many ways. What a handler has to say about all
 * dispatches together it says again after each one; the last word counts.
 *
 * Instrumented kernels (`--pass`, `--real`) can count on the GPU instead of telling each event. A handler
 * that asks for WAVETAP_SUMS gets sum() from them, once for each site that was executed, and none of the
 * single events it asked for; where an engine is watched it gets the events as always.
 *
 * With WAVETAP_SERIAL no two calls of the handler run at the same time at all.
 *
 * Every structure that crosses this interface begins with its size, grows at the end, and keeps what
 * it has. A field is there when `size` reaches beyond it. All pointers are lent for the call, unless
 * it says otherwise.
 */
#ifndef WAVETAP_HANDLER_H
#define WAVETAP_HANDLER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised whenever anything below changes. wavetap takes handlers of this version and older ones. */
#define WAVETAP_HANDLER_VERSION 2u

/* What a handler asks for; what nobody asks for costs nothing. */
enum {
  WAVETAP_WAVES = 1u << 0,    /* wave() */
  WAVETAP_BLOCKS = 1u << 1,   /* block() */
  WAVETAP_MEMORY = 1u << 2,   /* memory(), before anything moves, also when the access will fault */
  WAVETAP_VALUES = 1u << 3,   /* memory() comes after the data has moved instead, with the values */
  WAVETAP_LDS_COST = 1u << 4, /* memory() has wavetap_memory.lds */
  WAVETAP_BARRIERS = 1u << 5, /* barrier() */
  WAVETAP_MESSAGES = 1u << 6, /* message() */
  WAVETAP_SERIAL = 1u << 7,   /* never call two functions of mine at the same time */
  WAVETAP_SUMS = 1u << 8,     /* sum() will do in the place of the events above, where kernels count
                                 themselves (since version 2) */
  WAVETAP_TICKS = 1u << 9     /* sum() of blocks with ticks of the GPU's clock (since version 2) */
};

/* What kind of instruction a site is. */
enum {
  WAVETAP_SALU = 0,
  WAVETAP_SMEM = 1,
  WAVETAP_VALU = 2,
  WAVETAP_MATRIX = 3,
  WAVETAP_VMEM_LOAD = 4,
  WAVETAP_VMEM_STORE = 5,
  WAVETAP_VMEM_ATOMIC = 6,
  WAVETAP_LDS_OP = 7,
  WAVETAP_BRANCH = 8,
  WAVETAP_BARRIER = 9,
  WAVETAP_MESSAGE = 10,
  WAVETAP_WAIT = 11,
  WAVETAP_OTHER = 12,
  WAVETAP_CATEGORIES = 13
};

enum {
  WAVETAP_SITE_WRITES_EXEC = 1u << 0, /* changes which lanes are active */
  WAVETAP_SITE_JUMPS = 1u << 1,       /* may go on elsewhere than behind itself */
  WAVETAP_SITE_CONDITIONAL = 1u << 2, /* ... or not */
  WAVETAP_SITE_ENDS = 1u << 3,        /* ends the wave */
  WAVETAP_SITE_SECOND_HALF = 1u << 4  /* of a pair that issues together: has no event of its own */
};

/* One static instruction. */
typedef struct wavetap_site {
  uint32_t offset;      /* bytes from the begin of its code */
  uint32_t block;       /* index of the first instruction of its block ... */
  uint32_t block_end;   /* ... and the one behind its last */
  uint32_t target;      /* of a jump, an index; UINT32_MAX: none, or outside this code */
  const char* mnemonic; /* one name on all GPUs: "global_load_dword"; lives for ever */
  uint8_t category;     /* WAVETAP_SALU ... */
  uint8_t flags;        /* WAVETAP_SITE_... */
  uint8_t size_bytes;
  uint8_t reserved;
} wavetap_site;

/* A function's machine code: a kernel, or a function that kernels call. Lives for ever, and is the
 * same object in all events about it.
 *
 * A block is a run of instructions that a wave enters at its first one and leaves at its last, with
 * the same lanes active all the way: it ends before a jump's target, behind a jump, and behind an
 * instruction that changes EXEC. So block() tells how often, and by how many lanes, each of its
 * instructions was executed. */
typedef struct wavetap_code {
  size_t size;
  uint32_t id;         /* counts from 0 in a process */
  uint32_t site_count; /* sites[0 .. site_count - 1] */
  const wavetap_site* sites;
  uint64_t address;   /* on the GPU */
  const char* target; /* "gfx90a" */
  uint32_t wave_size; /* 32 or 64 */
} wavetap_code;

typedef struct wavetap_session {
  size_t size;
  uint32_t version; /* of wavetap's side: WAVETAP_HANDLER_VERSION when it was built */
  uint32_t pid;
} wavetap_session;

enum {
  WAVETAP_RUNNING = 0, /* in dispatch_begin */
  WAVETAP_COMPLETE = 1,
  WAVETAP_FAULTED = 2,  /* the kernel did wrong; everything up to there was told */
  WAVETAP_ABANDONED = 3 /* the program took it back */
};

typedef struct wavetap_dispatch {
  size_t size;
  uint64_t id;        /* counts the probed dispatches of this process, from 1 */
  const char* kernel; /* demangled name */
  const char* target; /* "gfx90a" */
  const char* gpu_model;
  uint32_t gpu; /* which of the process's GPUs, from 0 */
  uint32_t queue;
  uint32_t grid_size[3]; /* work-items */
  uint32_t workgroup_size[3];
  uint64_t workgroup_count;
  uint32_t wave_size;     /* 32 or 64 */
  uint32_t line_bytes;    /* of the nearest vector cache */
  uint32_t lds_banks;     /* each four bytes wide */
  uint32_t lds_bytes;     /* of a workgroup */
  uint32_t scratch_bytes; /* of a lane */
  const void* kernarg;    /* a copy of the kernel's arguments; null when not known */
  uint32_t kernarg_bytes; /* hidden arguments included */
  uint32_t status;        /* WAVETAP_RUNNING ... */
} wavetap_dispatch;

typedef struct wavetap_wave {
  const wavetap_dispatch* dispatch;
  uint32_t workgroup[3];
  uint32_t number; /* in its workgroup */
  uint64_t workgroup_number;
} wavetap_wave;

/* Where a wave is. `exec` are the lanes that are active, bit i for lane i. */
typedef struct wavetap_point {
  const wavetap_wave* wave;
  const wavetap_code* code;
  uint32_t site; /* index of the instruction */
  uint32_t reserved;
  uint64_t exec;
} wavetap_point;

enum {
  WAVETAP_WAVE_BEGINS = 0,
  WAVETAP_WAVE_ENDS = 1,
  WAVETAP_WAVE_FAULTS = 2,
  WAVETAP_WAVE_ABANDONED = 3
};

typedef struct wavetap_wave_event {
  size_t size;
  wavetap_point
      at; /* code is null in BEGINS, and where it is not known; in FAULTS the site at fault */
  uint32_t what; /* WAVETAP_WAVE_... */
} wavetap_wave_event;

/* A wave enters a block. */
typedef struct wavetap_block {
  size_t size;
  wavetap_point at;              /* the block's first instruction */
  const wavetap_code* from_code; /* the block it comes from; null: the wave begins */
  uint32_t from_block;           /* its first instruction */
  uint32_t reserved;
  uint64_t from_exec; /* lanes that were active there */
} wavetap_block;

enum { WAVETAP_GLOBAL = 0, WAVETAP_LDS = 1, WAVETAP_SCRATCH = 2 };
enum { WAVETAP_LOAD = 0, WAVETAP_STORE = 1, WAVETAP_ATOMIC = 2, WAVETAP_ATOMIC_RETURN = 3 };
enum {
  WAVETAP_SCALAR = 1u << 0, /* the wave's own: lane 0 stands for it */
  WAVETAP_DMA = 1u << 1     /* one side of a transfer that goes past the registers */
};

/* Cycles that LDS needs for an access. */
typedef struct wavetap_lds_cost {
  uint32_t cycles;            /* all of them */
  uint32_t ideal_cycles;      /* without conflicts */
  uint32_t bank_conflicts;    /* cycles because lanes want different dwords of a bank */
  uint32_t address_conflicts; /* cycles because atomics want the same dword */
  uint32_t ways;              /* most dwords that one bank had to serve at a time */
  uint32_t bank;              /* that bank */
  uint64_t lanes;             /* that conflicted */
} wavetap_lds_cost;

/* One access of an instruction; some make several at once (ds_read2: two). */
typedef struct wavetap_memory {
  size_t size;
  wavetap_point at;
  uint8_t space;  /* WAVETAP_GLOBAL ... */
  uint8_t access; /* WAVETAP_LOAD ... */
  uint8_t flags;  /* WAVETAP_SCALAR, WAVETAP_DMA */
  uint8_t part;   /* which of the instruction's accesses, from 0 ... */
  uint8_t parts;  /* ... of how many */
  uint8_t reserved[3];
  uint32_t element_bytes; /* of each lane */
  uint32_t reserved1;
  uint64_t byte_mask;      /* bytes of the element that are touched, bit i for byte i */
  uint64_t lanes;          /* that touch memory */
  uint64_t outside;        /* that do not: their element lies outside its buffer or the LDS */
  const uint64_t* address; /* by lane; in LDS and scratch: bytes from the begin of it */
  /* With WAVETAP_VALUES: what was loaded or stored, `value_stride` bytes per lane. Null when no
   * register holds it (format conversions, transfers past the registers). */
  const unsigned char* values;
  uint32_t value_stride;
  uint32_t reserved2;
  wavetap_lds_cost lds; /* with WAVETAP_LDS_COST, of accesses to LDS */
} wavetap_memory;

enum { WAVETAP_BARRIER_REACHED = 0, WAVETAP_BARRIER_PASSED = 1 };

/* A wave waits at a barrier, or all of a workgroup go on (at.wave is then its first wave). */
typedef struct wavetap_barrier {
  size_t size;
  wavetap_point at; /* code: null where it is not known */
  uint32_t what;    /* WAVETAP_BARRIER_... */
} wavetap_barrier;

/* A wave sends a message (s_sendmsg). */
typedef struct wavetap_message {
  size_t size;
  wavetap_point at;
  uint32_t kind;  /* the instruction's immediate */
  uint32_t value; /* M0 */
} wavetap_message;

enum {
  WAVETAP_SUM_SITE = 0, /* how often a site was executed */
  WAVETAP_SUM_EDGE = 1  /* how often a block was entered from another, or at the begin of a wave */
};

/* What a site did in a whole dispatch, counted on the GPU. */
typedef struct wavetap_sum {
  size_t size;
  const wavetap_code* code;
  uint32_t site;
  uint32_t what;                 /* WAVETAP_SUM_... */
  uint64_t count;                /* executions by waves */
  uint64_t lanes;                /* that were active in them, added up */
  const wavetap_code* from_code; /* of an edge: the block it comes from; null: the wave begins */
  uint32_t from_block;
  uint32_t reserved;
  /* With WAVETAP_TICKS, of a block: from its begin to its end, waits included. */
  uint64_t ticks;      /* of all executions together */
  uint64_t most_ticks; /* of the longest */
} wavetap_sum;

/* A place in the source. Names live for ever. */
typedef struct wavetap_source {
  size_t size;
  const char* file;     /* "" when not known */
  const char* function; /* "" when not known */
  uint32_t line;        /* 0 when not known */
  uint32_t column;
} wavetap_source;

/* Memory that the program allocated. */
typedef struct wavetap_buffer {
  size_t size;
  uint64_t address;
  uint64_t size_bytes; /* what the program asked for, where that is known; else whole pages */
  const char* kind;    /* "VRAM", ...; lives for ever */
} wavetap_buffer;

/* What wavetap does for a handler. Lives as long as the process; any thread may call. */
typedef struct wavetap_host {
  size_t size;
  uint32_t version;
  uint32_t reserved;
  void* context; /* first argument of the functions */

  /* From wavetap_handler_open(), before it returns null: why it cannot work. */
  void (*refuse)(void* context, const char* why);
  /* A result: one JSON value, valid UTF-8. `dispatch`: what it is about; null: the session, of which
   * the last one counts. It is kept under the handler's name in the results and printed by
   * `wavetap probe`: the member "text" of an object as it is, anything else as JSON. */
  void (*result)(void* context, const wavetap_dispatch* dispatch, const char* json, size_t size);
  /* Appends to the handler's own file of the results, NAME.SUFFIX ("jsonl", ...); whole at a time.
   * Returns 0 when it was not written: the disk is full, say. */
  int (*write)(void* context, const char* suffix, const void* bytes, size_t size);
  /* Counts events that the handler saw and did not keep. `wavetap probe` tells. */
  void (*lose)(void* context, uint64_t count);
  /* Where site `site` comes from: frame 0 is the innermost; the higher ones, those it was inlined
   * into. Returns how many frames there are; *out is filled when `frame` is less. Not inside
   * block(), memory(), ...: it reads files the first time. */
  uint32_t (*source)(void* context, const wavetap_code* code, uint32_t site, uint32_t frame,
                     wavetap_source* out);
  /* What the program has allocated around an address, during the dispatch. Returns 0 when nothing. */
  int (*buffer)(void* context, const wavetap_dispatch* dispatch, uint64_t address,
                wavetap_buffer* out);
} wavetap_host;

/* A handler. Functions that it does not need are null. */
typedef struct wavetap_handler {
  size_t size;      /* sizeof(wavetap_handler) */
  const char* name; /* letters, digits, '_', '-' */
  uint32_t wants;   /* WAVETAP_... or'ed */
  uint32_t reserved;
  void* self;

  void (*session_begin)(void* self, const wavetap_session* session);
  void* (*dispatch_begin)(void* self, const wavetap_dispatch* dispatch);
  void* (*strand_begin)(void* self, void* dispatch);

  void (*wave)(void* strand, const wavetap_wave_event* event);
  void (*block)(void* strand, const wavetap_block* event);
  void (*memory)(void* strand, const wavetap_memory* event);
  void (*barrier)(void* strand, const wavetap_barrier* event);
  void (*message)(void* strand, const wavetap_message* event);

  void (*strand_end)(void* self, void* dispatch, void* strand);
  void (*dispatch_end)(void* self, void* dispatch, const wavetap_dispatch* described);

  /* Since version 2. */
  void (*sum)(void* strand, const wavetap_sum* sum);
} wavetap_handler;

/* What a handler's library exports. `host` lives as long as the process, `arguments` is what stands
 * behind '=' on the command line ("" for nothing). Returns null after host->refuse(). */
#if defined(__GNUC__)
#define WAVETAP_EXPORT __attribute__((visibility("default")))
#else
#define WAVETAP_EXPORT
#endif
extern WAVETAP_EXPORT const uint32_t wavetap_handler_version;
WAVETAP_EXPORT const wavetap_handler* wavetap_handler_open(const wavetap_host* host,
                                                           const char* arguments);

#ifdef __cplusplus
}
#endif

#endif /* WAVETAP_HANDLER_H */
