// Rows of the tables of vector operations: what vector_ops.cc and short_vector_ops.cc are written with.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>

#include "jit/native/float_parts.h"
#include "jit/native/format_parts.h"
#include "jit/native/half_parts.h"
#include "jit/native/integer_parts.h"
#include "jit/native/transcendental_parts.h"
#include "jit/native/vector_op.h"

namespace wavetap::jit {
namespace rows {

using namespace parts;

using isa::Op;

struct Row : VectorOp {
  constexpr Row mask_result() const {
    Row row = *this;
    row.mask = MaskResult::kMask;
    return row;
  }
};

template <class... Sources>
constexpr Row make(Op op, Type result, VectorOp::Build build, Sources... sources) {
  Row row;
  row.op = op;
  row.result = result;
  row.build = build;
  size_t k = 0;
  ((row.source[k++] = sources), ...);
  return row;
}
constexpr auto kU = Type::kU32;
constexpr auto kF = Type::kF32;
constexpr auto kU64 = Type::kU64;
constexpr auto kF64 = Type::kF64;
constexpr auto kF2 = Type::kF32x2;
constexpr auto kU16 = Type::kU16;
constexpr auto kI16 = Type::kI16;
constexpr auto kH = Type::kF16;
constexpr auto kUU = Type::kU16x2;
constexpr auto kHH = Type::kF16x2;
constexpr auto kMix = Type::kMixed;

constexpr Row u1(Op op, VectorOp::Build build) { return make(op, kU, build, kU); }
constexpr Row u2(Op op, VectorOp::Build build) { return make(op, kU, build, kU, kU); }
constexpr Row u3(Op op, VectorOp::Build build) { return make(op, kU, build, kU, kU, kU); }

constexpr Row arith(Row row) {
  row.propagates_nan = true;
  return row;
}
// Careful strips (LaneBuilder) know which NaN the result is.
constexpr Row by_rule(Row row) {
  row.follows_nan_rule = true;
  return row;
}
// For operations that leave NaNs to the handler.
constexpr Row only_numbers(Row row) {
  row.names_numbers = true;
  return row;
}
// Of halves, without op_sel.
constexpr Row in_place(Row row) {
  row.halves_in_place = true;
  return row;
}
constexpr Row h1(Op op, VectorOp::Build build) { return arith(make(op, kH, build, kH)); }
constexpr Row h2(Op op, VectorOp::Build build) { return arith(make(op, kH, build, kH, kH)); }
constexpr Row h3(Op op, VectorOp::Build build) { return arith(make(op, kH, build, kH, kH, kH)); }
constexpr Row uu2(Op op, VectorOp::Build build) { return make(op, kUU, build, kUU, kUU); }
constexpr Row f1(Op op, VectorOp::Build build) { return arith(make(op, kF, build, kF)); }
constexpr Row f2(Op op, VectorOp::Build build) { return arith(make(op, kF, build, kF, kF)); }
constexpr Row f3(Op op, VectorOp::Build build) { return arith(make(op, kF, build, kF, kF, kF)); }
constexpr Row d1(Op op, VectorOp::Build build) { return arith(make(op, kF64, build, kF64)); }
constexpr Row d2(Op op, VectorOp::Build build) { return arith(make(op, kF64, build, kF64, kF64)); }

// --- Compares: only a mask.

template <CmpInst::Predicate kPredicate>
Value* compare(L& l, S s) {
  l.mask = l.ir.CreateCmp(kPredicate, s[0], s[1]);
  return nullptr;
}
template <CmpInst::Predicate kPredicate>
constexpr Row compare_row(Op op, Type type, bool to_exec) {
  Row row = make(op, Type::kNone, compare<kPredicate>, type, type);
  row.mask = to_exec ? MaskResult::kExec : MaskResult::kMask;
  return row;
}

constexpr Row class_row(Op op, VectorOp::Build build, Type type, bool to_exec) {
  Row row = make(op, Type::kNone, build, type, kU);
  row.mask = to_exec ? MaskResult::kExec : MaskResult::kMask;
  return row;
}

// Sorted, for find_vector_op().
template <size_t kCount>
constexpr std::array<VectorOp, kCount> sorted(const Row (&rows)[kCount]) {
  std::array<VectorOp, kCount> table;
  std::copy(std::begin(rows), std::end(rows), table.begin());
  std::sort(table.begin(), table.end(),
            [](const VectorOp& a, const VectorOp& b) { return a.op < b.op; });
  return table;
}

// clang-format off
#define WT_COMPARE(condition, type, row_type, predicate)                                     \
  compare_row<CmpInst::predicate>(Op::v_cmp_##condition##_##type, row_type, false),          \
  compare_row<CmpInst::predicate>(Op::v_cmpx_##condition##_##type, row_type, true)
#define WT_INT_COMPARES(type, row_type, sign)                                                   \
  WT_COMPARE(lt, type, row_type, ICMP_##sign##LT), WT_COMPARE(eq, type, row_type, ICMP_EQ),     \
  WT_COMPARE(le, type, row_type, ICMP_##sign##LE), WT_COMPARE(gt, type, row_type, ICMP_##sign##GT), \
  WT_COMPARE(ne, type, row_type, ICMP_NE), WT_COMPARE(ge, type, row_type, ICMP_##sign##GE)
#define WT_FLOAT_COMPARES(type, row_type)                                                        \
  WT_COMPARE(lt, type, row_type, FCMP_OLT), WT_COMPARE(eq, type, row_type, FCMP_OEQ),            \
  WT_COMPARE(le, type, row_type, FCMP_OLE), WT_COMPARE(gt, type, row_type, FCMP_OGT),            \
  WT_COMPARE(lg, type, row_type, FCMP_ONE), WT_COMPARE(ge, type, row_type, FCMP_OGE),            \
  WT_COMPARE(o, type, row_type, FCMP_ORD), WT_COMPARE(u, type, row_type, FCMP_UNO),              \
  WT_COMPARE(nge, type, row_type, FCMP_ULT), WT_COMPARE(nlg, type, row_type, FCMP_UEQ),          \
  WT_COMPARE(ngt, type, row_type, FCMP_ULE), WT_COMPARE(nle, type, row_type, FCMP_UGT),          \
  WT_COMPARE(neq, type, row_type, FCMP_UNE), WT_COMPARE(nlt, type, row_type, FCMP_UGE)
// clang-format on

}  // namespace rows
}  // namespace wavetap::jit
