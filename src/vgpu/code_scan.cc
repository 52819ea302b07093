#include "vgpu/code_scan.h"

#include <algorithm>
#include <optional>

#include "codeobj/elf.h"
#include "vgpu/queue_kernel_names.h"

namespace wavetap::vgpu {
namespace {

constexpr uint32_t kSectionSymbols = 2;  // SHT_SYMTAB
constexpr uint8_t kSymbolFunction = 2;   // STT_FUNC
constexpr uint32_t kSegmentLoad = 1;     // PT_LOAD
constexpr uint32_t kWritable = 2;        // PF_W

void find_allocator(const codeobj::ElfView& elf, uint64_t delta, sanitize::DeviceHeap& heap) {
  const bool has_symbols = std::any_of(
      elf.sections().begin(), elf.sections().end(),
      [](const codeobj::ElfSection& section) { return section.type == kSectionSymbols; });
  if (!has_symbols) heap.add_unseen_code();
  for (const codeobj::ElfSymbol& symbol : elf.symbols()) {
    if (symbol.type != kSymbolFunction || symbol.section == 0) continue;
    const sanitize::HeapCode what = sanitize::heap_code_of(symbol.name);
    const uint64_t begin = delta + symbol.value;
    if (what != sanitize::HeapCode::kNone) heap.add_code(what, begin, begin + symbol.size_bytes);
  }
}

void find_read_only(const codeobj::ElfView& elf, uint64_t delta, Annotations& annotations) {
  for (const codeobj::ElfSegment& segment : elf.segments()) {
    if (segment.type != kSegmentLoad || (segment.flags & kWritable) != 0) continue;
    const uint64_t begin = delta + segment.address;
    annotations.add_read_only({begin, begin + segment.memory_bytes});
  }
}

}  // namespace

void CodeScan::look(sanitize::DeviceHeap& heap, Annotations& annotations) {
  const std::lock_guard lock(mutex_);
  for_each_code_object([this](uint64_t delta) { return seen_.insert(delta).second; },
                       [&](const LoadedCodeObject& object) {
                         const auto elf = codeobj::ElfView::open(object.image);
                         if (!elf) return;
                         find_allocator(*elf, object.delta, heap);
                         find_read_only(*elf, object.delta, annotations);
                       });
}

}  // namespace wavetap::vgpu
