// Rows of the tables that a Trace holds as they are: texts interned, references turned into row
// numbers. Made from tables.inc, as the loader and the C interface are.
#pragma once

#include <cstdint>
#include <limits>

#include "store/tables.h"

namespace wavetap::store {

using Str = uint32_t;  // index into Trace::strings; 0 is ""

inline constexpr uint32_t kNoRow = std::numeric_limits<uint32_t>::max();

template <ColumnKind K>
auto loaded_type() {
  using enum ColumnKind;
  if constexpr (K == kReal) return double{};
  else if constexpr (K == kFlag) return bool{};
  else if constexpr (K == kText || K == kString || K == kBlob || K == kArgs) return Str{};
  else if constexpr (K == kAddress) return uint64_t{};
  else if constexpr (K == kCall || K == kOp) return uint32_t{};  // row of Trace::apis or ops
  else return int64_t{};
}
template <ColumnKind K>
using Loaded = decltype(loaded_type<K>());

// What stands for NULL: no row, no GPU, a count that cannot be, and 0 or "" otherwise.
template <ColumnKind K>
constexpr Loaded<K> loaded_nothing() {
  using enum ColumnKind;
  if constexpr (K == kCall || K == kOp) return kNoRow;
  else if constexpr (K == kNumber || K == kGpu) return -1;
  else return Loaded<K>{};
}

// clang-format off
#define WT_TABLE(table, Row, since, text) namespace loaded_by_hand { struct Row {
#define WT_LOADED_TABLE(table, Row, member, since, text) inline namespace loaded { struct Row {
#define WT_COLUMN(column, member, kind, sql, since, text) \
  Loaded<ColumnKind::kind> member = loaded_nothing<ColumnKind::kind>();
#define WT_END() }; }
#include "store/tables.inc"
// clang-format on

}  // namespace wavetap::store
