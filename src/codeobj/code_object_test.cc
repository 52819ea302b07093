#include "codeobj/code_object.h"

#include <gtest/gtest.h>

#include "base/byte_cursor.h"
#include "codeobj/image.h"
#include "codeobj/line_table.h"
#include "codeobj/test_support.h"

namespace wavetap::codeobj {
namespace {

class TestCodeObject : public testing::Test {
 protected:
  void SetUp() override {
    bytes_ = test::test_code_object();
    if (bytes_.empty()) GTEST_SKIP() << "built without clang-19";
    Result<CodeObject> opened = CodeObject::open(bytes_);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    object_.emplace(std::move(*opened));
  }

  test::Buffer bytes_;
  std::optional<CodeObject> object_;
};

TEST_F(TestCodeObject, KnowsItsTarget) {
  EXPECT_EQ(object_->target(), (amd::GfxTarget{9, 0, 10}));
  EXPECT_EQ(object_->target_id(), "gfx90a:sramecc+:xnack-");
}

TEST_F(TestCodeObject, KernelsHaveDescriptorsAndCode) {
  ASSERT_EQ(object_->kernels().size(), 3u);
  const Kernel* twice = object_->find_kernel("_Z5twicePf");
  ASSERT_NE(twice, nullptr);
  EXPECT_EQ(twice->code.size(), 44u);
  EXPECT_EQ(twice->descriptor.group_segment_fixed_size, 1024u);
  EXPECT_TRUE(twice->descriptor.has(amd::kKernargSegmentPtr));
  EXPECT_TRUE(twice->wave64(object_->target()));
  const Kernel* plain = object_->find_kernel("plain");
  ASSERT_NE(plain, nullptr);
  // s_endpgm.
  EXPECT_EQ(read_at<uint32_t>(plain->code, 0), 0xbf810000u);
  EXPECT_EQ(plain->code.size(), 4u);
}

TEST_F(TestCodeObject, KernelsAreFoundByAnyOfTheirNames) {
  const Kernel* twice = object_->find_kernel("_Z5twicePf.kd");
  ASSERT_NE(twice, nullptr);
  EXPECT_EQ(object_->find_kernel("twice"), twice);
  EXPECT_EQ(object_->find_kernel("twice(float*)"), twice);
  EXPECT_EQ(object_->find_kernel("thrice"), nullptr);
}

TEST_F(TestCodeObject, MetadataDescribesTheKernel) {
  const Kernel& kernel = *object_->find_kernel("twice");
  EXPECT_TRUE(kernel.has_metadata);
  EXPECT_EQ(kernel.kernarg_bytes, 64u);
  EXPECT_EQ(kernel.kernarg_align, 8u);
  EXPECT_EQ(kernel.lds_bytes, 1024u);
  EXPECT_EQ(kernel.wave_size, 64u);
  EXPECT_EQ(kernel.sgpr_count, 12u);
  EXPECT_EQ(kernel.vgpr_count, 2u);
  EXPECT_EQ(kernel.max_workgroup_size, 256u);
  EXPECT_EQ(kernel.required_workgroup_size[0], 256u);
  ASSERT_EQ(kernel.args.size(), 2u);
  EXPECT_EQ(kernel.args[0].name, "data");
  EXPECT_EQ(kernel.args[0].type_name, "float*");
  EXPECT_TRUE(kernel.args[0].is_pointer());
  EXPECT_FALSE(kernel.args[0].is_hidden());
  EXPECT_EQ(kernel.args[1].offset, 8u);
  EXPECT_EQ(kernel.args[1].size_bytes, 4u);
  EXPECT_TRUE(kernel.args[1].is_hidden());
  EXPECT_FALSE(object_->find_kernel("plain")->has_metadata);
}

TEST_F(TestCodeObject, EveryNoteDescribesItsKernels) {
  const Kernel* second = object_->find_kernel("second");
  ASSERT_NE(second, nullptr);
  EXPECT_TRUE(second->has_metadata);
  EXPECT_EQ(second->kernarg_bytes, 16u);
  ASSERT_EQ(second->args.size(), 1u);
  EXPECT_EQ(second->args[0].name, "size");
}

TEST_F(TestCodeObject, AddressesHaveFunctionsAndLines) {
  const Kernel& kernel = *object_->find_kernel("twice");
  const CodeSymbol* inside = object_->function_at(kernel.entry_address + 43);
  ASSERT_NE(inside, nullptr);
  EXPECT_EQ(inside->name, "_Z5twicePf");
  const CodeSymbol* next = object_->function_at(kernel.entry_address + 44);
  ASSERT_NE(next, nullptr);
  EXPECT_EQ(next->name, "helper");
  EXPECT_EQ(object_->bytes_of(*next).size(), 4u);
  EXPECT_EQ(object_->function_at(0), nullptr);

  const LineTable lines = LineTable::read(object_->elf());
  const std::optional<SourceLine> first = lines.find(kernel.entry_address);
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->file.ends_with("testdata/kernels.s")) << first->file;
  EXPECT_EQ(first->line, 8u);
  // The second half of the first instruction belongs to the same line.
  EXPECT_EQ(lines.find(kernel.entry_address + 4)->line, 8u);
  EXPECT_EQ(lines.find(kernel.entry_address + 8)->line, 9u);
  EXPECT_FALSE(lines.find(0));
  EXPECT_FALSE(lines.find(~uint64_t{0}));
}

std::optional<GpuAddr> resolve(std::string_view name, void* context) {
  if (name != "elsewhere") return std::nullopt;
  return *static_cast<GpuAddr*>(context);
}

TEST_F(TestCodeObject, LoadsWithRelocationsApplied) {
  const Result<ImageLayout> layout = layout_of(*object_);
  ASSERT_TRUE(layout.ok());
  std::vector<std::byte> memory(layout->size_bytes, std::byte{0xaa});
  constexpr GpuAddr kBase{0x7f0000000000};
  GpuAddr elsewhere{0x123456789000};
  const Status status = load_image(*object_, memory, kBase, resolve, &elsewhere);
  ASSERT_TRUE(status.ok()) << status.error().message;

  uint64_t pointer = 0;
  uint64_t target = 0;
  for (const CodeSymbol& symbol : object_->symbols()) {
    if (symbol.name == "pointer_to_pointer") pointer = symbol.address;
    if (symbol.name == "target") target = symbol.address;
  }
  EXPECT_EQ(read_at<uint64_t>(memory, pointer), kBase.value + target + 8);
  EXPECT_EQ(read_at<uint64_t>(memory, target), 0x1122334455667788u);
  EXPECT_EQ(read_at<uint64_t>(memory, target + 8), elsewhere.value + 16);
  const Kernel& kernel = *object_->find_kernel("twice");
  EXPECT_EQ(
      std::memcmp(memory.data() + kernel.entry_address, kernel.code.data(), kernel.code.size()), 0);
}

TEST_F(TestCodeObject, AnUndefinedSymbolIsNamed) {
  std::vector<std::byte> memory(layout_of(*object_)->size_bytes);
  const Status status = load_image(*object_, memory, GpuAddr{0x1000});
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("elsewhere"), std::string::npos);
}

