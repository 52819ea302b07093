/* wavetap/trace.h from C11: prints how many rows each table has, the first call, and what ops were counted to do. */
#include <stdio.h>
#include <string.h>
#include <wavetap/trace.h>

/* The column of a table that has this name; data NULL: there is none. */
static wavetap_column column_named(const wavetap_trace* trace, wavetap_table table, const char* name) {
  wavetap_column column = {0};
  for (size_t i = 0; i < wavetap_trace_columns(trace, table); ++i)
    if (wavetap_trace_column(trace, table, i, &column) == 0 && strcmp(column.name, name) == 0) return column;
  memset(&column, 0, sizeof(column));
  return column;
}

static const void* cell(const wavetap_column* column, size_t row) {
  return (const char*)column->data + row * column->stride;
}

static const char* text(const wavetap_trace* trace, const wavetap_column* column, size_t row) {
  size_t bytes = 0;
  return wavetap_trace_string(trace, *(const uint32_t*)cell(column, row), &bytes);
}

static void print_counters(const wavetap_trace* trace) {
  const wavetap_column op = column_named(trace, WAVETAP_COUNTERS, "op");
  const wavetap_column name = column_named(trace, WAVETAP_COUNTERS, "name");
  const wavetap_column value = column_named(trace, WAVETAP_COUNTERS, "value");
  const wavetap_column kernel = column_named(trace, WAVETAP_OPS, "description");
  for (size_t row = 0; row < wavetap_trace_rows(trace, WAVETAP_COUNTERS); ++row) {
    if (op.type != WAVETAP_ROW || name.type != WAVETAP_STRING || value.type != WAVETAP_REAL) return;
    const uint32_t of = *(const uint32_t*)cell(&op, row);
    printf("op %u, %s: %s = %.0f\n", (unsigned)of, text(trace, &kernel, of), text(trace, &name, row),
           *(const double*)cell(&value, row));
  }
}

int main(int argc, char** argv) {
  wavetap_trace* trace = wavetap_trace_open(argc > 1 ? argv[1] : "", 0);
  if (trace == NULL) {
    printf("error: %s\n", wavetap_trace_error());
    return 1;
  }
  for (int table = WAVETAP_CALLS; table <= WAVETAP_LIBRARIES; ++table)
    printf("%d: %zu rows, %zu columns\n", table, wavetap_trace_rows(trace, (wavetap_table)table),
           wavetap_trace_columns(trace, (wavetap_table)table));
  for (size_t i = 0; i < wavetap_trace_columns(trace, WAVETAP_CALLS); ++i) {
    wavetap_column column;
    size_t bytes = 0;
    if (wavetap_trace_column(trace, WAVETAP_CALLS, i, &column) != 0) return 2;
    if (column.type == WAVETAP_INT64) printf("%s = %lld\n", column.name, (long long)*(const int64_t*)column.data);
    if (column.type == WAVETAP_STRING)
      printf("%s = %s\n", column.name, wavetap_trace_string(trace, *(const uint32_t*)column.data, &bytes));
    if (column.type == WAVETAP_ARGS) {
      const char* text = wavetap_trace_args(trace, 0, &bytes);
      printf("%s = %.*s\n", column.name, (int)bytes, text);
    }
  }
  print_counters(trace);
  char* json = wavetap_trace_analyze(trace, "no-such-analysis", 0, NULL);
  printf("%s\n", json == NULL ? wavetap_trace_error() : json);
  wavetap_trace_free(json);
  wavetap_trace_close(trace);
  return 0;
}
