// Device truth: the figures of each GPU as the driver, HSA, HIP and CUDA's entry points give them,
// beside the published ones. The layers are asked in child processes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "doctor/finding.h"
#include "doctor/machine.h"

namespace wavetap::doctor {

// What one layer says about one GPU; 0 and "" where it does not say.
struct LayerFigures {
  std::string name;
  std::string arch;
  uint64_t multiprocessors = 0;
  uint64_t clock_mhz = 0;
  uint64_t wave_size = 0;
  uint64_t lds_bytes = 0;
  uint64_t vram_bytes = 0;
  uint64_t l2_bytes = 0;
  uint64_t node = 0;
  std::string pci_address;
};

struct Layer {
  std::string name;     // "HSA"
  std::string library;  // the file that answered
  std::string error;    // why it has no figures
  std::vector<LayerFigures> devices;
};

struct Truth {
  Layer hsa, hip, cuda;
};

// `program` is the path of wavetap-trial.
Truth ask_layers(const std::string& program);

// Flags the layer that lies, explains the counts that differ and do not.
void judge_truth(const Machine& machine, const Truth& truth, Findings& findings);

// One figure of a GPU in every layer; "-" where a layer does not say.
struct FigureRow {
  std::string figure;  // "compute units"
  std::string published, driver, hsa, hip, cuda;
};
std::vector<FigureRow> figure_rows(const Machine& machine, const Truth& truth, const Gpu& gpu);

// One table per GPU.
std::string truth_table(const Machine& machine, const Truth& truth, size_t columns);

}  // namespace wavetap::doctor
