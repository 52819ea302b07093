// What the user already preloads: it says that it is there and stands before hipMalloc itself.
#include <dlfcn.h>
#include <hip/hip_runtime_api.h>
#include <unistd.h>

namespace {
void say(const char* text, size_t length) { (void)!write(STDOUT_FILENO, text, length); }
__attribute__((constructor)) void loaded() { say("preloaded\n", 10); }
}  // namespace

extern "C" __attribute__((visibility("default"))) hipError_t hipMalloc(void** pointer,
                                                                       size_t size) {
  static const auto next =
      reinterpret_cast<hipError_t (*)(void**, size_t)>(dlsym(RTLD_NEXT, "hipMalloc"));
  say("hipMalloc passes by\n", 20);
  return next(pointer, size);
}
