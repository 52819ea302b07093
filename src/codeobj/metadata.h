// The metadata notes of a code object: one, or one per object it was linked from. Private to
// codeobj/.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "codeobj/code_object.h"
#include "codeobj/elf.h"
#include "codeobj/msgpack.h"

namespace wavetap::codeobj {

struct Metadata {
  std::vector<MsgpackValue> notes;
  std::string target_id;  // of "amdhsa.target"; empty before version 4

  // The descriptions of all kernels by symbol, without ".kd". They point into this.
  std::unordered_map<std::string_view, const MsgpackValue*> kernels() const;
};

// NT_AMDGPU_METADATA of the code object, versions 3 to 6. Nothing when it is missing or damaged.
std::optional<Metadata> metadata_of(const ElfView& elf);

// Copies the fields of a kernel description.
void fill_kernel(const MsgpackValue& description, Kernel& kernel);

}  // namespace wavetap::codeobj
