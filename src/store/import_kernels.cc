#include <optional>
#include <string_view>

#include "codeobj/code_object.h"
#include "store/import_parts.h"

namespace wavetap::store {
namespace {

// Kernels ROCm's runtime launches on its own account.
constexpr std::string_view kRuntimePrefix = "__amd_rocclr_";

KernelUseKind use_of(std::string_view mangled) {
  if (!mangled.starts_with(kRuntimePrefix)) return KernelUseKind::kProgram;
  mangled.remove_prefix(kRuntimePrefix.size());
  return mangled.starts_with("fill")   ? KernelUseKind::kFill
         : mangled.starts_with("copy") ? KernelUseKind::kCopy
                                       : KernelUseKind::kOtherInternal;
}

void import_code_objects(ImportContext& import) {
  for (const auto& [number, object] : import.facts.code_objects) {
    const std::string target = import.code.target(number);
    import.writer.put(rows::CodeObjectUse{
        .id = import.id(number),
        .pid = import.pid(),
        .gpu = import.device_of_agent(object.fact.agent),
        .target = target,
        .uri = object.uri,
        .bytes = object.fact.bytes,
        .address = object.fact.load_base,
        .loaded = import.ns(object.fact.time),
        .unloaded =
            object.unloaded == 0 ? std::nullopt : std::optional(import.ns(object.unloaded))});
  }
}

}  // namespace

void import_kernels(ImportContext& import) {
  import_code_objects(import);
  import.kernels.reserve(import.facts.kernels.size());
  for (const RawKernel& raw : import.facts.kernels) {
    const std::string name = codeobj::demangle(raw.name);
    const ImportKernel& kernel = import.kernels.emplace_back(
        ImportKernel{.id = import.id(static_cast<int64_t>(import.kernels.size()) + 1),
                     .name_id = import.texts.string(name),
                     .use = use_of(raw.name)});
    const codeobj::Kernel* const code = import.code.find(raw);
    const auto known = [&](auto member) {
      return code == nullptr ? std::nullopt : std::optional<int64_t>(code->*member);
    };
    const uint32_t object = raw.fact.code_object;
    import.writer.put(rows::KernelUse{.id = kernel.id,
                                      .pid = import.pid(),
                                      .code_object = import.facts.code_objects.contains(object)
                                                         ? std::optional(import.id(object))
                                                         : std::nullopt,
                                      .name = name,
                                      .mangled = raw.name,
                                      .internal = kernel.is_internal(),
                                      .vgprs = known(&codeobj::Kernel::vgpr_count),
                                      .agprs = known(&codeobj::Kernel::agpr_count),
                                      .sgprs = known(&codeobj::Kernel::sgpr_count),
                                      .vgpr_spills = known(&codeobj::Kernel::vgpr_spill_count),
                                      .sgpr_spills = known(&codeobj::Kernel::sgpr_spill_count),
                                      .lds_bytes = raw.fact.group_bytes,
                                      .scratch_bytes = raw.fact.private_bytes,
                                      .kernarg_bytes = raw.fact.kernarg_bytes,
                                      .wavefront = known(&codeobj::Kernel::wave_size)});
  }
}

}  // namespace wavetap::store
