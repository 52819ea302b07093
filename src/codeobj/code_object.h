// CodeObject: the kernels of one AMDGPU ELF file, with descriptors, code and metadata.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "amd/gfx_target.h"
#include "amd/kernel_descriptor.h"
#include "base/result.h"
#include "codeobj/elf.h"

namespace wavetap::codeobj {

// One argument of a kernel as its metadata describes it.
struct KernelArg {
  std::string name;  // empty in optimised builds
  std::string type_name;
  std::string value_kind;     // "global_buffer", "by_value", "hidden_block_count_x", …
  std::string address_space;  // "global", "local", …; empty for by_value
  uint64_t offset = 0;
  uint64_t size_bytes = 0;

  bool is_hidden() const { return value_kind.starts_with("hidden_"); }
  bool is_pointer() const {
    return value_kind == "global_buffer" || value_kind == "dynamic_shared_pointer";
  }
};

struct Kernel {
  std::string name;                 // the symbol, mangled: "_Z4vaddPfS_"
  uint64_t descriptor_address = 0;  // of NAME.kd, as linked
  amd::KernelDescriptor descriptor{};
  uint64_t entry_address = 0;       // first instruction, as linked
  std::span<const std::byte> code;  // from the entry to the end of the function's symbol

  // --- From the metadata note; zero or empty when there is none.
  bool has_metadata = false;
  std::vector<KernelArg> args;
  uint64_t kernarg_bytes = 0;
  uint64_t kernarg_align = 0;
  uint64_t lds_bytes = 0;
  uint64_t scratch_bytes = 0;  // per lane, fixed part
  uint32_t wave_size = 0;
  uint32_t sgpr_count = 0;
  uint32_t vgpr_count = 0;
  uint32_t agpr_count = 0;
  uint32_t sgpr_spill_count = 0;
  uint32_t vgpr_spill_count = 0;
  uint32_t max_workgroup_size = 0;
  uint32_t required_workgroup_size[3] = {};
  bool uses_dynamic_stack = false;

  bool wave64(amd::GfxTarget target) const {
    return !target.has_wave32() || !descriptor.has(amd::kWavefrontSize32);
  }
};

// A function or a variable of the code object, for naming addresses.
struct CodeSymbol {
  std::string_view name;
  uint64_t address = 0;
  uint64_t size_bytes = 0;
  bool is_function = false;
};

// Immutable; any thread may read it. Points into the bytes it was opened on.
class CodeObject {
 public:
  static Result<CodeObject> open(std::span<const std::byte> bytes);

  amd::GfxTarget target() const { return target_; }
  // "gfx90a:sramecc+:xnack-" from the metadata, else the bare target.
  const std::string& target_id() const { return target_id_; }
  const ElfView& elf() const { return elf_; }

  const std::vector<Kernel>& kernels() const { return kernels_; }
  // By symbol, with or without ".kd", or by its demangled form with or without the parameters.
  const Kernel* find_kernel(std::string_view name) const;

  // Sorted by address.
  const std::vector<CodeSymbol>& symbols() const { return symbols_; }
  // The function that contains an address as linked, or null.
  const CodeSymbol* function_at(uint64_t address) const;
  // The bytes of a symbol; empty when the file does not hold them all (.bss).
  std::span<const std::byte> bytes_of(const CodeSymbol& symbol) const {
    return elf_.at_address(symbol.address, symbol.size_bytes);
  }

 private:
  explicit CodeObject(ElfView elf) : elf_(std::move(elf)) {}
  void read_symbols();
  void read_kernels();
  void read_metadata();

  ElfView elf_;
  amd::GfxTarget target_;
  std::string target_id_;
  std::vector<Kernel> kernels_;
  std::vector<CodeSymbol> symbols_;
};

// "_Z4vaddPfS_" -> "vadd(float*, float*)"; the name itself when it is not mangled. A trailing ".kd"
// is dropped.
std::string demangle(std::string_view name);
// As demangle(), without the parameter list and the return type: "vadd", "ns::scan<float, 256>".
std::string short_name(std::string_view name);

}  // namespace wavetap::codeobj
