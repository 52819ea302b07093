#include "isa/registers.h"

#include <charconv>

namespace wavetap::isa {
namespace {

struct Special {
  std::string_view name;
  uint16_t slot;
  uint8_t dwords;
};

constexpr Special kSpecial[] = {
    {"VCC", slot::kVccLo, 2},
    {"VCC_LO", slot::kVccLo, 1},
    {"VCC_HI", slot::kVccHi, 1},
    {"EXEC", slot::kExecLo, 2},
    {"EXEC_LO", slot::kExecLo, 1},
    {"EXEC_HI", slot::kExecHi, 1},
    {"M0", slot::kM0, 1},
    {"SGPR_NULL", slot::kNull, 1},
    {"SGPR_NULL64", slot::kNull, 2},
    {"FLAT_SCR", slot::kFlatScratchLo, 2},
    {"FLAT_SCR_LO", slot::kFlatScratchLo, 1},
    {"FLAT_SCR_HI", slot::kFlatScratchHi, 1},
    {"XNACK_MASK", slot::kXnackMaskLo, 2},
    {"XNACK_MASK_LO", slot::kXnackMaskLo, 1},
    {"XNACK_MASK_HI", slot::kXnackMaskHi, 1},
    {"SRC_SHARED_BASE", slot::kSharedBase, 2},
    {"SRC_SHARED_BASE_LO", slot::kSharedBase, 1},
    {"SRC_SHARED_LIMIT", slot::kSharedLimit, 2},
    {"SRC_SHARED_LIMIT_LO", slot::kSharedLimit, 1},
    {"SRC_PRIVATE_BASE", slot::kPrivateBase, 2},
    {"SRC_PRIVATE_BASE_LO", slot::kPrivateBase, 1},
    {"SRC_PRIVATE_LIMIT", slot::kPrivateLimit, 2},
    {"SRC_PRIVATE_LIMIT_LO", slot::kPrivateLimit, 1},
    {"SRC_POPS_EXITING_WAVE_ID", slot::kPopsExitingWaveId, 1},
    {"SRC_SCC", slot::kScc, 1},
    {"SRC_VCCZ", slot::kVccz, 1},
    {"SRC_EXECZ", slot::kExecz, 1},
    {"LDS_DIRECT", slot::kLdsDirect, 1},
};

// Register files whose names are a prefix and a number.
struct File {
  std::string_view prefix;
  OperandKind kind;
  uint16_t first;
};

constexpr File kFiles[] = {
    {"VGPR", OperandKind::kVgpr, 0},
    {"AGPR", OperandKind::kAgpr, 0},
    {"SGPR", OperandKind::kScalar, 0},
    {"TTMP", OperandKind::kScalar, slot::kTtmp0},
};

}  // namespace

Operand register_operand(std::string_view name) {
  for (const std::string_view suffix : {"_vi", "_ci", "_gfx9plus", "_gfxpre11", "_gfx11plus"}) {
    if (name.ends_with(suffix)) {
      name.remove_suffix(suffix.size());
      break;
    }
  }
  Operand operand;
  for (const Special& special : kSpecial) {
    if (name != special.name) continue;
    operand.kind = OperandKind::kScalar;
    operand.index = special.slot;
    operand.dwords = special.dwords;
    return operand;
  }
  for (const File& file : kFiles) {
    if (!name.starts_with(file.prefix)) continue;
    const std::string_view digits = name.substr(file.prefix.size());
    uint16_t number = 0;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (parsed.ec != std::errc()) return {};
    const std::string_view rest(parsed.ptr,
                                static_cast<size_t>(digits.data() + digits.size() - parsed.ptr));
    operand.kind = file.kind;
    operand.index = static_cast<uint16_t>(file.first + number);
    operand.dwords = 1;
    if (rest == "_HI16") operand.sel = Sel::kWord1;
    if (rest == "_HI16" || rest == "_LO16") return operand;
    for (size_t at = rest.find('_'); at != std::string_view::npos; at = rest.find('_', at + 1))
      ++operand.dwords;
    return operand;
  }
  return {};
}

}  // namespace wavetap::isa
