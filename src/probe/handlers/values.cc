// The handler `values`: what was loaded and stored.
//
// Machine code does not say what type a value has, so each row is read in all ways its size allows,
// and the reader picks: dwords as unsigned, signed and float; pairs of them as double; two bytes as
// unsigned and half. A wide element (global_load_dwordx4) is its dwords.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "probe/handlers/builtin.h"
#include "probe/handlers/by_site.h"
#include "probe/handlers/handler_base.h"

namespace wavetap::probe {
namespace {

constexpr uint32_t kMostArgumentBytes = 1024;

struct IntegerRange {
  uint64_t least = UINT64_MAX;
  uint64_t most = 0;
  int64_t least_signed = INT64_MAX;
  int64_t most_signed = INT64_MIN;

  void add(uint64_t value, int64_t as_signed) {
    least = std::min(least, value), most = std::max(most, value);
    least_signed = std::min(least_signed, as_signed);
    most_signed = std::max(most_signed, as_signed);
  }
  void add(const IntegerRange& other) {
    least = std::min(least, other.least), most = std::max(most, other.most);
    least_signed = std::min(least_signed, other.least_signed);
    most_signed = std::max(most_signed, other.most_signed);
  }
};

struct FloatRange {
  uint64_t count = 0;
  uint64_t nan = 0;
  uint64_t infinite = 0;
  uint64_t denormal = 0;
  double least = INFINITY;  // of the finite ones
  double most = -INFINITY;

  void add(double value, bool is_denormal) {
    ++count;
    if (std::isnan(value)) {
      ++nan;
    } else if (std::isinf(value)) {
      ++infinite;
    } else {
      denormal += is_denormal;
      least = std::min(least, value), most = std::max(most, value);
    }
  }
  void add(const FloatRange& other) {
    count += other.count, nan += other.nan;
    infinite += other.infinite, denormal += other.denormal;
    least = std::min(least, other.least), most = std::max(most, other.most);
  }
};

double from_half(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return fraction != 0 ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

struct ValueRow {
  uint8_t space = 0;
  uint8_t access = 0;
  uint32_t element_bytes = 0;  // 0: nothing yet
  uint64_t count = 0;          // elements
  uint64_t executions = 0;
  uint64_t uniform = 0;  // executions whose lanes all had the same
  uint64_t zeros = 0;    // pieces
  uint64_t unknown = 0;  // executions whose values are in no register
  bool varies = false;
  uint64_t first_piece = 0;
  bool has_piece = false;
  IntegerRange integer;  // pieces of up to four bytes
  FloatRange half, single, wide;

  void add_piece(uint64_t bits) {
    zeros += bits == 0;
    if (!has_piece) first_piece = bits, has_piece = true;
    varies |= bits != first_piece;
  }
  void add(const ValueRow& other) {
    count += other.count, executions += other.executions, uniform += other.uniform;
    zeros += other.zeros, unknown += other.unknown;
    if (other.has_piece) {
      if (!has_piece) first_piece = other.first_piece, has_piece = true;
      varies |= other.varies || other.first_piece != first_piece;
    }
    integer.add(other.integer);
    half.add(other.half), single.add(other.single), wide.add(other.wide);
  }
  void add_element(const unsigned char* bytes, uint32_t size);
};

void ValueRow::add_element(const unsigned char* bytes, uint32_t size) {
  ++count;
  if (size < 4) {
    uint16_t bits = 0;
    std::memcpy(&bits, bytes, size);
    add_piece(bits);
    integer.add(bits, size == 1 ? static_cast<int8_t>(bits) : static_cast<int16_t>(bits));
    if (size == 2) half.add(from_half(bits), (bits & 0x7c00) == 0 && (bits & 0x3ff) != 0);
    return;
  }
  for (uint32_t at = 0; at + 4 <= size; at += 4) {
    uint32_t bits = 0;
    std::memcpy(&bits, bytes + at, 4);
    add_piece(bits);
    integer.add(bits, static_cast<int32_t>(bits));
    single.add(std::bit_cast<float>(bits), (bits & 0x7f800000) == 0 && (bits & 0x7fffff) != 0);
  }
  for (uint32_t at = 0; at + 8 <= size; at += 8) {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes + at, 8);
    wide.add(std::bit_cast<double>(bits),
             (bits >> 52 & 0x7ff) == 0 && (bits & 0xfffffffffffff) != 0);
  }
}

// An instruction makes accesses of one kind nearly always; a flat one of two spaces shares a row.
struct ValueDispatch {
  explicit ValueDispatch(const wavetap_dispatch& described) {
    const uint32_t bytes = std::min(described.kernarg_bytes, kMostArgumentBytes);
    const auto* from = static_cast<const unsigned char*>(described.kernarg);
    if (from != nullptr) arguments.assign(from, from + bytes);
  }
  std::vector<unsigned char> arguments;
  BySite<ValueRow> rows;

