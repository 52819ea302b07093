// Stands for the libroctx64 that a system has: its depths cannot be taken for another's.
#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int roctxRangePushA(const char*) { return 1000; }
EXPORT int roctxRangePop() { return 2000; }
