// Any bytes, as a file that may hold code objects. Random bytes seldom get past a magic number, so
// the first byte chooses one to put in front.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "codeobj/code_object.h"
#include "codeobj/container.h"
#include "codeobj/image.h"
#include "codeobj/msgpack.h"
#include "codeobj/source_map.h"

namespace {

using namespace wavetap;

constexpr size_t kMaxImage = size_t{64} << 20;

// e_ident, type, machine AMDGPU, version, entry, phoff 64, shoff 64, flags gfx90a, sizes as they
// must be.
void make_elf_header(std::vector<std::byte>& file, uint8_t counts) {
  if (file.size() < 64) return;
  unsigned char header[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1, 64, 3};
  header[16] = 3;
  header[18] = 224;
  header[20] = 1;
  header[32] = 64;
  header[40] = 64;
  header[48] = 0x3f;
  header[52] = 64;
  header[54] = 56;
  header[56] = counts & 7;
  header[58] = 64;
  header[60] = (counts >> 3) & 7;
  header[62] = 1;
  std::memcpy(file.data(), header, sizeof header);
}

void exercise(std::span<const std::byte> bytes) {
  const Result<codeobj::CodeObject> object = codeobj::CodeObject::open(bytes);
  if (!object.ok()) return;
  (void)codeobj::SourceMap(object->elf()).frames(0x1000);
  object->function_at(0x1000);
  object->find_kernel("x");
  const Result<codeobj::ImageLayout> layout = codeobj::layout_of(*object);
  if (!layout.ok() || layout->size_bytes > kMaxImage) return;
  std::vector<std::byte> memory(layout->size_bytes);
  (void)codeobj::load_image(*object, memory, GpuAddr{0x1000}).ok();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> file(bytes + 2, bytes + size);
  switch (data[0] % 4) {
    case 0: break;
    case 1: make_elf_header(file, data[1]); break;
    case 2:
      if (file.size() >= 24) std::memcpy(file.data(), "__CLANG_OFFLOAD_BUNDLE__", 24);
      break;
    case 3:
      if (file.size() >= 8) std::memcpy(file.data(), "CCOB\2\0\1\0", 8);
      break;
  }
  exercise(file);
  for (const codeobj::ContainedCodeObject& object : codeobj::find_code_objects(file).code_objects)
    exercise(object.bytes);
  codeobj::parse_msgpack(file);
  return 0;
}
