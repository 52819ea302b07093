#include "agent/real_functions.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace wavetap::agent {
namespace {

// A sanitizer may stand in front of libc's functions.
void* in_libc(const char* name) {
  void* const handle = dlopen("libc.so.6", RTLD_NOLOAD | RTLD_LAZY);
  void* const found = dlsym(handle, name);
  dlclose(handle);
  return found;
}

TEST(RealFunctions, FindsDefinitionsAndTheNextOne) {
  EXPECT_EQ(find_definition("getenv").function, in_libc("getenv"));
  EXPECT_EQ(find_definition("no_such_function_at_all").function, nullptr);
  EXPECT_EQ(find_next("getenv"), in_libc("getenv"));
  EXPECT_EQ(find_real("hipMalloc", Provider::kHip, nullptr).function, nullptr);
  EXPECT_FALSE(is_in_provider(Provider::kHip, in_libc("qsort")));
}

}  // namespace
}  // namespace wavetap::agent
