// Markers of a program that opens libroctx64 itself, where there may be none.
#include <dlfcn.h>

#include "host.h"

int main() {
  host::use_device(1);
  void* library = dlopen("libroctx64.so.4", RTLD_NOW | RTLD_LOCAL);
  host::say("libroctx64: %s", library != nullptr ? "found" : "not found");
  if (library == nullptr) return 1;
  const auto push = reinterpret_cast<int (*)(const char*)>(dlsym(library, "roctxRangePushA"));
  const auto pop = reinterpret_cast<int (*)()>(dlsym(library, "roctxRangePop"));
  const int pushed = push("opened by name");
  const int popped = pop();
  host::say("depths %d %d", pushed, popped);
  return 0;
}
