// Markers through RPD's entry points and roctx, matched and unmatched, with names that need
// quoting; copies that do not fit in 32 bits. Says what a reader of the trace must find.
#include <thread>

#include "host.h"

extern "C" {
__attribute__((weak)) void rpdstart();
__attribute__((weak)) void rpdstop();
__attribute__((weak)) void rpdflush();
__attribute__((weak)) void rpd_rangePush(const char* domain, const char* api,
                                         const char* arguments);
__attribute__((weak)) void rpd_rangePop();
__attribute__((weak)) void rpd_mark(const char* domain, const char* api, const char* arguments);
__attribute__((weak)) void roctxMarkA(const char* message);
__attribute__((weak)) int roctxRangePushA(const char* message);
__attribute__((weak)) int roctxRangePop();
__attribute__((weak)) uint64_t roctxRangeStartA(const char* message);
__attribute__((weak)) void roctxRangeStop(uint64_t id);
}

int main() {
  if (roctxRangePop != nullptr) {
    roctxRangePop();  // nothing was pushed
    roctxRangePushA("with \"quotes\", a \\backslash\\, a\ttab, a\nnewline and ünïcode");
    roctxMarkA("mark 'quoted'");
    roctxRangePop();
    roctxRangePop();  // once too often
    const uint64_t id = roctxRangeStartA("from one thread to another");
    std::thread([id] { roctxRangeStop(id); }).join();
    roctxRangePushA("never popped");
  }
  if (rpd_rangePush != nullptr) {
    rpd_rangePush("python", "function \"f\"", "file.py:12 \\ \"x\"");
    rpd_mark("python", "a mark", "args of the mark");
    rpd_rangePop();
    rpd_rangePop();
  }
  for (const uint64_t bytes : {1ull << 20, 1ull << 31, 3ull << 30, 5ull << 30, 1ull << 40}) {
    CALL(hipMemcpy, reinterpret_cast<void*>(0x1000), reinterpret_cast<void*>(0x2000), bytes,
         hipMemcpyHostToDevice);
  }
  // Stop twice, start once: back where it began. Calls while stopped are not counted.
  if (rpdstop != nullptr) {
    int device;
    rpdstop();
    (void)hipGetDevice(&device);
    rpdstop();
    (void)hipGetDevice(&device);
    rpdstart();
    CALL(hipGetDevice, &device);
    rpdstart();
    rpdstop();
    CALL(hipGetDevice, &device);
    rpdflush();
  }
  host::report();
  return 0;
}
