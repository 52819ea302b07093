/* wavetap/capture.h from C11: prints the kernel and its arguments, runs it again and compares. */
#include <inttypes.h>
#include <stdio.h>
#include <wavetap/capture.h>

int main(int argc, char** argv) {
  wavetap_captures* file = wavetap_capture_open(argc > 1 ? argv[1] : "");
  if (file == NULL) {
    printf("error: %s\n", wavetap_capture_error());
    return 10;
  }
  wavetap_captured_dispatch dispatch;
  if (wavetap_capture_dispatch(file, 0, &dispatch) != 0) return 2;
  printf("%s: %" PRIu32 " work-items, %zu arguments\n", dispatch.kernel, dispatch.grid[0], dispatch.arguments);
  wavetap_captured_argument argument;
  for (size_t i = 0; i < dispatch.arguments; ++i) {
    if (wavetap_capture_argument(file, 0, i, &argument) != 0) return 2;
    if (!argument.is_hidden) printf("%s %s %zu\n", argument.type, argument.element, argument.value_bytes);
  }
  if (wavetap_capture_argument(file, 0, dispatch.arguments, &argument) == 0) return 3;
  wavetap_replay* replay = wavetap_replay_new(file, 0);
  if (replay == NULL) return 4;
  wavetap_replay_options options = {3, 1, 0, NULL};
  int code = wavetap_replay_run(replay, &options);
  size_t count = 0;
  (void)wavetap_replay_seconds(replay, &count);
  wavetap_comparison comparison;
  if (code == 0) code = wavetap_replay_compare(replay, NULL, &comparison);
  if (code == 0) printf("%zu runs, %s\n", count, comparison.written_bytes > 0 ? "as captured" : "nothing was written");
  else printf("error: %s\n", wavetap_capture_error());
  wavetap_replay_free(replay);
  wavetap_capture_close(file);
  return code;
}
