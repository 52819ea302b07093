// Code-object ABI: LLVM's AMDGPUUsage.rst, "ELF Code Object", "Kernel Descriptor", "Code Object V3
// Metadata" and later.

#include "codeobj/code_object.h"

#include <elf.h>

#include <algorithm>
#include <unordered_map>

#include "base/byte_cursor.h"
#include "codeobj/metadata.h"

namespace wavetap::codeobj {

Result<CodeObject> CodeObject::open(std::span<const std::byte> bytes) {
  std::optional<ElfView> elf = ElfView::open(bytes);
  if (!elf)
    return errorf(
        "code object: not a 64-bit little-endian ELF file; give a .hsaco file or a HIP program");
  if (elf->machine() != kElfMachineAmdgpu)
    return errorf("code object: ELF machine %u is not AMDGPU; look for its bundles first",
                  elf->machine());
  const std::optional<amd::GfxTarget> target = amd::target_from_elf_mach(elf->flags());
  if (!target)
    return errorf("code object: unknown processor number 0x%x in the ELF header",
                  elf->flags() & 0xff);
  CodeObject object(std::move(*elf));
  object.target_ = *target;
  object.target_id_ = amd::to_string(*target);
  object.read_symbols();
  object.read_kernels();
  object.read_metadata();
  return object;
}

void CodeObject::read_symbols() {
  for (const ElfSymbol& symbol : elf_.symbols()) {
    if (symbol.name.empty() || symbol.section == SHN_UNDEF) continue;
    if (symbol.type != STT_FUNC && symbol.type != STT_OBJECT) continue;
    symbols_.push_back({symbol.name, symbol.value, symbol.size_bytes, symbol.type == STT_FUNC});
  }
  const auto order = [](const CodeSymbol& a, const CodeSymbol& b) {
    if (a.address != b.address) return a.address < b.address;
    if (a.is_function != b.is_function) return a.is_function;
    return a.name < b.name;
  };
  std::sort(symbols_.begin(), symbols_.end(), order);
  const auto same = [](const CodeSymbol& a, const CodeSymbol& b) {
    return a.address == b.address && a.name == b.name;
  };
  symbols_.erase(std::unique(symbols_.begin(), symbols_.end(), same), symbols_.end());
}

// A kernel is a symbol NAME.kd on a 64-byte descriptor. Its code begins where the descriptor says
// and ends with the function symbol there, or else with the next symbol or the segment.
void CodeObject::read_kernels() {
  const auto first_at = [&](uint64_t address) {
    return std::lower_bound(
        symbols_.begin(), symbols_.end(), address,
        [](const CodeSymbol& symbol, uint64_t value) { return symbol.address < value; });
  };
  for (const CodeSymbol& symbol : symbols_) {
    if (!symbol.name.ends_with(".kd")) continue;
    const std::optional<amd::KernelDescriptor> descriptor =
        read_at<amd::KernelDescriptor>(elf_.from_address(symbol.address), 0);
    if (!descriptor) continue;
    Kernel kernel;
    kernel.name = symbol.name.substr(0, symbol.name.size() - 3);
    kernel.descriptor_address = symbol.address;
    kernel.descriptor = *descriptor;
    kernel.entry_address = symbol.address + static_cast<uint64_t>(descriptor->entry_offset);
    const std::span<const std::byte> rest = elf_.from_address(kernel.entry_address);
    uint64_t size = rest.size();
    for (auto other = first_at(kernel.entry_address); other != symbols_.end(); ++other) {
      if (!other->is_function) continue;
      const bool is_itself = other->address == kernel.entry_address;
      if (is_itself && other->size_bytes == 0) continue;
      size = std::min<uint64_t>(
          size, is_itself ? other->size_bytes : other->address - kernel.entry_address);
      break;
    }
    kernel.code = rest.first(size);
    kernels_.push_back(std::move(kernel));
  }
}

void CodeObject::read_metadata() {
  const std::optional<Metadata> metadata = metadata_of(elf_);
  if (!metadata) return;
  if (!metadata->target_id.empty()) target_id_ = metadata->target_id;
  const std::unordered_map<std::string_view, const MsgpackValue*> descriptions =
      metadata->kernels();
  for (Kernel& kernel : kernels_)
    if (const auto it = descriptions.find(kernel.name); it != descriptions.end())
      fill_kernel(*it->second, kernel);
}

const Kernel* CodeObject::find_kernel(std::string_view name) const {
  if (name.ends_with(".kd")) name.remove_suffix(3);
  for (const Kernel& kernel : kernels_)
    if (kernel.name == name) return &kernel;
  for (const Kernel& kernel : kernels_)
    if (demangle(kernel.name) == name || short_name(kernel.name) == name) return &kernel;
  return nullptr;
}

const CodeSymbol* CodeObject::function_at(uint64_t address) const {
  const CodeSymbol* best = nullptr;
  for (const CodeSymbol& symbol : symbols_) {
    if (symbol.address > address) break;
    if (symbol.is_function && address - symbol.address < symbol.size_bytes) best = &symbol;
  }
  return best;
}

}  // namespace wavetap::codeobj
