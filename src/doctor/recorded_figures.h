// Device truth of a trace: what the layers said while a program was recorded, judged as the doctor
// judges a machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "doctor/machine.h"
#include "doctor/truth.h"

namespace wavetap::doctor {

// A row of table wavetap_device_figure.
struct RecordedFigure {
  int64_t pid = 0;
  std::optional<int64_t> gpu;  // nothing: not of one GPU, or of one the program could not use
  std::string pci;
  std::string layer;  // "driver", "hsa", "hip", "cuda", "environment"
  std::string field;
  std::string value;
  std::optional<std::string> told;  // what the program was told instead
};

struct RecordedTruth {
  // A layer that lies, an override that is not safe, a correction that breaks.
  std::vector<std::string> warnings;
  std::vector<std::string> notes;  // what explains a difference
  struct Row {
    int64_t gpu = 0;
    FigureRow figures;
  };
  std::vector<Row> rows;                    // of the GPUs that are warned about
  std::vector<RecordedFigure> corrections;  // figures a program was told other than they are
};

// Empty when all layers agree and nothing was corrected.
RecordedTruth judge_recorded(const std::vector<RecordedFigure>& figures,
                             const std::vector<model::Model>& known);

}  // namespace wavetap::doctor
