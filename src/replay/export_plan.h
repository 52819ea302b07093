// What a stand-alone program of a captured dispatch consists of (capture_export.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "format/capture.h"
#include "replay/capture_file.h"
#include "replay/captured_kernel.h"
#include "replay/captured_memory.h"

namespace wavetap::replay {

struct ExportPlace {
  enum class Kind { kBuffer, kVariable, kCode } kind = Kind::kBuffer;
  std::string name;  // of a variable: its symbol
  uint64_t address = 0;
  uint64_t size_bytes = 0;
};

// Bytes of a place, uploaded before the launch.
struct ExportPiece {
  uint32_t place = 0;
  uint64_t offset = 0;
  std::vector<std::byte> bytes;
};

// Bytes of a place that are compared afterwards.
struct ExportOutput {
  uint32_t place = 0;
  uint64_t offset = 0;
  std::vector<std::byte> bytes;
  std::string name;
  std::string element;
  uint64_t first_index = 0;
};

// A word that holds an address. As the program reads it from a file.
struct ExportPointer {
  uint32_t place = 0;
  uint32_t reserved = 0;
  uint64_t offset = 0;
};
inline constexpr uint32_t kInArguments = UINT32_MAX;

struct ExportAnchor {
  std::string name;
  uint64_t linked_address = 0;
};

struct ExportPlan {
  std::vector<std::byte> arguments;  // the visible ones
  std::vector<ExportPlace> places;   // the last one is the code
  std::vector<ExportPiece> pieces;   // by place and offset
  std::vector<ExportOutput> outputs;
  std::vector<ExportPointer> pointers;  // by place and offset
  std::vector<ExportAnchor> anchors;    // variables by which the code is found
  uint32_t code_pointers = 0;           // words that point into the code
  uint64_t guessed = 0;                 // pointers that no type says are some
};

// `touched` from a run, after which `memory` is as that run left it; `has_result`: it ended well.
ExportPlan plan_export(const CaptureFile& file, const Capture& capture,
                       const CapturedKernel& kernel, const CapturedMemory& memory,
                       const std::vector<format::CaptureTouchedPage>& touched, bool has_result);

}  // namespace wavetap::replay
