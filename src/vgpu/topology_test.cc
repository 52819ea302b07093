#include "vgpu/topology.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/sys_files.h"
#include "vgpu/test_driver.h"

namespace wavetap::vgpu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAreArray;

class Tree {
 public:
  explicit Tree(const Config& config) {
    const Status status = write_tree(scratch_.path(), config);
    EXPECT_TRUE(status.ok()) << status.error().message;
  }
  std::string text(const std::string& path) const {
    return sys::read_file(scratch_.path() + path).value_or("<missing>");
  }
  // The number behind `key` in a properties file.
  uint64_t value(const std::string& path, const std::string& key) const {
    std::istringstream in(text(path));
    std::string name;
    std::string number;
    while (in >> name >> number)
      if (name == key) return std::stoull(number);
    ADD_FAILURE() << path << " has no " << key;
    return ~0ull;
  }
  std::vector<std::string> names(const std::string& path) const {
    return sys::list_directory(scratch_.path() + path);
  }

 private:
  ScratchDirectory scratch_;
};

const std::string kNodes = "/sys/class/kfd/kfd/topology/nodes";

TEST(Topology, NumbersTheNodesWithoutGapsOrStrangers) {
  const Tree tree(config_of({"rx6800xt", "mi250x"}));
  EXPECT_THAT(tree.names(kNodes), ElementsAre("0", "1", "2", "3"));
  EXPECT_EQ(tree.text(kNodes + "/0/gpu_id"), "0\n");
  EXPECT_EQ(tree.text(kNodes + "/1/name"), "gfx1030\n");
  EXPECT_EQ(tree.value(kNodes + "/0/properties", "simd_count"), 0u);
}

TEST(Topology, ReportsTheModelsFigures) {
  const Tree tree(config_of({"rx6800xt", "mi300x"}));
  const std::string navi = kNodes + "/1/properties";
  EXPECT_EQ(tree.value(navi, "simd_count"), 144u);
  EXPECT_EQ(tree.value(navi, "gfx_target_version"), 100300u);
  EXPECT_EQ(tree.value(navi, "array_count"), 8u);
  EXPECT_EQ(tree.value(navi, "wave_front_size"), 32u);
  EXPECT_EQ(tree.value(navi, "device_id"), 0x73bfu);
  EXPECT_EQ(tree.value(navi, "local_mem_size"), 0u);
  EXPECT_EQ(tree.value(kNodes + "/1/mem_banks/0/properties", "size_in_bytes"), 16368ull << 20);
  const std::string mi300 = kNodes + "/2/properties";
  EXPECT_EQ(tree.value(mi300, "gfx_target_version"), 90402u);
  EXPECT_EQ(tree.value(mi300, "num_xcc"), 8u);
  EXPECT_EQ(tree.value(mi300, "simd_count"), 304u * 4);
}

TEST(Topology, CountsMatchTheDirectories) {
  const Tree tree(config_of({"mi100", "rx7900xtx", "mi250x"}));
  for (const std::string& node : tree.names(kNodes)) {
    const std::string path = kNodes + "/" + node;
    const std::string properties = path + "/properties";
    EXPECT_EQ(tree.value(properties, "caches_count"), tree.names(path + "/caches").size());
    EXPECT_EQ(tree.value(properties, "io_links_count"), tree.names(path + "/io_links").size());
    EXPECT_EQ(tree.value(properties, "p2p_links_count"), tree.names(path + "/p2p_links").size());
    EXPECT_EQ(tree.value(properties, "mem_banks_count"), tree.names(path + "/mem_banks").size());
    EXPECT_GE(tree.value(properties, "caches_count"), 1u);
  }
}

