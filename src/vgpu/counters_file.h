// The counters of each dispatch as lines of text: one JSON object per line, appended with one
// write, so that several threads and processes share a file and a killed program loses nothing that
// was finished. "counters" are ours, "amd" the same facts under AMD's names where both mean exactly
// the same. `wavetap run --counters` makes one JSON document of it.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "amd/kernel_descriptor.h"
#include "base/gpu_addr.h"
#include "vgpu/queues.h"

namespace wavetap::vgpu {

struct Gpu;

// Thread-safe. Opens the file for each line: no descriptor of ours stays in the program, and a
// forked child needs nothing.
class CountersFile {
 public:
  explicit CountersFile(std::string path) : path_(std::move(path)) {}

  // `gpu` is the one the record names.
  void append(Gpu& gpu, const DispatchRecord& record);

 private:
  // Finding a kernel's name means reading files, so it is remembered for as long as the same
  // descriptor is at the same address.
  struct NamedKernel {
    amd::KernelDescriptor descriptor;
    std::string name;
  };
  std::string name_of(Gpu& gpu, GpuAddr kernel_object);

  const std::string path_;
  std::mutex mutex_;
  std::map<std::pair<uint32_t, uint64_t>, NamedKernel> names_;  // by GPU and address
};

}  // namespace wavetap::vgpu
