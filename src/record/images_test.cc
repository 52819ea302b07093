#include "record/images.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <math.h>
#include <stdlib.h>

#include <string>

namespace wavetap::record {
namespace {

Image image_named(std::string_view prefix) {
  Image found;
  find_image([&](const Image& image) {
    if (!file_name_of(image).starts_with(prefix)) return false;
    found = image;
    return true;
  });
  return found;
}

// A sanitizer may stand in front of libc's functions.
void* in_libc(const char* name) {
  void* const handle = dlopen("libc.so.6", RTLD_NOLOAD | RTLD_LAZY);
  void* const found = dlsym(handle, name);
  dlclose(handle);
  return found;
}

TEST(Images, FindsWhatTheLoaderFinds) {
  const Image libc = image_named("libc.so");
  ASSERT_NE(libc.dynamic, nullptr);
  for (const char* name : {"malloc", "getenv", "qsort", "dlsym", "pthread_create"})
    EXPECT_EQ(find_symbol(libc, name), in_libc(name)) << name;
  EXPECT_EQ(find_symbol(libc, "no_such_function_at_all"), nullptr);
  EXPECT_STREQ(soname_of(libc), "libc.so.6");
  EXPECT_TRUE(libc.contains(reinterpret_cast<uintptr_t>(find_symbol(libc, "malloc"))));
  EXPECT_GE(reinterpret_cast<uintptr_t>(find_symbol(libc, "malloc")), libc.text_begin);
  EXPECT_LT(reinterpret_cast<uintptr_t>(find_symbol(libc, "malloc")), libc.text_end);
}

TEST(Images, TheProgramComesFirst) {
  bool first = true;
  find_image([&](const Image& image) {
    EXPECT_TRUE(image.contains(reinterpret_cast<uintptr_t>(&image_named)));
    first = false;
    return true;
  });
  EXPECT_FALSE(first);
}

TEST(Images, ReadsNeededNamesAndBuildIds) {
  const Image stdlib = image_named("libstdc++.so");
  ASSERT_NE(stdlib.dynamic, nullptr);
  bool needs_libc = false;
  for_each_needed(stdlib,
                  [&](const char* name) { needs_libc |= std::string_view(name) == "libc.so.6"; });
  EXPECT_TRUE(needs_libc);
  char id[64];
  const size_t length = build_id_of(stdlib, id, sizeof id);
  EXPECT_EQ(length, 40u);
  EXPECT_EQ(std::string(id, length).find_first_not_of("0123456789abcdef"), std::string::npos);
}

TEST(Images, ListsRelocationsBySymbol) {
  const Image stdlib = image_named("libstdc++.so");
  bool found = false;
  for_each_relocation(stdlib, [&](const ElfW(Rela) & relocation, const char* name) {
    found |= std::string_view(name) == "abort" && relocation.r_offset != 0;
  });
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace wavetap::record
