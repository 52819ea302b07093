#include "vgpu/compile_cache.h"

#include <gnu/libc-version.h>
#include <stdlib.h>

#include <fstream>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "vgpu/test_driver.h"

namespace wavetap::vgpu {
namespace {

constexpr uint32_t kSourceKind = 1, kHeaderKind = 3, kLogKind = 5, kBitcodeKind = 6,
                   kObjectKind = 7;
constexpr uint32_t kCompile = 2, kAddLibraries = 3, kLink = 4, kCodegen = 6;
constexpr uint32_t kOpenCl2 = 2, kHip = 3;

struct FakeData {
  uint32_t kind;
  std::string name;
  std::string bytes;
  bool operator==(const FakeData&) const = default;
};

// A compiler library: its result is one object that quotes its inputs, and a log.
struct FakeLibrary {
  std::map<ComgrHandle, FakeData> data;
  std::map<ComgrHandle, std::vector<ComgrHandle>> sets;
  std::string isa = "amdgcn-amd-amdhsa--gfx1030";
  std::vector<std::string> options = {"-O3"};
  uint32_t language = kOpenCl2;
  size_t major = 2;
  ComgrHandle next = 1;
  int actions = 0;
  ComgrStatus answer = kComgrSuccess;
  int refused_data = 0;  // how many calls of set_data are refused
  int held = 0;          // data given out and not released
};
FakeLibrary* fake = nullptr;

ComgrStatus copy_out(const std::string& text, size_t* size, char* to) {
  if (to != nullptr) text.copy(to, *size);
  *size = text.size();
  return kComgrSuccess;
}
std::string with_zero(const std::string& text) { return text + '\0'; }

ComgrHandle add(ComgrHandle set, FakeData data) {
  const ComgrHandle handle = fake->next++;
  fake->data[handle] = std::move(data);
  fake->sets[set].push_back(handle);
  return handle;
}

std::vector<FakeData> contents(ComgrHandle set) {
  std::vector<FakeData> all;
  for (const ComgrHandle handle : fake->sets[set]) all.push_back(fake->data[handle]);
  return all;
}

Comgr functions() {
  Comgr c{};
  c.do_action = [](uint32_t kind, ComgrHandle, ComgrHandle input, ComgrHandle result) {
    ++fake->actions;
    if (fake->answer != kComgrSuccess) return fake->answer;
    std::string made = "made by " + std::to_string(kind) + " of";
    for (const FakeData& datum : contents(input)) made += " " + datum.name;
    add(result, {kLogKind, "comgr.log", "said " + std::to_string(kind)});
    add(result, {kObjectKind, "out.o", made + std::string(3, '\0') + "end"});
    return kComgrSuccess;
  };
  c.get_version = [](size_t* major, size_t* minor) { *major = fake->major, *minor = 4; };
  c.get_isa_name = [](ComgrHandle, size_t* n, char* to) {
    return copy_out(with_zero(fake->isa), n, to);
  };
  c.get_language = [](ComgrHandle, uint32_t* language) {
    *language = fake->language;
    return kComgrSuccess;
  };
  c.get_option_count = [](ComgrHandle, size_t* count) {
    *count = fake->options.size();
    return kComgrSuccess;
  };
  c.get_option = [](ComgrHandle, size_t i, size_t* n, char* to) {
    return copy_out(with_zero(fake->options.at(i)), n, to);
  };
  c.get_logging = [](ComgrHandle, bool* is_on) {
    *is_on = true;
    return kComgrSuccess;
  };
  c.data_count = [](ComgrHandle set, uint32_t kind, size_t* count) -> ComgrStatus {
    if (kind > 16) return 2;
    *count = 0;
    for (const FakeData& datum : contents(set)) *count += datum.kind == kind;
    return kComgrSuccess;
  };
  c.data_of_set = [](ComgrHandle set, uint32_t kind, size_t index,
                     ComgrHandle* data) -> ComgrStatus {
    for (const ComgrHandle handle : fake->sets[set]) {
      if (fake->data[handle].kind != kind || index-- != 0) continue;
      *data = handle;
      ++fake->held;
      return kComgrSuccess;
    }
    return 2;
  };
  c.get_data = [](ComgrHandle data, size_t* n, char* to) {
    return copy_out(fake->data[data].bytes, n, to);
  };
  c.get_data_name = [](ComgrHandle data, size_t* n, char* to) {
    return copy_out(with_zero(fake->data[data].name), n, to);
  };
  c.create_data = [](uint32_t kind, ComgrHandle* data) {
    *data = fake->next++;
    fake->data[*data] = {kind, "", ""};
    ++fake->held;
    return kComgrSuccess;
  };
  c.set_data = [](ComgrHandle data, size_t size, const char* bytes) -> ComgrStatus {
    if (size == 0) return 2;
    // Not the first: something is in the set already.
    if (fake->refused_data > 0 && fake->data[data].kind == kObjectKind)
      return --fake->refused_data, 2;
    fake->data[data].bytes.assign(bytes, size);
    return kComgrSuccess;
  };
  c.set_data_name = [](ComgrHandle data, const char* name) {
    fake->data[data].name = name;
    return kComgrSuccess;
  };
  c.release_data = [](ComgrHandle) {
    --fake->held;
    return kComgrSuccess;
  };
  c.add_to_set = [](ComgrHandle set, ComgrHandle data) {
    fake->sets[set].push_back(data);
    return kComgrSuccess;
  };
  c.remove_from_set = [](ComgrHandle set, uint32_t) {
    fake->sets[set].clear();
    return kComgrSuccess;
  };
  return c;
}

class CompileCache : public testing::Test {
 protected:
  CompileCache() { fake = &library_; }

