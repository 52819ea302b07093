#include "vgpu/vfs.h"

#include <cstring>

namespace wavetap::vgpu {
namespace {

// How far a prefix reaches: the place and what is below it, any continuation of its text, or the place alone.
enum class Reach : uint8_t { kBelow, kContinued, kAlone };

struct Prefix {
  const char* text;
  Reach reach;
};

constexpr Prefix kPrefixes[] = {
    {"/dev/kfd", Reach::kBelow},
    {"/dev/dri", Reach::kBelow},
    {"/sys/class/kfd", Reach::kBelow},
    {"/sys/class/drm", Reach::kBelow},
    {"/sys/dev/char/226:", Reach::kContinued},
    {"/sys/devices/virtual/kfd", Reach::kBelow},
    {"/sys/devices/pci0000:d1", Reach::kBelow},
    {"/sys/bus/pci/devices", Reach::kAlone},
    {"/sys/bus/pci/devices/0000:d", Reach::kContinued},
    {"/sys/bus/pci/drivers/amdgpu", Reach::kBelow},
    {"/sys/module/amdgpu", Reach::kBelow},
    {"/proc/modules", Reach::kBelow},
};

bool matches(const char* path, size_t length, bool whole, const Prefix& prefix) {
  const size_t prefix_length = std::strlen(prefix.text);
  if (length < prefix_length || std::memcmp(path, prefix.text, prefix_length) != 0) return false;
  if (prefix.reach == Reach::kAlone) return whole && length == prefix_length;
  return prefix.reach == Reach::kContinued || length == prefix_length || path[prefix_length] == '/';
}

// `whole`: there is no more of the path to come.
bool is_ours(const char* path, size_t length, bool whole) {
  for (const Prefix& prefix : kPrefixes)
    if (matches(path, length, whole, prefix)) return true;
  return false;
}

// Digits only, at most 6 of them.
bool parse_minor(const char* text, uint32_t* minor) {
  uint32_t value = 0;
  int digits = 0;
  for (; *text >= '0' && *text <= '9'; ++text) {
    if (++digits > 6) return false;
    value = value * 10 + static_cast<uint32_t>(*text - '0');
  }
  *minor = value;
  return digits != 0 && *text == '\0';
}

}  // namespace

DeviceNode node_of_name(const char* name) {
  uint32_t minor = 0;
  if (std::strcmp(name, "kfd") == 0) return {NodeKind::kCompute, 0};
  if (std::strncmp(name, "renderD", 7) == 0 && parse_minor(name + 7, &minor))
    return {NodeKind::kRender, minor};
  if (std::strncmp(name, "card", 4) == 0 && parse_minor(name + 4, &minor))
    return {NodeKind::kCard, minor};
  return {};
}

bool needs_existence_check(const char* path) {
  return std::strncmp(path, "/sys/bus/pci/devices/", 21) == 0;
}

const char* place_in_tree(const char* root, const char* path, PathBuffer& buffer,
                          DeviceNode* node) {
  if (node != nullptr) *node = {};
  if (!may_be_ours(path)) return nullptr;
  const size_t root_length = std::strlen(root);
  const size_t path_length = std::strlen(path);
  if (root_length + path_length + 2 > sizeof buffer.text) return nullptr;
  std::memcpy(buffer.text, root, root_length);
  char* const start = buffer.text + root_length;
  char* out = start;
  bool inside = false;

  for (const char* at = path; *at != '\0';) {
    while (*at == '/') ++at;
    const char* end = at;
    while (*end != '\0' && *end != '/') ++end;
    const size_t length = static_cast<size_t>(end - at);
    if (length == 0) break;  // trailing slashes: every directory of the tree is a real one
    if (length == 1 && at[0] == '.') {
      at = end;
      continue;
    }
    if (!inside && length == 2 && at[0] == '.' && at[1] == '.') {
      while (out > start && *--out != '/') {
      }
      at = end;
      continue;
    }
    *out++ = '/';
    std::memcpy(out, at, length);
    out += length;
    at = end;
    inside = inside || is_ours(start, static_cast<size_t>(out - start), false);
  }
  *out = '\0';
  inside = inside || is_ours(start, static_cast<size_t>(out - start), true);
  if (!inside) return nullptr;
  if (node != nullptr) {
    if (std::strcmp(start, "/dev/kfd") == 0) *node = {NodeKind::kCompute, 0};
    if (std::strncmp(start, "/dev/dri/", 9) == 0) {
      *node = node_of_name(start + 9);
      if (node->kind == NodeKind::kCompute) *node = {};
    }
  }
  return buffer.text;
}

}  // namespace wavetap::vgpu
