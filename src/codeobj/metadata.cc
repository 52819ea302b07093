// Notes: AMDGPUUsage.rst, "Note Records". A note is name size, descriptor size, type (4 bytes
// each), then name and descriptor, each padded to 4 bytes.

#include "codeobj/metadata.h"

#include <elf.h>

#include "base/byte_cursor.h"
#include "codeobj/container.h"

namespace wavetap::codeobj {
namespace {

constexpr uint32_t kNoteMetadata = 32;  // NT_AMDGPU_METADATA

// Adds every metadata note that can be read. The linker keeps one per object it was given, each
// with the kernels of that object: rocBLAS's files hold dozens.
void read_notes(std::span<const std::byte> notes, std::vector<MsgpackValue>& out) {
  ByteCursor cursor(notes);
  while (true) {
    const std::optional<uint32_t> name_bytes = cursor.take<uint32_t>();
    const std::optional<uint32_t> desc_bytes = cursor.take<uint32_t>();
    const std::optional<uint32_t> type = cursor.take<uint32_t>();
    if (!type) return;
    const auto name = cursor.take_bytes(*name_bytes);
    if (!name || !cursor.skip((4 - *name_bytes % 4) % 4)) return;
    const auto desc = cursor.take_bytes(*desc_bytes);
    if (!desc) return;
    const std::string_view text(reinterpret_cast<const char*>(name->data()), name->size());
    if (*type == kNoteMetadata && text.starts_with("AMDGPU"))
      if (std::optional<MsgpackValue> root = parse_msgpack(*desc)) out.push_back(std::move(*root));
    if (!cursor.skip((4 - *desc_bytes % 4) % 4)) return;
  }
}

std::string text_of(const MsgpackValue* value) {
  return value != nullptr && value->kind == MsgpackValue::Kind::kString ? std::string(value->text)
                                                                        : std::string();
}

uint64_t number_of(const MsgpackValue& map, std::string_view name) {
  const MsgpackValue* value = map.find(name);
  return value == nullptr ? 0 : value->as_uint();
}

uint32_t count_of(const MsgpackValue& map, std::string_view name) {
  return static_cast<uint32_t>(number_of(map, name));
}

}  // namespace

std::unordered_map<std::string_view, const MsgpackValue*> Metadata::kernels() const {
  std::unordered_map<std::string_view, const MsgpackValue*> by_symbol;
  for (const MsgpackValue& note : notes) {
    const MsgpackValue* list = note.find("amdhsa.kernels");
    if (list == nullptr) continue;
    for (const MsgpackValue& kernel : list->items) {
      const MsgpackValue* symbol = kernel.find(".symbol");
      if (symbol == nullptr) continue;
      std::string_view text = symbol->text;
      if (text.ends_with(".kd")) text.remove_suffix(3);
      by_symbol.emplace(text, &kernel);
    }
  }
  return by_symbol;
}

std::optional<Metadata> metadata_of(const ElfView& elf) {
  Metadata metadata;
  for (const ElfSegment& segment : elf.segments())
    if (segment.type == PT_NOTE) read_notes(segment.bytes, metadata.notes);
  if (metadata.notes.empty())
    for (const ElfSection& section : elf.sections())
      if (section.type == SHT_NOTE) read_notes(section.bytes, metadata.notes);
  if (metadata.notes.empty()) return std::nullopt;
  metadata.target_id = target_id_of_entry(text_of(metadata.notes[0].find("amdhsa.target")));
  return metadata;
}

void fill_kernel(const MsgpackValue& description, Kernel& kernel) {
  kernel.has_metadata = true;
  kernel.kernarg_bytes = number_of(description, ".kernarg_segment_size");
  kernel.kernarg_align = number_of(description, ".kernarg_segment_align");
  kernel.lds_bytes = number_of(description, ".group_segment_fixed_size");
  kernel.scratch_bytes = number_of(description, ".private_segment_fixed_size");
  kernel.wave_size = count_of(description, ".wavefront_size");
  kernel.sgpr_count = count_of(description, ".sgpr_count");
  kernel.vgpr_count = count_of(description, ".vgpr_count");
  kernel.agpr_count = count_of(description, ".agpr_count");
  kernel.sgpr_spill_count = count_of(description, ".sgpr_spill_count");
  kernel.vgpr_spill_count = count_of(description, ".vgpr_spill_count");
  kernel.max_workgroup_size = count_of(description, ".max_flat_workgroup_size");
  kernel.uses_dynamic_stack = number_of(description, ".uses_dynamic_stack") != 0;
  if (const MsgpackValue* sizes = description.find(".reqd_workgroup_size"))
    for (size_t i = 0; i < 3 && i < sizes->items.size(); ++i)
      kernel.required_workgroup_size[i] = static_cast<uint32_t>(sizes->items[i].as_uint());
  const MsgpackValue* args = description.find(".args");
  if (args == nullptr) return;
  for (const MsgpackValue& item : args->items) {
    KernelArg& arg = kernel.args.emplace_back();
    arg.name = text_of(item.find(".name"));
    arg.type_name = text_of(item.find(".type_name"));
    arg.value_kind = text_of(item.find(".value_kind"));
    arg.address_space = text_of(item.find(".address_space"));
    arg.offset = number_of(item, ".offset");
    arg.size_bytes = number_of(item, ".size");
  }
}

}  // namespace wavetap::codeobj
