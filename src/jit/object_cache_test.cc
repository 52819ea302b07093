// Compiled code on disk: kept, found again, and only when it is whole and ours.
#include "jit/object_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "emu/engine.h"
#include "emu/testing/kernel.h"
#include "jit/block_key.h"
#include "jit/compiler.h"

namespace wavetap::jit::object_cache_test {
namespace {

namespace fs = std::filesystem;

class ObjectCacheTest : public testing::Test {
 protected:
  ObjectCacheTest() {
    std::string made = (fs::temp_directory_path() / "wavetap-jit-XXXXXX").string();
    EXPECT_NE(mkdtemp(made.data()), nullptr);
    root_ = made;
    folder_ = root_ / "jit";
  }
  ~ObjectCacheTest() override { fs::remove_all(root_); }

  static std::vector<std::byte> object(uint8_t with, size_t size = 1000) {
    return std::vector<std::byte>(size, std::byte{with});
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(folder_)) found.push_back(entry.path());
    return found;
  }

  fs::path root_;
  fs::path folder_;
};

constexpr BlockKey kKey{{1, 2}};

TEST_F(ObjectCacheTest, KeepsWhatItIsGiven) {
  ObjectCache(folder_).keep(kKey, object(7));
  ObjectCache cache(folder_);
  EXPECT_EQ(cache.find(kKey), object(7));
  EXPECT_TRUE(cache.find({{1, 3}}).empty());
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(ObjectCacheTest, DamagedFilesAreAsGoodAsAbsent) {
  ObjectCache cache(folder_);
  for (int damage = 0; damage < 4; ++damage) {
    cache.keep(kKey, object(7));
    const fs::path path = files().at(0);
    if (damage == 0) fs::resize_file(path, 500);
    if (damage == 1) std::ofstream(path, std::ios::app) << 'x';
    if (damage == 2) fs::resize_file(path, 0);
    if (damage == 3) std::fstream(path).seekp(300) << 'x';
    EXPECT_TRUE(cache.find(kKey).empty()) << damage;
  }
  cache.keep(kKey, object(8));
  EXPECT_EQ(cache.find(kKey), object(8));
}

TEST_F(ObjectCacheTest, FilesThatOthersMayHaveWrittenAreAsGoodAsAbsent) {
  ObjectCache cache(folder_);
  cache.keep(kKey, object(7));
  const fs::path path = files().at(0);
  chmod(path.c_str(), 0622);
  EXPECT_TRUE(cache.find(kKey).empty());
  chmod(path.c_str(), 0600);
  EXPECT_FALSE(cache.find(kKey).empty());
  fs::rename(path, root_ / "elsewhere");
  fs::create_symlink(root_ / "elsewhere", path);
  EXPECT_TRUE(cache.find(kKey).empty());
  if (geteuid() != 0) return;
  fs::remove(path);
  fs::rename(root_ / "elsewhere", path);
  ASSERT_EQ(chown(path.c_str(), 12345, 12345), 0);
  EXPECT_TRUE(cache.find(kKey).empty());
}

TEST_F(ObjectCacheTest, AFolderThatOthersMayWriteIsNotUsed) {
  fs::create_directory(folder_);
  chmod(folder_.c_str(), 0777);
  ObjectCache cache(folder_);
  cache.keep(kKey, object(7));
  EXPECT_TRUE(cache.find(kKey).empty());
  EXPECT_TRUE(files().empty());
  ObjectCache nowhere("");
  nowhere.keep(kKey, object(7));
  EXPECT_TRUE(nowhere.find(kKey).empty());
  ObjectCache missing("/proc/nothing/here");
  missing.keep(kKey, object(7));
  EXPECT_TRUE(missing.find(kKey).empty());
}

TEST_F(ObjectCacheTest, SaysWhyAFolderIsNotUsed) {
  EXPECT_EQ(ObjectCache::refusal(folder_), "");
  EXPECT_TRUE(fs::is_directory(folder_));
  EXPECT_EQ(ObjectCache::refusal(folder_), "");
  chmod(folder_.c_str(), 0777);
  EXPECT_EQ(ObjectCache::refusal(folder_), "other users may write there");
  EXPECT_EQ(ObjectCache::refusal("/proc/nothing/here"), "No such file or directory");
  std::ofstream(root_ / "file");
  EXPECT_EQ(ObjectCache::refusal(root_ / "file"), "is not a folder");
  EXPECT_EQ(ObjectCache::refusal(root_ / "file/jit"), "Not a directory");
  fs::create_symlink(folder_, root_ / "link");
  EXPECT_EQ(ObjectCache::refusal(root_ / "link"), "is not a folder");
  if (geteuid() != 0) {
    chmod(folder_.c_str(), 0700);
    ObjectCache(folder_).keep(kKey, object(7));
    chmod(folder_.c_str(), 0500);
    EXPECT_EQ(ObjectCache::refusal(folder_), "Permission denied");
    EXPECT_EQ(ObjectCache(folder_).find(kKey), object(7)) << "kept before, and still ours";
    chmod(folder_.c_str(), 0700);
    return;
  }
  chmod(folder_.c_str(), 0700);
  ASSERT_EQ(chown(folder_.c_str(), 12345, 12345), 0);
  EXPECT_EQ(ObjectCache::refusal(folder_), "belongs to another user");
}

TEST_F(ObjectCacheTest, WhatWasUsedLeastLatelyGoes) {
  ObjectCache cache(folder_, 20000);
  for (uint64_t i = 0; i < 15; ++i) {
    cache.keep({{i, 0}}, object(uint8_t(i)));
    const timespec times[2] = {{1000 + time_t(i), 0}, {1000 + time_t(i), 0}};
    for (const fs::path& path : files())
      if (path.filename().string().rfind("000000000000000" + std::string(1, "0123456789abcde"[i]),
                                         0) == 0)
        utimensat(AT_FDCWD, path.c_str(), times, 0);
  }
  EXPECT_FALSE(cache.find({{0, 0}}).empty());  // and is used lately now
  for (uint64_t i = 15; i < 30; ++i) cache.keep({{i, 0}}, object(uint8_t(i)));
  uint64_t sum = 0;
  for (const fs::path& path : files()) sum += fs::file_size(path);
  EXPECT_LE(sum, 23000u);
  EXPECT_FALSE(cache.find({{0, 0}}).empty());
  EXPECT_TRUE(cache.find({{1, 0}}).empty());
  EXPECT_FALSE(cache.find({{29, 0}}).empty());
}

// --- The whole way.

// A wave of it comes to the loop 3000 times.
constexpr const char* kLoop = R"(
    v_mov_b32 v3, 1.0
    s_movk_i32 s6, 0
  loop:
    v_fma_f32 v3, v3, 0.5, v3
    v_xor_b32 v4, v3, v0
    s_add_u32 s6, s6, 1
    s_cmpk_lt_u32 s6, 3000
    s_cbranch_scc1 loop
    s_endpgm)";

TEST_F(ObjectCacheTest, WhatIsWarmIsLoadedAndWhatIsHotIsCompiled) {
  emu::TestKernel kernel({}, kLoop);
  const auto run = [&](uint32_t waves) {
    kernel.set_size(64 * waves, 64);
    Compiler compiler({WT_JIT_LIBRARY, false, folder_.string()});
    emu::Engine engine({.threads = 1, .compiler = &compiler});
    EXPECT_FALSE(engine.run(kernel.dispatch).fault.has_value());
    compiler.drain();
    return compiler.figures();
  };
  EXPECT_GT(run(1).asked, 0u);
  EXPECT_TRUE(files().empty());
  EXPECT_EQ(run(2).compiled, 1u);
  EXPECT_EQ(files().size(), 1u);
  const Figures again = run(1);
  EXPECT_EQ(again.loaded, 1u);
  EXPECT_EQ(again.compiled, 0u);
}

TEST_F(ObjectCacheTest, TheSecondRunCompilesNothing) {
  emu::TestKernel kernel({}, kLoop);
  kernel.set_size(256, 64);
  const auto run = [&](bool is_first) {
    Compiler compiler({WT_JIT_LIBRARY, false, folder_.string()});
    emu::Engine engine({.threads = 1, .compiler = &compiler});
    EXPECT_FALSE(engine.run(kernel.dispatch).fault.has_value());
    compiler.drain();
    const Figures figures = compiler.figures();
    EXPECT_FALSE(figures.is_broken);
    if (is_first) EXPECT_GT(figures.compiled, 0u);
    else EXPECT_EQ(figures.compiled, 0u);
    EXPECT_EQ(figures.loaded > 0, !is_first);
  };
  run(true);
  run(false);
  // What is damaged is compiled once more, and then is there again.
  for (const fs::path& path : files()) fs::resize_file(path, fs::file_size(path) / 2);
  run(true);
  run(false);
}

TEST(BlockKeys, DependOnEverything) {
  isa::Inst insts[2];
  const uint8_t ordinary[2] = {1, 1};
  uint8_t ends_turn[2] = {0, 0};
  LiveRegisters live[3] = {};
  BlockRequest request{insts, 2, 0, ordinary, ends_turn, live, 2, true, false};
  const BlockKey key = key_of(request, "maker");
  EXPECT_EQ(key_of(request, "maker"), key);
  EXPECT_FALSE(key_of(request, "other") == key);
  request.wave64 = false;
  EXPECT_FALSE(key_of(request, "maker") == key);
  request.wave64 = true;
  ends_turn[1] = 1;
  EXPECT_FALSE(key_of(request, "maker") == key);
  ends_turn[1] = 0;
  live[2].set_row(70);
  EXPECT_FALSE(key_of(request, "maker") == key);
  live[2] = {};
  request.live = nullptr;
  EXPECT_FALSE(key_of(request, "maker") == key);
  request.live = live;
  EXPECT_EQ(key_of(request, "maker"), key);
  insts[1].src[2].imm = 1;
  EXPECT_FALSE(key_of(request, "maker") == key);
}

}  // namespace
}  // namespace wavetap::jit::object_cache_test
