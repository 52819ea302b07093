// Relocations: AMDGPUUsage.rst, "Relocation Records". They are found through the dynamic section,
// which survives stripping.

#include "codeobj/image.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "base/byte_cursor.h"

namespace wavetap::codeobj {
namespace {

constexpr uint64_t kMaxImageBytes = uint64_t{1} << 32;

enum class Relocation : uint32_t {
  kNone = 0,
  kAbs32Lo = 1,
  kAbs32Hi = 2,
  kAbs64 = 3,
  kRel32 = 4,
  kRel64 = 5,
  kAbs32 = 6,
  kRel32Lo = 10,
  kRel32Hi = 11,
  kRelative64 = 13,
};

struct Dynamic {
  uint64_t rela = 0;
  uint64_t rela_bytes = 0;
  uint64_t symbols = 0;
  uint64_t strings = 0;
};

Dynamic read_dynamic(const ElfView& elf) {
  Dynamic dynamic;
  for (const ElfSegment& segment : elf.segments()) {
    if (segment.type != PT_DYNAMIC) continue;
    for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= segment.bytes.size(); at += sizeof(Elf64_Dyn)) {
      const std::optional<Elf64_Dyn> entry = read_at<Elf64_Dyn>(segment.bytes, at);
      if (entry->d_tag == DT_NULL) break;
      if (entry->d_tag == DT_RELA) dynamic.rela = entry->d_un.d_ptr;
      if (entry->d_tag == DT_RELASZ) dynamic.rela_bytes = entry->d_un.d_val;
      if (entry->d_tag == DT_SYMTAB) dynamic.symbols = entry->d_un.d_ptr;
      if (entry->d_tag == DT_STRTAB) dynamic.strings = entry->d_un.d_ptr;
    }
  }
  return dynamic;
}

template <class T>
bool store(std::span<std::byte> memory, uint64_t at, T value) {
  if (at > memory.size() || memory.size() - at < sizeof value) return false;
  std::memcpy(memory.data() + at, &value, sizeof value);
  return true;
}

// Writes one relocated field. False when it lies outside the image or the type is unknown.
bool relocate(std::span<std::byte> memory, GpuAddr base, const Elf64_Rela& rela, uint64_t symbol) {
  const uint64_t value = symbol + static_cast<uint64_t>(rela.r_addend);
  const uint64_t relative = value - (base.value + rela.r_offset);
  switch (static_cast<Relocation>(ELF64_R_TYPE(rela.r_info))) {
    case Relocation::kNone: return true;
    case Relocation::kAbs32:
    case Relocation::kAbs32Lo: return store(memory, rela.r_offset, static_cast<uint32_t>(value));
    case Relocation::kAbs32Hi:
      return store(memory, rela.r_offset, static_cast<uint32_t>(value >> 32));
    case Relocation::kAbs64: return store(memory, rela.r_offset, value);
    case Relocation::kRel32:
    case Relocation::kRel32Lo: return store(memory, rela.r_offset, static_cast<uint32_t>(relative));
    case Relocation::kRel32Hi:
      return store(memory, rela.r_offset, static_cast<uint32_t>(relative >> 32));
    case Relocation::kRel64: return store(memory, rela.r_offset, relative);
    case Relocation::kRelative64:
      return store(memory, rela.r_offset, base.value + static_cast<uint64_t>(rela.r_addend));
  }
  return false;
}

// Address of symbol `index` of the dynamic table once loaded.
Result<uint64_t> symbol_address(const ElfView& elf, const Dynamic& dynamic, uint32_t index,
                                GpuAddr base, SymbolResolver resolver, void* context) {
  if (index == 0) return uint64_t{0};
  const std::optional<Elf64_Sym> symbol =
      read_at<Elf64_Sym>(elf.from_address(dynamic.symbols), uint64_t{index} * sizeof(Elf64_Sym));
  if (!symbol)
    return errorf("code object: relocation names symbol %u, which does not exist", index);
  if (symbol->st_shndx != SHN_UNDEF) return base.value + symbol->st_value;
  const std::string name(string_at(elf.from_address(dynamic.strings), symbol->st_name));
  if (resolver != nullptr)
    if (const std::optional<GpuAddr> found = resolver(name.c_str(), context)) return found->value;
  if (ELF64_ST_BIND(symbol->st_info) == STB_WEAK) return uint64_t{0};
  return errorf("code object: symbol %s is not defined; it must come from another module",
                name.c_str());
}

}  // namespace

Result<ImageLayout> layout_of(const CodeObject& object) {
  ImageLayout layout;
  for (const ElfSegment& segment : object.elf().segments()) {
    if (segment.type != PT_LOAD) continue;
    if (segment.address > kMaxImageBytes || segment.memory_bytes > kMaxImageBytes - segment.address)
      return errorf("code object: segment at 0x%llx of %llu bytes is beyond 4 GiB",
                    static_cast<unsigned long long>(segment.address),
                    static_cast<unsigned long long>(segment.memory_bytes));
    layout.size_bytes = std::max(layout.size_bytes, segment.address + segment.memory_bytes);
    if (segment.align <= kMaxImageBytes) layout.align = std::max(layout.align, segment.align);
  }
  if (layout.size_bytes == 0) return errorf("code object: no loadable segment");
  return layout;
}

Status load_image(const CodeObject& object, std::span<std::byte> memory, GpuAddr base,
                  SymbolResolver resolver, void* context) {
  const Result<ImageLayout> layout = layout_of(object);
  if (!layout.ok()) return layout.error();
  if (memory.size() < layout->size_bytes)
    return errorf("code object: needs %llu bytes, got %zu",
                  static_cast<unsigned long long>(layout->size_bytes), memory.size());
  const ElfView& elf = object.elf();
  std::memset(memory.data(), 0, memory.size());
  for (const ElfSegment& segment : elf.segments()) {
    if (segment.type != PT_LOAD || segment.bytes.empty()) continue;
    const uint64_t room = memory.size() - segment.address;  // layout_of() saw that address <= size
    std::memcpy(memory.data() + segment.address, segment.bytes.data(),
                static_cast<size_t>(std::min<uint64_t>(room, segment.bytes.size())));
  }
  const Dynamic dynamic = read_dynamic(elf);
  const std::span<const std::byte> table = elf.at_address(dynamic.rela, dynamic.rela_bytes);
  if (table.size() != dynamic.rela_bytes)
    return errorf("code object: the relocation table is cut short");
  for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= table.size(); at += sizeof(Elf64_Rela)) {
    const std::optional<Elf64_Rela> rela = read_at<Elf64_Rela>(table, at);
    const auto index = static_cast<uint32_t>(ELF64_R_SYM(rela->r_info));
    const Result<uint64_t> symbol = symbol_address(elf, dynamic, index, base, resolver, context);
    if (!symbol.ok()) return symbol.error();
    if (!relocate(memory, base, *rela, *symbol))
      return errorf("code object: relocation type %u at 0x%llx cannot be applied",
                    static_cast<uint32_t>(ELF64_R_TYPE(rela->r_info)),
                    static_cast<unsigned long long>(rela->r_offset));
  }
  return {};
}

}  // namespace wavetap::codeobj
