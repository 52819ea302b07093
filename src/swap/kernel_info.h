// KernelInfo: what has to be known of a kernel to say whether another may run in its place. It owns
// everything, so that it outlives the code object it was read from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "amd/gfx_target.h"
#include "codeobj/code_object.h"

namespace wavetap::swap {

struct Argument {
  std::string kind;  // "global_buffer", "by_value", "hidden_block_count_x", …
  uint64_t offset = 0;
  uint64_t bytes = 0;

  bool is_hidden() const { return kind.starts_with("hidden_"); }
  friend bool operator==(const Argument&, const Argument&) = default;
};

struct KernelInfo {
  std::string name;  // the symbol, mangled, without ".kd"
  amd::GfxTarget target;
  std::string target_id;  // "gfx90a:sramecc+:xnack-"
  bool has_metadata = false;
  std::vector<Argument> arguments;  // in the order of the metadata, without hidden_none
  uint64_t kernarg_bytes = 0;
  uint64_t kernarg_align = 0;
  uint32_t lds_bytes = 0;      // static, per workgroup
  uint32_t scratch_bytes = 0;  // per lane, fixed part
  uint32_t wave_size = 0;
  uint32_t sgprs = 0;
  uint32_t vgprs = 0;
  uint32_t max_workgroup = 0;  // lanes; 0: not said
  uint32_t required_workgroup[3] = {};
  bool uses_dynamic_stack = false;
  uint64_t hash = 0;  // of its code, see code_hash()
  // Writable variables that it uses, and all those of its code object; sorted. Tables of constants are not
  // among them: each copy holds the same.
  std::vector<std::string> variables;
  std::vector<std::string> object_variables;
};

// A variable that others than the code object can name: hipMemcpyToSymbol(), managed memory, textures.
struct Variable {
  std::string name;
  uint64_t bytes = 0;

  friend bool operator==(const Variable&, const Variable&) = default;
};

KernelInfo describe(const codeobj::CodeObject& object, const codeobj::Kernel& kernel);
std::vector<KernelInfo> describe_all(const codeobj::CodeObject& object);
// Sorted by name.
std::vector<Variable> exported_variables(const codeobj::CodeObject& object);

// FNV-1a of the kernel's own instructions; functions that it calls are not in it.
uint64_t code_hash(const codeobj::Kernel& kernel);

}  // namespace wavetap::swap
