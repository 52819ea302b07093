#include "codeobj/container.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include "codeobj/elf.h"
#include "codeobj/test_support.h"

namespace wavetap::codeobj {
namespace {

using test::Buffer;

constexpr uint32_t kMachGfx90a = 0x3f;
constexpr uint32_t kMachGfx1030 = 0x36;

Buffer tiny_code_object(uint32_t mach) {
  return test::make_elf(kElfMachineAmdgpu, mach, {{".text", Buffer(16)}});
}

Buffer two_target_bundle() {
  return test::make_bundle(
      {{"host-x86_64-unknown-linux--", {}},
       {"hipv4-amdgcn-amd-amdhsa--gfx1030", tiny_code_object(kMachGfx1030)},
       {"hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-", tiny_code_object(kMachGfx90a)}});
}

void expect_two_targets(const ContainerContents& contents) {
  ASSERT_EQ(contents.code_objects.size(), 2u);
  EXPECT_TRUE(contents.problems.empty());
  EXPECT_EQ(contents.code_objects[0].target_id, "gfx1030");
  EXPECT_EQ(contents.code_objects[0].target, (amd::GfxTarget{10, 3, 0}));
  EXPECT_EQ(contents.code_objects[1].target_id, "gfx90a:sramecc+:xnack-");
  EXPECT_EQ(contents.code_objects[1].target, (amd::GfxTarget{9, 0, 10}));
  for (const ContainedCodeObject& object : contents.code_objects)
    EXPECT_TRUE(ElfView::open(object.bytes));
}

Buffer compressed(int version, bool zstd, const Buffer& plain) {
  Buffer packed;
  if (zstd) {
    packed.resize(ZSTD_compressBound(plain.size()));
    packed.resize(ZSTD_compress(packed.data(), packed.size(), plain.data(), plain.size(), 3));
  } else {
    uLongf size = compressBound(plain.size());
    packed.resize(size);
    compress(reinterpret_cast<Bytef*>(packed.data()), &size,
             reinterpret_cast<const Bytef*>(plain.data()), plain.size());
    packed.resize(size);
  }
  Buffer out;
  test::put_text(out, "CCOB");
  test::put(out, static_cast<uint16_t>(version));
  test::put(out, static_cast<uint16_t>(zstd ? 1 : 0));
  const size_t header = version == 1 ? 20 : version == 2 ? 24 : 32;
  if (version == 2) test::put(out, static_cast<uint32_t>(header + packed.size()));
  if (version == 3) test::put(out, uint64_t{header + packed.size()});
  if (version == 3) {
    test::put(out, uint64_t{plain.size()});
  } else {
    test::put(out, static_cast<uint32_t>(plain.size()));
  }
  test::put(out, uint64_t{0x1234});
  out.insert(out.end(), packed.begin(), packed.end());
  return out;
}

TEST(Container, FindsARawCodeObject) {
  const Buffer file = tiny_code_object(kMachGfx90a);
  const ContainerContents contents = find_code_objects(file);
  ASSERT_EQ(contents.code_objects.size(), 1u);
  EXPECT_EQ(contents.code_objects[0].target_id, "gfx90a");
  EXPECT_EQ(contents.code_objects[0].bytes.size(), file.size());
}

TEST(Container, FindsTheEntriesOfABundle) {
  expect_two_targets(find_code_objects(two_target_bundle()));
}

TEST(Container, FindsSeveralBundlesInAHostProgram) {
  Buffer section =
      test::make_bundle({{"hipv4-amdgcn-amd-amdhsa--gfx1030", tiny_code_object(kMachGfx1030)}});
  section.resize((section.size() + 4095) / 4096 * 4096);
  const Buffer second = test::make_bundle(
      {{"hip-amdgcn-amd-amdhsa-gfx90a:sramecc+:xnack-", tiny_code_object(kMachGfx90a)}});
  section.insert(section.end(), second.begin(), second.end());
  const Buffer program =
      test::make_elf(EM_X86_64, 0, {{".text", Buffer(64)}, {".hip_fatbin", section}});
  const ContainerContents contents = find_code_objects(program);
  expect_two_targets(contents);
  // The offset leads to the code object's own header.
  for (const ContainedCodeObject& object : contents.code_objects)
    EXPECT_EQ(std::memcmp(program.data() + object.file_offset, ELFMAG, SELFMAG), 0);
}

TEST(Container, UnpacksCompressedBundlesOfEveryVersion) {
  for (const int version : {1, 2, 3})
    for (const bool zstd : {true, false}) {
      SCOPED_TRACE(testing::Message() << "version " << version << (zstd ? " zstd" : " zlib"));
      const Buffer packed = compressed(version, zstd, two_target_bundle());
      expect_two_targets(find_code_objects(packed));
      // Two in a row: the size tells where the next begins, in version 1 the end of the stream
      // does.
      Buffer twice = packed;
      twice.insert(twice.end(), packed.begin(), packed.end());
      EXPECT_EQ(find_code_objects(twice).code_objects.size(), 4u);
    }
}

TEST(Container, UnpackedCodeObjectsOutliveTheInput) {
  ContainerContents contents;
  {
    const Buffer packed = compressed(2, true, two_target_bundle());
    contents = find_code_objects(packed);
  }
  expect_two_targets(contents);
}

TEST(Container, ReportsDamageAndGoesOn) {
  Buffer damaged = compressed(2, true, two_target_bundle());
  damaged[24] ^= std::byte{0xff};  // the first byte of the stream
  const Buffer good = two_target_bundle();
  damaged.insert(damaged.end(), good.begin(), good.end());
  const ContainerContents contents = find_code_objects(damaged);
  EXPECT_EQ(contents.code_objects.size(), 2u);
  ASSERT_EQ(contents.problems.size(), 1u);
  EXPECT_EQ(contents.problems[0], "offset 0x0: compressed bundle: the data is damaged");
}

TEST(Container, DoesNotBelieveAHugeSize) {
  Buffer packed = compressed(3, true, two_target_bundle());
  const uint64_t huge = uint64_t{1} << 40;
  std::memcpy(packed.data() + 16, &huge, sizeof huge);
  const ContainerContents contents = find_code_objects(packed);
  EXPECT_TRUE(contents.code_objects.empty());
  EXPECT_FALSE(contents.problems.empty());
}

TEST(Container, EveryTruncationIsHandled) {
  for (const Buffer& whole : {two_target_bundle(), compressed(2, true, two_target_bundle()),
                              tiny_code_object(kMachGfx90a)})
    for (size_t size = 0; size < whole.size(); ++size)
      EXPECT_LE(find_code_objects(std::span(whole).first(size)).code_objects.size(), 2u);
}

TEST(Container, SkipsEntriesThatAreNoCodeObjects) {
  Buffer bitcode;
  test::put_text(bitcode, "BC\xc0\xde and more");
  const ContainerContents contents =
      find_code_objects(test::make_bundle({{"hip-amdgcn-amd-amdhsa--gfx90a", bitcode}}));
  EXPECT_TRUE(contents.code_objects.empty());
  EXPECT_EQ(contents.problems.size(), 1u);
}

TEST(Container, AFileWithoutGpuCodeHasNone) {
  EXPECT_TRUE(find_code_objects({}).code_objects.empty());
  EXPECT_TRUE(find_code_objects(test::make_elf(EM_X86_64, 0, {{".text", Buffer(64)}}))
                  .code_objects.empty());
}

TEST(Container, EntryIdsNameTheirTarget) {
  EXPECT_EQ(target_id_of_entry("hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-"),
            "gfx90a:sramecc+:xnack-");
  EXPECT_EQ(target_id_of_entry("hip-amdgcn-amd-amdhsa-gfx906"), "gfx906");
  EXPECT_EQ(target_id_of_entry("openmp-amdgcn-amd-amdhsa--gfx942"), "gfx942");
  EXPECT_EQ(target_id_of_entry("host-x86_64-unknown-linux-gnu-"), "");
  EXPECT_EQ(target_id_of_entry(""), "");
}

}  // namespace
}  // namespace wavetap::codeobj
