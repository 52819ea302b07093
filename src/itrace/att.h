// AMD's raw thread trace of gfx9, FILE.att: what a shader engine writes while waves of one compute
// unit run. rocprofv3 --att leaves such files, and AMD's decoder reads them.
//
// A header of 8 bytes, then tokens of 2 to 8 bytes, the low four bits of each being its type (facts:
// AMD's open decoder). Time goes on by each token's own delta, in steps of 4 cycles. A wave's
// instructions have no addresses: ISSUE says when one was tried and issued, INST of which kind it was,
// and whoever reads follows the code from the wave's start, branch by branch. Waits and the like are
// ISSUE alone ("immediate"). Registers that the driver sets tell where code is: the kernel's address,
// and by way of USERDATA2 which code object lies where.
//
// An immediate lasts from the end of the instruction before it, so that a trace read back has its
// times; only a wait's stall is not told apart from its last 4 cycles, and taken as all but those.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "itrace/trace.h"

namespace wavetap::itrace {

struct AttUnit {
  uint32_t se = 0;
  uint32_t cu = 0;
};

// Where the code lay while waves ran.
struct AttCode {
  uint64_t id = 1;          // of the code object
  uint64_t load_delta = 0;  // where it lay less where it is linked
  uint64_t size_bytes = 0;  // in memory, from address 0 as linked
};

// The waves of one unit. `gfx942`: MI300's number in the header. Waves that the format cannot hold
// (slots above 9) are left out; *left_out counts them.
std::vector<std::byte> write_att(const Trace& trace, const AttUnit& unit, const AttCode& code,
                                 bool gfx942, uint64_t* left_out);
// The units that waves of the trace ran on.
std::vector<AttUnit> units_of(const Trace& trace);

// The code object of a number, as a file; empty when there is none.
using CodeObjectSource = std::function<std::vector<std::byte>(uint64_t id)>;

// `shown` is how errors name the file.
Result<Trace> read_att(std::span<const std::byte> bytes, const CodeObjectSource& code_objects,
                       const std::string& shown);
// FILE.att with the …code_object_id_N.out beside it.
Result<Trace> read_att_file(const std::string& path);

}  // namespace wavetap::itrace
