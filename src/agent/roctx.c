/* libroctx64.so.4 for systems without one: programs that were linked with it start, and their markers reach whoever
 * stands in front of it (libwavetap.so does). On its own it keeps the depths and numbers that the interface promises
 * and does nothing else. */
#include <stdatomic.h>
#include <stdint.h>

#define WT_EXPORT __attribute__((visibility("default")))

static _Thread_local int t_depth;
static _Atomic uint64_t g_ranges;

WT_EXPORT uint32_t roctx_version_major(void) { return 4; }
WT_EXPORT uint32_t roctx_version_minor(void) { return 1; }
WT_EXPORT void roctxMarkA(const char* message) { (void)message; }
WT_EXPORT int roctxRangePushA(const char* message) {
  (void)message;
  return t_depth++;
}
WT_EXPORT int roctxRangePop(void) { return t_depth == 0 ? -1 : --t_depth; }
WT_EXPORT uint64_t roctxRangeStartA(const char* message) {
  (void)message;
  return atomic_fetch_add(&g_ranges, 1) + 1;
}
WT_EXPORT void roctxRangeStop(uint64_t range) { (void)range; }
