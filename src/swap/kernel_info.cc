#include "swap/kernel_info.h"

#include <algorithm>

#include "swap/variable_use.h"

namespace wavetap::swap {
namespace {

KernelInfo describe(const codeobj::CodeObject& object, const codeobj::Kernel& kernel,
                    const std::vector<codeobj::CodeSymbol>& variables) {
  KernelInfo info;
  info.name = kernel.name;
  info.target = object.target();
  info.target_id = object.target_id();
  info.has_metadata = kernel.has_metadata;
  for (const codeobj::KernelArg& arg : kernel.args)
    if (arg.value_kind != "hidden_none")
      info.arguments.push_back({arg.value_kind, arg.offset, arg.size_bytes});
  info.kernarg_bytes = kernel.kernarg_bytes;
  info.kernarg_align = kernel.kernarg_align;
  info.lds_bytes = kernel.descriptor.group_segment_fixed_size;
  info.scratch_bytes = kernel.descriptor.private_segment_fixed_size;
  info.wave_size = kernel.wave64(object.target()) ? 64 : 32;
  info.sgprs = kernel.sgpr_count;
  info.vgprs = kernel.vgpr_count;
  info.max_workgroup = kernel.max_workgroup_size;
  std::copy(std::begin(kernel.required_workgroup_size), std::end(kernel.required_workgroup_size),
            std::begin(info.required_workgroup));
  info.uses_dynamic_stack = kernel.uses_dynamic_stack;
  info.hash = code_hash(kernel);
  for (const codeobj::CodeSymbol& variable : variables)
    info.object_variables.emplace_back(variable.name);
  info.variables = variables_used(object, kernel, variables);
  return info;
}

}  // namespace

KernelInfo describe(const codeobj::CodeObject& object, const codeobj::Kernel& kernel) {
  return describe(object, kernel, writable_variables(object));
}

std::vector<KernelInfo> describe_all(const codeobj::CodeObject& object) {
  const std::vector<codeobj::CodeSymbol> variables = writable_variables(object);
  std::vector<KernelInfo> all;
  all.reserve(object.kernels().size());
  for (const codeobj::Kernel& kernel : object.kernels())
    all.push_back(describe(object, kernel, variables));
  return all;
}

std::vector<Variable> exported_variables(const codeobj::CodeObject& object) {
  constexpr uint8_t kObject = 1, kLocal = 0;  // STT_OBJECT, STB_LOCAL
  std::vector<Variable> variables;
  for (const codeobj::ElfSymbol& symbol : object.elf().symbols()) {
    if (symbol.type != kObject || symbol.binding == kLocal || symbol.section == 0 ||
        symbol.name.empty() || symbol.name.ends_with(".kd") || is_internal(symbol.name))
      continue;
    variables.push_back({std::string(symbol.name), symbol.size_bytes});
  }
  const auto by_name = [](const Variable& a, const Variable& b) { return a.name < b.name; };
  std::sort(variables.begin(), variables.end(), by_name);
  const auto same = [](const Variable& a, const Variable& b) { return a.name == b.name; };
  variables.erase(std::unique(variables.begin(), variables.end(), same), variables.end());
  return variables;
}

uint64_t code_hash(const codeobj::Kernel& kernel) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const std::byte byte : kernel.code) {
    hash ^= static_cast<uint64_t>(byte);
    hash *= 0x100000001b3;
  }
  return hash;
}

}  // namespace wavetap::swap
