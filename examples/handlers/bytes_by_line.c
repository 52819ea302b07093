/* A handler for wavetap probe: how many bytes each source line loads and stores in global memory.
 *
 *   cc -shared -fPIC bytes_by_line.c -o bytes_by_line.so
 *   wavetap probe ./bytes_by_line.so -- ./my_hip_program
 *   wavetap probe ./bytes_by_line.so=10 kernel.wtcap         the ten lines that move most
 *
 * Three kinds of state, as wavetap/handler.h has them: what the handler is (one, for ever), what a
 * dispatch adds up to, and what a strand counts without taking a lock.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wavetap/handler.h>

/* Bytes by site of one code. */
typedef struct counts {
  const wavetap_code* code;
  uint64_t* bytes;
  struct counts* next;
} counts;

static const wavetap_host* host;
static size_t most_lines = 20;

static uint64_t* find(counts** list, const wavetap_code* code) {
  for (counts* known = *list; known != NULL; known = known->next)
    if (known->code == code) return known->bytes;
  counts* made = malloc(sizeof *made);
  made->code = code;
  made->bytes = calloc(code->site_count, sizeof *made->bytes);
  made->next = *list;
  *list = made;
  return made->bytes;
}

static void drop(counts* list) {
  while (list != NULL) {
    counts* next = list->next;
    free(list->bytes);
    free(list);
    list = next;
  }
}

/* A dispatch and a strand are both a list of counts, kept behind a pointer to its head. */
static void* make_list(void) { return calloc(1, sizeof(counts*)); }

static void* on_dispatch(void* self, const wavetap_dispatch* dispatch) {
  (void)self, (void)dispatch;
  return make_list();
}

static void* on_strand(void* self, void* dispatch) {
  (void)self, (void)dispatch;
  return make_list();
}

static void on_memory(void* strand, const wavetap_memory* event) {
  if (event->space != WAVETAP_GLOBAL) return;
  find(strand, event->at.code)[event->at.site] +=
      (uint64_t)__builtin_popcountll(event->lanes) * event->element_bytes;
}

static void on_strand_end(void* self, void* dispatch, void* strand) {
  (void)self;
  for (const counts* from = *(counts**)strand; from != NULL; from = from->next) {
    uint64_t* to = find(dispatch, from->code);
    for (uint32_t i = 0; i < from->code->site_count; ++i) to[i] += from->bytes[i];
  }
  drop(*(counts**)strand);
  free(strand);
}

/* A line of the source, and what it moved. */
typedef struct line {
  const char* file;
  uint32_t number;
  uint64_t bytes;
} line;

static int by_bytes(const void* a, const void* b) {
  const line *x = a, *y = b;
  if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
  return x->number < y->number ? -1 : x->number > y->number;
}

static void on_dispatch_end(void* self, void* dispatch, const wavetap_dispatch* described) {
  (void)self;
  line lines[256];
  size_t count = 0;
  for (const counts* of = *(counts**)dispatch; of != NULL; of = of->next) {
    for (uint32_t site = 0; site < of->code->site_count; ++site) {
      if (of->bytes[site] == 0) continue;
      wavetap_source place = {.size = sizeof place, .file = "unknown"};
      host->source(host->context, of->code, site, 0, &place);
      size_t i = 0;
      while (i < count && (lines[i].number != place.line || strcmp(lines[i].file, place.file) != 0))
        ++i;
      if (i == sizeof lines / sizeof *lines) {
        host->lose(host->context, 1);
        continue;
      }
      if (i == count) lines[count++] = (line){place.file, place.line, 0};
      lines[i].bytes += of->bytes[site];
    }
  }
  qsort(lines, count, sizeof *lines, by_bytes);
  char text[16384];
  int size = snprintf(text, sizeof text, "{\"text\":\"bytes_by_line:");
  for (size_t i = 0; i < count && i < most_lines; ++i) {
    const char* name = strrchr(lines[i].file, '/');
    size += snprintf(text + size, sizeof text - (size_t)size, "\\n  %s:%u  %llu bytes",
                     name == NULL ? lines[i].file : name + 1, lines[i].number,
                     (unsigned long long)lines[i].bytes);
    if ((size_t)size > sizeof text - 512) break;
  }
  size += snprintf(text + size, sizeof text - (size_t)size, "\",\"lines\":%zu}", count);
  host->result(host->context, described, text, (size_t)size);
  drop(*(counts**)dispatch);
  free(dispatch);
}

static const wavetap_handler handler = {
    .size = sizeof(wavetap_handler),
    .name = "bytes_by_line",
    .wants = WAVETAP_MEMORY,
    .dispatch_begin = on_dispatch,
    .strand_begin = on_strand,
    .memory = on_memory,
    .strand_end = on_strand_end,
    .dispatch_end = on_dispatch_end,
};

WAVETAP_EXPORT const uint32_t wavetap_handler_version = WAVETAP_HANDLER_VERSION;

const wavetap_handler* wavetap_handler_open(const wavetap_host* from, const char* arguments) {
  host = from;
  if (*arguments != '\0') {
    most_lines = strtoul(arguments, NULL, 10);
    if (most_lines == 0) {
      host->refuse(host->context, "its argument is a number of lines, from 1");
      return NULL;
    }
  }
  return &handler;
}
