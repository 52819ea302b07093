// The files software reads to find and describe the GPUs: KFD's topology, the DRM and PCI device
// directories with amdgpu's attributes and sensors, the driver's module directory, the device
// nodes. Plain files below a root, written once per run; what they must hold is listed per reader
// in topology.cc and sysfs_device.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "vgpu/config.h"

namespace wavetap::vgpu {

// Collects files below `root`; the first failure is kept and later calls do nothing.
class TreeWriter {
 public:
  explicit TreeWriter(std::string root) : root_(std::move(root)) {}

  void file(const std::string& path, std::string_view content);
  void link(const std::string& path, const std::string& target);
  void directory(const std::string& path);
  Status status() const;

 private:
  void note(const std::string& path, int error);

  std::string root_;
  std::string failed_path_;
  int error_ = 0;
};

// Everything. `root` becomes the place of `/`.
Status write_tree(const std::string& root, const Config& config);

// The PCI device directory of one GPU and the links to it (sysfs_device.cc).
void write_device(TreeWriter& tree, const Config& config, const GpuPlace& place);

}  // namespace wavetap::vgpu
