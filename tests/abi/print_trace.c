/* wavetap/trace.h from C11: prints how many rows each table has and the first call. */
#include <stdio.h>
#include <wavetap/trace.h>

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
  char* json = wavetap_trace_analyze(trace, "no-such-analysis", 0, NULL);
  printf("%s\n", json == NULL ? wavetap_trace_error() : json);
  wavetap_trace_free(json);
  wavetap_trace_close(trace);
  return 0;
}