TEST(Topology, JoinsTheDiesOfAPackageByXgmi) {
  const Tree tree(config_of({"mi210", "mi250x"}));
  // Node 2 and 3 are the package: one link to the CPU, one to the sibling.
  EXPECT_EQ(tree.value(kNodes + "/2/io_links/0/properties", "node_to"), 0u);
  EXPECT_EQ(tree.value(kNodes + "/2/io_links/1/properties", "node_to"), 3u);
  EXPECT_EQ(tree.value(kNodes + "/2/io_links/1/properties", "type"), 11u);
  EXPECT_EQ(tree.value(kNodes + "/3/io_links/1/properties", "node_to"), 2u);
  EXPECT_EQ(tree.value(kNodes + "/2/properties", "hive_id"),
            tree.value(kNodes + "/3/properties", "hive_id"));
  // The other GPU is a PCIe peer only.
  EXPECT_EQ(tree.value(kNodes + "/1/properties", "hive_id"), 0u);
  EXPECT_EQ(tree.value(kNodes + "/2/p2p_links/0/properties", "node_to"), 1u);
}

TEST(Topology, WithASmallBarTheCpuHasNoLinkToVram) {
  Config config = config_of({"rx6800xt"});
  config.small_bar = true;
  const Tree tree(config);
  EXPECT_EQ(tree.value(kNodes + "/0/properties", "io_links_count"), 0u);
  EXPECT_EQ(tree.value(kNodes + "/1/mem_banks/0/properties", "heap_type"), 2u);
  EXPECT_EQ(tree.text("/sys/class/drm/card0/device/mem_info_vis_vram_total"), "268435456\n");
}

TEST(Topology, AnnouncesSharedVirtualMemoryWhenAskedTo) {
  Config config = config_of({"mi210"});
  EXPECT_EQ(Tree(config).value(kNodes + "/1/properties", "capability") >> 27 & 1, 0u);
  config.svm = true;
  EXPECT_EQ(Tree(config).value(kNodes + "/1/properties", "capability") >> 27 & 1, 1u);
}

TEST(Topology, EveryWayToADeviceLeadsToTheSameFiles) {
  const Tree tree(config_of({"rx6800xt", "mi210"}));
  for (const char* path :
       {"/sys/class/drm/card1/device/device", "/sys/class/drm/renderD129/device/device",
        "/sys/dev/char/226:129/device/device", "/sys/bus/pci/devices/0000:d4:00.0/device"})
    EXPECT_EQ(tree.text(path), "0x740f\n") << path;
  EXPECT_EQ(tree.text("/sys/dev/char/226:129/dev"), "226:129\n");
  EXPECT_THAT(tree.text("/sys/class/drm/card0/device/uevent"), HasSubstr("PCI_ID=1002:73BF"));
  EXPECT_THAT(tree.names("/sys/dev/char/226:128/device/drm"), ElementsAre("card0", "renderD128"));
  EXPECT_EQ(tree.text("/sys/module/amdgpu/initstate"), "live\n");
  EXPECT_THAT(tree.names("/dev/dri"),
              ElementsAre("by-path", "card0", "card1", "renderD128", "renderD129"));
}

TEST(Topology, ThePciBusHasTheHostsDevicesAndOurs) {
  std::vector<std::string> expected = sys::list_directory("/sys/bus/pci/devices");
  for (const char* ours : {"0000:d3:00.0", "0000:d4:00.0"}) expected.push_back(ours);
  const Tree tree(config_of({"rx6800xt", "mi210"}));
  EXPECT_THAT(tree.names("/sys/bus/pci/devices"), UnorderedElementsAreArray(expected));
  EXPECT_EQ(tree.text("/sys/bus/pci/devices/0000:d3:00.0/class"), "0x030000\n");
  const std::string host = "/sys/bus/pci/devices/" + expected.front() + "/class";
  if (expected.size() > 2) {
    EXPECT_EQ(tree.text(host), sys::read_file(host).value_or(""));
  }
}

TEST(Topology, SaysWhereItCouldNotWrite) {
  const Status status = write_tree("/proc/no-such-place", config_of({"mi210"}));
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("/proc/no-such-place"));
}

}  // namespace
}  // namespace wavetap::vgpu