TEST_F(TestCodeObject, TooLittleMemoryIsRefused) {
  std::vector<std::byte> memory(16);
  EXPECT_FALSE(load_image(*object_, memory, GpuAddr{0x1000}).ok());
}

TEST_F(TestCodeObject, EveryTruncationIsHandled) {
  for (size_t size = 0; size < bytes_.size(); size += 7) {
    const Result<CodeObject> cut = CodeObject::open(std::span(bytes_).first(size));
    if (!cut.ok()) continue;
    LineTable::read(cut->elf());
    const Result<ImageLayout> layout = layout_of(*cut);
    if (!layout.ok()) continue;
    std::vector<std::byte> memory(layout->size_bytes);
    (void)load_image(*cut, memory, GpuAddr{0x1000}).ok();
  }
}

TEST(CodeObject, RefusesWhatIsNone) {
  EXPECT_FALSE(CodeObject::open({}).ok());
  EXPECT_FALSE(CodeObject::open(test::make_elf(EM_X86_64, 0, {{".text", {}}})).ok());
  EXPECT_FALSE(CodeObject::open(test::make_elf(kElfMachineAmdgpu, 0xfe, {{".text", {}}})).ok());
  const test::Buffer empty = test::make_elf(kElfMachineAmdgpu, 0x3f, {{".text", {}}});
  const Result<CodeObject> object = CodeObject::open(empty);
  ASSERT_TRUE(object.ok());
  EXPECT_TRUE(object->kernels().empty());
  EXPECT_FALSE(layout_of(*object).ok());
}

TEST(Demangle, ShowsWhatAProgrammerWrote) {
  EXPECT_EQ(demangle("_Z4vaddPKfS0_Pfi.kd"), "vadd(float const*, float const*, float*, int)");
  EXPECT_EQ(demangle("plain"), "plain");
  EXPECT_EQ(demangle("_Znonsense"), "_Znonsense");
  EXPECT_EQ(short_name("_Z4vaddPKfS0_Pfi"), "vadd");
  EXPECT_EQ(short_name("_Z4vaddIfEvPKT_S2_PS0_i"), "vadd<float>");
  EXPECT_EQ(short_name("_ZN2ns4scanIfLi256EEEvPFivE"), "ns::scan<float, 256>");
  EXPECT_EQ(short_name("_ZNK2ns5IndexcvjEv"), "ns::Index::operator unsigned int");
  EXPECT_EQ(short_name("plain"), "plain");
}

}  // namespace
}  // namespace wavetap::codeobj
