// Compares the memory that a replay left with what the captured dispatch had left.
//
// Bytes are compared wherever either of the two changed something. In memory that the host can write
// while a kernel runs (all but VRAM, and the kernarg segment's surroundings), a byte that changed
// during the capture and that the replay never changed is the host's doing as far as anybody can
// tell: it is counted apart. So are the device's heap and pointers into it (host_services.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "replay/capture_file.h"
#include "replay/captured_kernel.h"
#include "replay/captured_memory.h"
#include "replay/host_services.h"

namespace wavetap::replay {

// How equal is equal. Numbers of other types than floating point are always compared by their bits.
struct Tolerance {
  enum class Kind { kBits, kAbsolute, kRelative, kUlp } kind = Kind::kBits;
  double limit = 0;
  // Of what kind the numbers are: "f16". For all buffers: where the kernel's signature does not tell.
  std::string element;
  size_t argument = SIZE_MAX;        // which buffer; SIZE_MAX: all
  std::vector<Tolerance> arguments;  // buffers for which something else holds
};
// "bits", "abs=1e-6", "rel=1e-5", "ulp=4", or a number, which is a relative limit.
Result<Tolerance> parse_tolerance(const std::string& text);
std::string to_text(const Tolerance& tolerance);  // the same back
// Several, with commas between them: "f16:" before one says what the numbers are, "arg3:" before that which
// buffer is meant.
Result<Tolerance> parse_tolerances(const std::string& text);
// Whether two elements are equal in that sense. Any two NaNs are; a zero equals its negative.
bool is_equal(const std::string& element, const std::byte* a, const std::byte* b,
              const Tolerance& tolerance);

// How far two numbers are from each other; infinite where one of them is no finite number and the other is something
// else. Nothing for elements that are not floating point.
struct ElementError {
  double absolute = 0, relative = 0, ulps = 0;
};
std::optional<ElementError> error_between(const std::string& element, const std::byte* a,
                                          const std::byte* b);

// One element that has other bits than it should have.
struct ElementPair {
  size_t argument = SIZE_MAX;  // SIZE_MAX: memory that no argument points at
  const std::string& element;  // "f32"
  uint64_t address = 0;
  uint64_t index = 0;
  const std::byte* expected = nullptr;
  const std::byte* got = nullptr;
};
// Whether that is good enough.
using ElementJudge = std::function<bool(const ElementPair& pair)>;

struct BufferDifference {
  size_t argument = SIZE_MAX;  // SIZE_MAX: memory that no argument points at
  std::string element;         // "f32"; "u8" where nothing is known
  uint64_t base = 0;           // of the argument's memory, or of the region
  uint64_t differing = 0;      // elements
  uint64_t first_index = 0;
  std::vector<std::byte> expected, got;  // the first element that differs
};

struct Verdict {
  uint64_t written_bytes = 0;             // that the replay changed
  uint64_t captured_bytes = 0;            // that changed during the capture
  uint64_t host_bytes = 0;                // of those, not counted: see above
  uint64_t heap_bytes = 0;                // not counted: of the device's heap
  uint64_t heap_pointers = 0;             // not counted: words that hold addresses of it
  uint64_t differing = 0;                 // elements
  std::vector<BufferDifference> buffers;  // those with differences

  bool equal() const { return differing == 0; }
};

// What judges by a tolerance alone.
ElementJudge judge_by(const Tolerance& tolerance);

// capture.has_after must hold. `heap`: memory that the replay's kernel allocated elsewhere.
Verdict verify(const CaptureFile& file, const Capture& capture, const CapturedKernel& kernel,
               const CapturedMemory& memory, const ElementJudge& judge,
               const std::vector<HostRange>& heap = {});
Verdict verify(const CaptureFile& file, const Capture& capture, const CapturedKernel& kernel,
               const CapturedMemory& memory, const Tolerance& tolerance,
               const std::vector<HostRange>& heap = {});

}  // namespace wavetap::replay
