// Peaks: what a GPU can do at most, in operations and bytes per second, and how long its memory takes
// to answer. For rooflines, timing models and the question whether a kernel is fast already.
//
// Every ceiling has up to two values. The book's is what AMD publishes, or follows from published
// rates (peaks.inc: per compute unit and clock) and the model's units and clocks; no program reaches
// it. The measured one is what a public microbenchmark reached on that product. Each says where it
// comes from; where nobody says, the value is 0 and nothing is guessed.
//
// All figures are of one GPU: a board with two dies has two of them.
#pragma once

#include <string>
#include <vector>

#include "model/figures.h"
#include "model/model.h"

namespace wavetap::model {

enum class Source : uint8_t {
  kNone,
  kPublished,  // the vendor prints this number
  kDerived,    // product of published numbers; `basis` is the product
  kMeasured,
};
std::string_view name_of(Source source);

struct Figure {
  double per_second = 0;  // operations or bytes; 0: unknown
  Source source = Source::kNone;
  std::string basis;  // "128 x 104 CUs x 1700 MHz", per clock first; or who measured
};

struct Ceiling {
  Figure book;
  Figure measured;
  // What to hold a program against: measured where somebody has, else the book's.
  const Figure& known_best() const { return measured.per_second != 0 ? measured : book; }
};

struct ComputePeak {
  Rate rate;
  Ceiling ceiling;
};

struct MemoryPeak {
  Level level{};
  Ceiling ceiling;
};

struct Latency {
  Level level{};
  Cycles cycles;
  uint32_t clock_mhz = 0;  // of these cycles
  std::string source;
};

struct Peaks {
  std::vector<ComputePeak> compute;  // by pipe, then by precision
  std::vector<MemoryPeak> memory;    // from the nearest level to the farthest
  std::vector<Latency> latency;

  // Null when nothing is known.
  const Ceiling* find(Rate rate) const;
  const Ceiling* find(Level level) const;
};

Peaks peaks(const Model& model);

}  // namespace wavetap::model
