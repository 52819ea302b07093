#include "vgpu/vfs.h"

#include <cstring>
#include <string>

#include <gtest/gtest.h>

namespace wavetap::vgpu {
namespace {

std::string placed(const char* path, DeviceNode* node = nullptr) {
  PathBuffer buffer;
  const char* place = place_in_tree("/run", path, buffer, node);
  return place == nullptr ? "" : place;
}

TEST(Vfs, TakesWhatBelongsToTheDevice) {
  EXPECT_EQ(placed("/sys/class/kfd/kfd/topology/nodes/0"),
            "/run/sys/class/kfd/kfd/topology/nodes/0");
  EXPECT_EQ(placed("/sys/class/drm"), "/run/sys/class/drm");
  EXPECT_EQ(placed("/sys/dev/char/226:128/device/drm"), "/run/sys/dev/char/226:128/device/drm");
  EXPECT_EQ(placed("/sys/module/amdgpu/version"), "/run/sys/module/amdgpu/version");
  EXPECT_EQ(placed("/dev/dri"), "/run/dev/dri");
  EXPECT_EQ(placed("/proc/modules"), "/run/proc/modules");
}

TEST(Vfs, LeavesEverythingElseAlone) {
  for (const char* path :
       {"", ".", "kfd", "/", "/s", "/sy", "/dev", "/dev/", "/dev/null", "/dev/kfd0", "/dev/drivers",
        "/sys/class", "/sys/class/net", "/sys/dev/char/1:3", "/sys/module/amdgpu2",
        "/proc/self/maps", "/etc/passwd", "/home/dev/kfd", "/sys/bus/pci/devices/0000:00:00.0"})
    EXPECT_EQ(placed(path), "") << path;
  EXPECT_EQ(placed(nullptr), "");
}

TEST(Vfs, TakesTheListOfPciDevicesButNotTheHostsDevices) {
  EXPECT_EQ(placed("/sys/bus/pci/devices"), "/run/sys/bus/pci/devices");
  EXPECT_EQ(placed("/sys/bus//pci/devices/"), "/run/sys/bus/pci/devices");
  EXPECT_EQ(placed("/sys/bus/pci/devices/0000:d3:00.0/class"),
            "/run/sys/bus/pci/devices/0000:d3:00.0/class");
  EXPECT_EQ(placed("/sys/bus/pci/devices/0000:00:00.0/class"), "");
  EXPECT_EQ(placed("/sys/bus/pci/devices2"), "");
  EXPECT_EQ(placed("/sys/bus/pci"), "");
}

TEST(Vfs, FoldsSlashesAndDots) {
  EXPECT_EQ(placed("//dev//kfd"), "/run/dev/kfd");
  EXPECT_EQ(placed("/dev/./dri//renderD128"), "/run/dev/dri/renderD128");
  EXPECT_EQ(placed("/./sys/class/kfd/"), "/run/sys/class/kfd");
  EXPECT_EQ(placed("/dev/shm/../kfd"), "/run/dev/kfd");
  EXPECT_EQ(placed("/dev/../../../sys/class/kfd"), "/run/sys/class/kfd");
}

TEST(Vfs, LeavesDotsInsideTheTreeToItsLinks) {
  EXPECT_EQ(placed("/sys/class/drm/card0/device/../.."), "/run/sys/class/drm/card0/device/../..");
}

TEST(Vfs, RecognisesDeviceNodes) {
  DeviceNode node;
  placed("/dev/kfd", &node);
  EXPECT_EQ(node.kind, NodeKind::kCompute);
  placed("/dev/dri/renderD129", &node);
  EXPECT_EQ(node.kind, NodeKind::kRender);
  EXPECT_EQ(node.minor, 129u);
  placed("/dev/dri/card7", &node);
  EXPECT_EQ(node.kind, NodeKind::kCard);
  for (const char* path :
       {"/dev/dri", "/dev/dri/renderD", "/dev/dri/renderD12x", "/dev/dri/renderD9999999999",
        "/dev/dri/by-path/card0", "/dev/dri/kfd", "/sys/class/drm/card0"}) {
    placed(path, &node);
    EXPECT_EQ(node.kind, NodeKind::kNone) << path;
  }
}

TEST(Vfs, RefusesPathsThatDoNotFit) {
  std::string path = "/sys/class/kfd/";
  path.append(sizeof(PathBuffer), 'x');
  EXPECT_EQ(placed(path.c_str()), "");
}

}  // namespace
}  // namespace wavetap::vgpu
