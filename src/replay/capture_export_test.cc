#include "replay/capture_export.h"

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "util/file.h"

namespace wavetap::replay {
namespace {

// A file without captures.
std::vector<std::byte> empty_file() {
  const format::CaptureFileHeader header = format::make_capture_header();
  std::vector<std::byte> bytes(sizeof header);
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Names come from files that anybody may have made. They end up in a program that the user compiles.
TEST(CaptureExport, NamesOfTheFileDoNotBecomeCode) {
#ifdef WT_TEST_CODE_OBJECT
  const std::vector<std::byte> bytes = empty_file();
  const auto file = CaptureFile::over(bytes, "input");
  ASSERT_TRUE(file.ok());
  const std::string evil = "x\"\\\n#error evil\n";
  Capture capture;
  capture.kernel = evil;
  capture.program = evil;
  capture.marketing_name = evil;
  capture.target = {9, 0, 10};
  capture.dispatch.grid_size[0] = capture.dispatch.workgroup_size[0] = 64;
  CapturedKernel kernel;
  const auto image = util::read_file(WT_TEST_CODE_OBJECT);
  ASSERT_TRUE(image.ok());
  kernel.image = *image;
  auto object = codeobj::CodeObject::open(kernel.image);
  ASSERT_TRUE(object.ok());
  kernel.object = std::make_unique<codeobj::CodeObject>(std::move(*object));
  codeobj::Kernel described = kernel.object->kernels().at(0);
  described.name = evil;
  kernel.kernel = &described;
  CapturedArgument argument;
  argument.arg.value_kind = evil;
  argument.type = evil;
  argument.arg.size_bytes = 4;
  argument.value.resize(4);
  kernel.arguments.push_back(argument);
  const auto memory = CapturedMemory::load(**file, capture);
  ASSERT_TRUE(memory.ok());
  char name[] = "/tmp/wavetap-export-XXXXXX";
  const std::string folder = ::mkdtemp(name);
  const ExportResult result = export_capture(**file, capture, kernel, **memory, {}, folder);
  EXPECT_EQ(result.refusal, Refusal::kNone) << result.why;
  for (const char* made : {"/launch.h", "/README.md", "/CMakeLists.txt"}) {
    const std::string text = text_of(folder + made);
    EXPECT_FALSE(text.empty()) << made;
    EXPECT_EQ(text.find("\n#error"), std::string::npos) << made << ":\n" << text;
  }
  EXPECT_NE(text_of(folder + "/launch.h").find(R"(kKernel[] = "x\"\\\n#error evil\n";)"),
            std::string::npos);
  std::filesystem::remove_all(folder);
#else
  GTEST_SKIP() << "needs clang-19";
#endif
}

}  // namespace
}  // namespace wavetap::replay
