#include "vgpu/vfs.h"

#include <cstring>

namespace wavetap::vgpu {
namespace {

struct Prefix {
  const char* text;
  bool open_ended;  // matches any continuation, not only a whole component
};

constexpr Prefix kPrefixes[] = {
    {"/dev/kfd", false},
    {"/dev/dri", false},
    {"/sys/class/kfd", false},
    {"/sys/class/drm", false},
    {"/sys/dev/char/226:", true},
    {"/sys/devices/virtual/kfd", false},
    {"/sys/devices/pci0000:d1", false},
    {"/sys/bus/pci/devices/0000:d", true},
    {"/sys/bus/pci/drivers/amdgpu", false},
    {"/sys/module/amdgpu", false},
    {"/proc/modules", false},
};

bool matches(const char* path, size_t length, const Prefix& prefix) {
  const size_t prefix_length = std::strlen(prefix.text);
  if (length < prefix_length || std::memcmp(path, prefix.text, prefix_length) != 0) return false;
  return prefix.open_ended || length == prefix_length || path[prefix_length] == '/';
}

bool is_ours(const char* path, size_t length) {
  for (const Prefix& prefix : kPrefixes)
    if (matches(path, length, prefix)) return true;
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
    inside = inside || is_ours(start, static_cast<size_t>(out - start));
  }
  *out = '\0';
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
