// What several tests of the driver need: configurations from the shipped models and a scratch
// directory.
#pragma once

#include <stdlib.h>

#include <initializer_list>
#include <string>

#include <gtest/gtest.h>

#include "base/sys_files.h"
#include "vgpu/config.h"
#include "vgpu/driver.h"

namespace wavetap::vgpu {

inline Config config_of(std::initializer_list<const char*> models) {
  Config config;
  for (const char* name : models) {
    Result<model::Model> model = model::load_model(WT_SOURCE_DIR "/models", name);
    EXPECT_TRUE(model.ok()) << model.error().message;
    if (model.ok()) config.models.push_back(std::move(*model));
  }
  config.threads = 1;
  return config;
}

// Removed with everything in it.
class ScratchDirectory {
 public:
  ScratchDirectory() {
    char name[] = "/tmp/wavetap-vgpu-test-XXXXXX";
    if (::mkdtemp(name) != nullptr) path_ = name;
  }
  ~ScratchDirectory() { sys::remove_tree(path_); }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Drivers are never destroyed, so a test makes one and keeps its descriptors until the process
// ends.
inline Driver* make_driver(const Config& config, const std::string& run_dir = "") {
  int error = 0;
  Driver* driver = Driver::create(config, run_dir, &error);
  EXPECT_EQ(error, 0);
  return driver;
}

}  // namespace wavetap::vgpu