  void add(struct ValueStrand& strand);
  void report(JsonText& json, const wavetap_dispatch&, const wavetap_host&);
};

struct ValueStrand {
  explicit ValueStrand(const ValueDispatch&) {}

  void memory(const wavetap_memory& event) {
    ValueRow& row = rows.at(*event.at.code, event.at.site);
    row.space = event.space;
    row.access = event.access;
    row.element_bytes = event.element_bytes;
    ++row.executions;
    if (event.values == nullptr) {
      row.unknown += event.lanes != 0;
      return;
    }
    bool uniform = true;
    const unsigned char* first = nullptr;
    for (uint64_t rest = event.lanes; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<size_t>(std::countr_zero(rest));
      const unsigned char* value = event.values + lane * event.value_stride;
      row.add_element(value, event.element_bytes);
      if (first == nullptr) first = value;
      uniform = uniform && std::memcmp(first, value, event.element_bytes) == 0;
    }
    row.uniform += uniform && first != nullptr;
  }

  BySite<ValueRow> rows;
};

void ValueDispatch::add(ValueStrand& strand) {
  strand.rows.for_each([&](const wavetap_code& code, uint32_t site, const ValueRow& row) {
    if (row.executions == 0) return;
    ValueRow& sum = rows.at(code, site);
    sum.space = row.space, sum.access = row.access, sum.element_bytes = row.element_bytes;
    sum.add(row);
  });
}

void report_range(JsonText& json, const FloatRange& range) {
  json.begin_array();
  if (range.count != 0) {
    json.number(range.nan).number(range.infinite).number(range.denormal);
    if (range.least <= range.most) json.real(range.least).real(range.most);
  }
  json.end_array();
}

void ValueDispatch::report(JsonText& json, const wavetap_dispatch&, const wavetap_host&) {
  json.begin_object().key("arguments");
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const unsigned char byte : arguments) hex += {kDigits[byte >> 4], kDigits[byte & 15]};
  json.text(hex).key("columns").begin_array();
  for (const char* name :
       {"code", "site", "space", "access", "element_bytes", "count", "executions", "uniform",
        "zeros", "unknown", "constant", "unsigned", "signed", "f16", "f32", "f64"})
    json.text(name);
  json.end_array().key("rows").begin_array();
  rows.for_each([&](const wavetap_code& code, uint32_t site, const ValueRow& row) {
    if (row.executions == 0) return;
    json.begin_array().number(code.id).number(site).number(row.space).number(row.access);
    json.number(row.element_bytes).number(row.count).number(row.executions).number(row.uniform);
    json.number(row.zeros).number(row.unknown);
    json.number(row.has_piece && !row.varies ? 1 : 0).begin_array();
    if (row.has_piece) json.number(row.integer.least).number(row.integer.most);
    json.end_array().begin_array();
    if (row.has_piece)
      json.signed_number(row.integer.least_signed).signed_number(row.integer.most_signed);
    json.end_array();
    report_range(json, row.half);
    report_range(json, row.single);
    report_range(json, row.wide);
    json.end_array();
  });
  json.end_array().end_object();
}

}  // namespace

const wavetap_handler* open_values(const wavetap_host* host, const char*) {
  return HandlerOf<ValueDispatch, ValueStrand>::open(host, "values", WAVETAP_VALUES);
}

}  // namespace wavetap::probe
