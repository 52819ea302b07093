// What recorded processes share: GPUs and their lanes are numbered once for the whole file. The same
// GPU has one number even where processes see it under different ones.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "store/raw_facts.h"
#include "store/trace_writer.h"

namespace wavetap::store {

// A row of wavetap_device_figure without its process.
struct FigureOfDevice {
  std::optional<int64_t> gpu;
  std::optional<std::string> pci;
  std::string layer, field, value;
  std::optional<std::string> told;
  auto operator<=>(const FigureOfDevice&) const = default;
};

class ImportDevices {
 public:
  // -1 for CPUs.
  int64_t id(const RawAgent* agent);
  int64_t next_lane() { return lanes_++; }

  // Memory that was taken or, with a negative delta, given back, by any process.
  void hold(int64_t device, int64_t time, int64_t delta) { held_.push_back({time, device, delta}); }
  // Whether these are told for the first time.
  bool are_new(const std::vector<FigureOfDevice>& figures) { return told_.insert(figures).second; }

  // The GPUs, how much each held as a monitor beside the work, and its high-water mark. Once all
  // processes are in.
  void write(TraceWriter& writer);

 private:
  struct Device {
    RawAgent agent;
    int64_t held_bytes = 0, peak_bytes = 0, peak_time = 0;
  };
  struct Held {
    int64_t time = 0;
    int64_t device = 0;
    int64_t delta = 0;
  };
  void write_held(TraceWriter& writer);

  int64_t lanes_ = 0;
  std::map<int64_t, Device> devices_;
  std::vector<Held> held_;
  std::set<std::vector<FigureOfDevice>> told_;
};

// "0000:03:00.0".
std::string pci_address(uint32_t bdf);

}  // namespace wavetap::store
