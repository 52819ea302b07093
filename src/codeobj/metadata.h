// The metadata note of a code object. Private to codeobj/.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "codeobj/code_object.h"
#include "codeobj/elf.h"
#include "codeobj/msgpack.h"

namespace wavetap::codeobj {

struct Metadata {
  MsgpackValue root;
  std::string target_id;  // of "amdhsa.target"; empty before version 4

  // The description of the kernel whose symbol is `name`, or null.
  const MsgpackValue* find_kernel(std::string_view name) const;
};

// NT_AMDGPU_METADATA of the code object, versions 3 to 6. Nothing when it is missing or damaged.
std::optional<Metadata> metadata_of(const ElfView& elf);

// Copies the fields of a kernel description.
void fill_kernel(const MsgpackValue& description, Kernel& kernel);

}  // namespace wavetap::codeobj
