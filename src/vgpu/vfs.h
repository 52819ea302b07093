// Which paths belong to the virtual machine, and where they lie in the run's tree. Pure string
// work: no heap, no locks, usable from any interposed call.
//
// Everything below the prefixes in vfs.cc is answered from the tree; of the list of PCI devices only the list
// itself, which has the host's devices as well. All other paths, which is nearly all, are told apart by their
// first characters. `//` and `/./` are folded, and `..` as long
// as the path has not reached the tree: from there on the tree's own symbolic links decide, as they
// do in sysfs.
#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>

namespace wavetap::vgpu {

struct PathBuffer {
  char text[2 * PATH_MAX];
};

// The device nodes, by the number in their name.
enum class NodeKind : uint8_t { kNone, kCompute, kRender, kCard };
struct DeviceNode {
  NodeKind kind = NodeKind::kNone;
  uint32_t minor = 0;
};

// True when `path` might be one of ours: two to four characters are looked at. Null and relative
// paths are not.
inline bool may_be_ours(const char* path) {
  if (path == nullptr || path[0] != '/') return false;
  switch (path[1]) {
    case 's': return path[2] == 'y' && path[3] == 's' && path[4] == '/';
    case 'd': return path[2] == 'e' && path[3] == 'v' && (path[4] == '/');
    case 'p': return path[2] == 'r' && path[3] == 'o' && path[4] == 'c';
    case '/':
    case '.': return true;
    default: return false;
  }
}

// The place of `path` in the tree at `root` (its text in `buffer`), or null when it is not ours.
// `node` is filled in for paths that name a device node.
const char* place_in_tree(const char* root, const char* path, PathBuffer& buffer, DeviceNode* node);

// "renderD128", "card0", "kfd": the node a file name stands for.
DeviceNode node_of_name(const char* name);

// Some entries share a directory with the host's: only those the tree has are ours.
bool needs_existence_check(const char* path);

}  // namespace wavetap::vgpu