  // One action in a fresh process, so to say: its inputs, then what it gave.
  std::vector<FakeData> run(uint32_t kind, std::vector<FakeData> inputs,
                            const std::string& compiler = "comgr=1;") {
    const ComgrHandle input = library_.next++, result = library_.next++;
    for (FakeData& datum : inputs) add(input, std::move(datum));
    status_ = do_action_once(functions(), folder(), compiler, kind, /*info=*/7, input, result);
    EXPECT_EQ(library_.held, 0) << "data not released";
    return contents(result);
  }
  // How often the library was asked while `body` ran.
  template <class Body>
  int asked(Body&& body) {
    const int before = library_.actions;
    body();
    return library_.actions - before;
  }
  std::string folder() const { return scratch_.path() + "/comgr"; }

  const ScratchDirectory scratch_;
  FakeLibrary library_;
  ComgrStatus status_ = kComgrSuccess;
  const std::vector<FakeData> bitcode_ = {{kBitcodeKind, "a.bc", "BC\xc0\xde one"},
                                          {kBitcodeKind, "b.bc", "BC\xc0\xde two"}};
};

TEST_F(CompileCache, GivesTheSameResultWithoutAskingAgain) {
  std::vector<FakeData> first, second;
  EXPECT_EQ(asked([&] { first = run(kLink, bitcode_); }), 1);
  EXPECT_EQ(asked([&] { second = run(kLink, bitcode_); }), 0);
  EXPECT_EQ(status_, kComgrSuccess);
  EXPECT_EQ(first.size(), 2u);
  EXPECT_EQ(first, second);
}

TEST_F(CompileCache, AsksWhenAnythingIsDifferent) {
  run(kLink, bitcode_);
  EXPECT_EQ(asked([&] { run(kCodegen, bitcode_); }), 1) << "action";
  EXPECT_EQ(asked([&] { run(kLink, {bitcode_[1], bitcode_[0]}); }), 1) << "order";
  EXPECT_EQ(asked([&] {
              run(kLink, {bitcode_[0], {kBitcodeKind, "b.bc", "BC\xc0\xde twO"}});
            }),
            1)
      << "bytes";
  EXPECT_EQ(asked([&] {
              run(kLink, {bitcode_[0], {kBitcodeKind, "c.bc", "BC\xc0\xde two"}});
            }),
            1)
      << "name";
  EXPECT_EQ(asked([&] { run(kLink, bitcode_, "comgr=2;"); }), 1) << "compiler";
  library_.isa = "amdgcn-amd-amdhsa--gfx90a";
  EXPECT_EQ(asked([&] { run(kLink, bitcode_); }), 1) << "ISA";
  library_.options = {"-O3", "-mcode-object-version=4"};
  EXPECT_EQ(asked([&] { run(kLink, bitcode_); }), 1) << "options";
  EXPECT_EQ(asked([&] { run(kLink, bitcode_); }), 0) << "nothing";
}

TEST_F(CompileCache, DoesNotCareAboutTheLogOfTheActionBefore) {
  run(kLink, {bitcode_[0], {kLogKind, "comgr.log", "in 12 ms"}});
  EXPECT_EQ(asked([&] { run(kLink, {bitcode_[0], {kLogKind, "comgr.log", "in 13 ms"}}); }), 0);
}

TEST_F(CompileCache, KeepsWhatIsMadeOfSourceThatReadsNothing) {
  const FakeData header{kHeaderKind, "opencl.pch", "CPCH"};
  const auto twice = [&](const std::string& source) {
    const std::vector<FakeData> inputs = {{kSourceKind, "CompileSource", source}, header};
    return asked([&] { run(kCompile, inputs), run(kCompile, inputs); });
  };
  EXPECT_EQ(twice("kernel void f() {}"), 1);
  EXPECT_EQ(twice("#include \"other.h\"\nkernel void f() {}"), 2);
  EXPECT_EQ(twice("constant char made[] = __DATE__;"), 2);
  library_.language = kHip;  // reads headers that are not in the set
  EXPECT_EQ(twice("void g() {}"), 2);
}

TEST_F(CompileCache, AsksWhereTheResultMayDependOnMore) {
  const auto twice = [&](uint32_t kind = kLink) {
    return asked([&] { run(kind, bitcode_), run(kind, bitcode_); });
  };
  EXPECT_EQ(twice(kAddLibraries), 2) << "an action that copies";
  library_.options = {"-mllvm", "--file=/tmp/x"};
  EXPECT_EQ(twice(), 2) << "an option that names a file";
  library_.options = {"@arguments"};
  EXPECT_EQ(twice(), 2) << "options in a file";
  library_.options = {};
  library_.major = 3;
  EXPECT_EQ(twice(), 2) << "a library of another generation";
  library_.major = 2;
  ASSERT_EQ(setenv("AMD_COMGR_SAVE_TEMPS", "1", 1), 0);
  EXPECT_EQ(twice(), 2) << "somebody watches it";
  ASSERT_EQ(unsetenv("AMD_COMGR_SAVE_TEMPS"), 0);
  EXPECT_EQ(asked([&] { run(kLink, bitcode_, ""), run(kLink, bitcode_, ""); }), 2)
      << "an unknown compiler";
  EXPECT_EQ(asked([&] {
              run(kLink, {{kObjectKind + 2, "x", "y"}}), run(kLink, {{kObjectKind + 2, "x", "y"}});
            }),
            2)
      << "data of a kind we do not know";
  EXPECT_EQ(twice(), 1);
}

TEST_F(CompileCache, KeepsNothingOfActionsThatFail) {
  library_.answer = 1;
  EXPECT_EQ(asked([&] { run(kLink, bitcode_), run(kLink, bitcode_); }), 2);
  EXPECT_EQ(status_, 1u);
  library_.answer = kComgrSuccess;
  EXPECT_EQ(run(kLink, bitcode_).size(), 2u);
}

TEST_F(CompileCache, CompilesAgainWhatIsDamaged) {
  const std::vector<FakeData> good = run(kLink, bitcode_);
  int files = 0;
  for (const std::string& name : sys::list_directory(folder())) {
    std::fstream file(folder() + "/" + name, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-1, std::ios::end);
    file.put('?');
    ++files;
  }
  ASSERT_EQ(files, 1);
  EXPECT_EQ(asked([&] { EXPECT_EQ(run(kLink, bitcode_), good); }), 1);
  EXPECT_EQ(asked([&] { EXPECT_EQ(run(kLink, bitcode_), good); }), 0) << "and it is whole again";
}

TEST_F(CompileCache, AsksForACleanResultWhenOneCannotBeGiven) {
  const std::vector<FakeData> good = run(kLink, bitcode_);
  library_.refused_data = 1;
  EXPECT_EQ(asked([&] { EXPECT_EQ(run(kLink, bitcode_), good); }), 1);
}

TEST_F(CompileCache, LeavesAResultSetAloneThatHasSomethingInIt) {
  run(kLink, bitcode_);
  const ComgrHandle input = library_.next++, result = library_.next++;
  for (const FakeData& datum : bitcode_) add(input, datum);
  add(result, {kLogKind, "before", "text"});
  EXPECT_EQ(
      asked([&] { do_action_once(functions(), folder(), "comgr=1;", kLink, 7, input, result); }),
      1);
  EXPECT_EQ(contents(result).size(), 3u);
}

TEST_F(CompileCache, WorksWithoutAPlaceToKeepAnything) {
  const ComgrHandle input = library_.next++, result = library_.next++;
  for (const FakeData& datum : bitcode_) add(input, datum);
  EXPECT_EQ(do_action_once(functions(), "", "comgr=1;", kLink, 7, input, result), kComgrSuccess);
  EXPECT_EQ(
      do_action_once(functions(), "/proc/nowhere", "comgr=1;", kLink, 7, input, library_.next++),
      kComgrSuccess);
  EXPECT_EQ(contents(result).size(), 2u);
}

TEST(CompilerIdentity, IsThatOfTheLibraryTheFunctionIsIn) {
  // Two functions that no sanitizer puts its own in front of.
  const std::string libc =
      compiler_identity(reinterpret_cast<const void*>(&::gnu_get_libc_version));
  EXPECT_NE(libc.find("libc.so"), std::string::npos) << libc;
  EXPECT_EQ(libc, compiler_identity(reinterpret_cast<const void*>(&::gnu_get_libc_release)));
  EXPECT_EQ(compiler_identity(nullptr), "");
}

}  // namespace
}  // namespace wavetap::vgpu
