// A second, deliberately plain account of what memory instructions do, to compare the engine with.
//
// Everything is one lane and one byte at a time, and an operation is understood from its name alone
// ("global_load_sbyte_d16_hi"). Nothing of the engine's handlers is used; operands come from the
// decoder.
//
// RefMachine is a copy of all state an instruction may touch. A test copies the machine, runs the
// instruction on both, and compares everything: what must not change is checked as much as what
// must. After a comparison both are the same, so a test of many rounds keeps its copy and takes
// over only the registers that it sets for the next one (follow()): copying all memory for each of
// some hundred thousand rounds was most of their time.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "emu/testing/machine.h"
#include "emu/testing/sweep.h"

namespace wavetap::emu {

struct RefMachine {
  int lanes = 64;
  std::vector<uint32_t> v, a;  // [reg * lanes + lane]
  std::vector<uint32_t> s;
  std::vector<uint8_t> lds, scratch, data;
  uint64_t data_base = TestMachine::kData;
  uint32_t scratch_per_lane = 0;
  uint64_t exec = 0;
  bool sram_ecc = false;  // a load of half a register clears the other half

  explicit RefMachine(TestMachine& machine)
      : lanes(machine.wave.lanes),
        v(machine.wave.v, machine.wave.v + size_t{machine.wave.vgpr_count} * lanes),
        a(machine.wave.a, machine.wave.a + size_t{machine.wave.agpr_count} * lanes),
        s(machine.wave.s, machine.wave.s + isa::slot::kCount),
        lds(bytes(machine.wave.lds, machine.wave.lds_bytes)),
        scratch(bytes(machine.wave.scratch, size_t{machine.wave.scratch_bytes_per_lane} * lanes)),
        data(bytes(machine.memory.lookup({TestMachine::kData}).host, TestMachine::kDataBytes)),
        scratch_per_lane(machine.wave.scratch_bytes_per_lane),
        exec(machine.wave.exec()),
        sram_ecc(machine.dispatch.sram_ecc) {}

  // Takes over registers and EXEC. Memory is what the last comparison found the same.
  void follow(const TestMachine& machine) {
    std::memcpy(v.data(), machine.wave.v, v.size() * 4);
    if (!a.empty()) std::memcpy(a.data(), machine.wave.a, a.size() * 4);
    std::memcpy(s.data(), machine.wave.s, s.size() * 4);
    exec = machine.wave.exec();
  }

  static std::vector<uint8_t> bytes(const std::byte* at, size_t size) {
    const auto* first = reinterpret_cast<const uint8_t*>(at);
    return {first, first + size};
  }
  bool active(int lane) const { return (exec >> lane & 1) != 0; }
  uint32_t& reg(const isa::Operand& operand, int index, int lane) {
    auto& file = operand.kind == isa::OperandKind::kAgpr ? a : v;
    return file[size_t{operand.index + static_cast<uint32_t>(index)} * static_cast<size_t>(lanes) +
                static_cast<size_t>(lane)];
  }
  uint32_t scalar(const isa::Operand& operand, int index = 0) const {
    if (operand.kind == isa::OperandKind::kNone) return 0;
    if (operand.kind == isa::OperandKind::kImm)
      return static_cast<uint32_t>(operand.imm >> 32 * index);
    return s[operand.index + static_cast<size_t>(index)];
  }

  // One byte of a flat address; null outside everything.
  uint8_t* flat_byte(uint64_t address, int lane) {
    if (address >> 32 == 0x10000) return lds_byte(static_cast<uint32_t>(address));
    if (address >> 32 == 0x20000) return scratch_byte(static_cast<uint32_t>(address), lane);
    return global_byte(address);
  }
  uint8_t* global_byte(uint64_t address) {
    return address >= data_base && address - data_base < data.size() ? &data[address - data_base]
                                                                     : nullptr;
  }
  uint8_t* lds_byte(uint32_t at) { return at < lds.size() ? &lds[at] : nullptr; }
  uint8_t* scratch_byte(uint32_t at, int lane) {
    if (at >= scratch_per_lane) return nullptr;
    return &scratch[size_t{at / 4} * 4 * static_cast<size_t>(lanes) +
                    static_cast<size_t>(lane) * 4 + at % 4];
  }

  // Compares with the machine after it ran. `what` is a text, or a function that makes one.
  template <class What>
  void expect_same(TestMachine& machine, const What& what) const {
    const auto check = [&](const char* name, const auto& expected, const void* found, int row) {
      const size_t size = expected.size() * sizeof expected[0];
      if (size == 0 || std::memcmp(expected.data(), found, size) == 0) return;
      auto got = expected;
      std::memcpy(got.data(), found, size);
      size_t at = 0;
      while (expected[at] == got[at]) ++at;
      ADD_FAILURE() << text_of(what) << ": " << name << "[" << at / static_cast<size_t>(row)
                    << "] lane/byte " << at % static_cast<size_t>(row) << std::hex
                    << ": expected 0x" << +expected[at] << ", got 0x" << +got[at];
    };
    check("v", v, machine.wave.v, lanes);
    check("a", a, machine.wave.a, lanes);
    check("s", s, machine.wave.s, 1);
    check("lds", lds, machine.wave.lds, 1);
    check("scratch", scratch, machine.wave.scratch, 1);
    check("data", data, machine.memory.lookup({TestMachine::kData}).host, 1);
  }
  static std::string text_of(const std::string& what) { return what; }
  static std::string text_of(const char* what) { return what; }
  template <class Make>
  static std::string text_of(const Make& make) {
    return make();
  }
};

// --- What a name says.

struct MemoryName {
  enum Kind { kLoad, kStore, kAtomic, kOther } kind = kOther;
  int bytes = 4;           // of one element
  bool is_signed = false;  // loads of 8 and 16 bits
  int half = -1;           // 0: low half of the register, 1: high half, -1: all of it
  std::string operation;   // atomics: "add", "smin", "fadd", …
};

inline bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

// Understands flat_*, global_*, scratch_* and buffer_*.
inline MemoryName read_memory_name(const std::string& name) {
  MemoryName result;
  static const std::map<std::string, int> kWidths = {
      {"dword", 4}, {"dwordx2", 8}, {"dwordx3", 12}, {"dwordx4", 16}, {"ubyte", 1},
      {"sbyte", 1}, {"ushort", 2},  {"sshort", 2},   {"short", 2},    {"byte", 1}};
  const size_t first = name.find('_') + 1;
  std::string rest = name.substr(first);
  const auto take = [&](const char* prefix) {
    if (rest.rfind(prefix, 0) != 0) return false;
    rest = rest.substr(std::strlen(prefix));
    return true;
  };
  if (take("load_") || take("store_")) {
    result.kind = name.find("_load_") != std::string::npos ? MemoryName::kLoad : MemoryName::kStore;
    const size_t d16 = rest.find("_d16");
    if (d16 != std::string::npos) {
      result.half = contains(rest, "_d16_hi") ? 1 : 0;
      rest = rest.substr(0, d16);
    }
    const auto width = kWidths.find(rest);
    if (width == kWidths.end()) return {};
    result.bytes = width->second;
    result.is_signed = rest[0] == 's' && rest != "short";
  } else if (take("atomic_")) {
    result.kind = MemoryName::kAtomic;
    result.bytes = contains(rest, "_x2") || contains(rest, "_f64") ? 8 : 4;
    if (const size_t at = rest.find("_x2"); at != std::string::npos) rest = rest.substr(0, at);
    static const std::map<std::string, std::string> kFloat = {
        {"add_f32", "fadd"}, {"add_f64", "fadd"}, {"min_f64", "fmin"}, {"max_f64", "fmax"}};
    const auto renamed = kFloat.find(rest);
    result.operation = renamed == kFloat.end() ? rest : renamed->second;
  }
  return result;
}

// --- Atomics, on values of `bytes` bytes held in 64 bits.

inline double as_float(uint64_t bits, int bytes) {
  if (bytes == 8) return std::bit_cast<double>(bits);
  return std::bit_cast<float>(static_cast<uint32_t>(bits));
}
inline uint64_t as_bits(double value, int bytes) {
  if (bytes == 8) return std::bit_cast<uint64_t>(value);
  return std::bit_cast<uint32_t>(static_cast<float>(value));
}
inline double half_value(uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const double fraction = bits & 1023;
  double value =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
  if (exponent == 31) value = fraction == 0 ? INFINITY : NAN;
  return (bits & 0x8000) != 0 ? -value : value;
}
inline double bfloat_value(uint32_t bits) { return std::bit_cast<float>(bits << 16); }
// The code nearest to `wanted`, the even one on a tie. Codes of one sign ascend with their values.
inline uint32_t nearest_code(double wanted, double (*value_of)(uint32_t)) {
  uint32_t above = 0, step = 0x8000;
  while (step > 1) {  // the first code whose value is at least |wanted|
    step /= 2;
    if (value_of(above + step - 1) < std::fabs(wanted)) above += step;
  }
  const uint32_t below = above == 0 ? 0 : above - 1;
  const double up = value_of(above) - std::fabs(wanted), down = std::fabs(wanted) - value_of(below);
  const uint32_t code = up < down || (up == down && above % 2 == 0) ? above : below;
  return code | (std::signbit(wanted) ? 0x8000u : 0);
}

// The new value in memory. a, b: operands in register order (for cmpswap: new value, compare
// value).
inline uint64_t ref_atomic(const std::string& operation, int bytes, uint64_t old, uint64_t a,
                           uint64_t b) {
  const uint64_t mask = bytes == 8 ? ~uint64_t{0} : 0xffffffffu;
  const auto sign = [&](uint64_t x) {
    return bytes == 8 ? static_cast<int64_t>(x) : static_cast<int64_t>(static_cast<int32_t>(x));
  };
  if (operation == "add") return (old + a) & mask;
  if (operation == "sub") return (old - a) & mask;
  if (operation == "rsub") return (a - old) & mask;
  if (operation == "swap" || operation == "wrxchg" || operation == "write") return a;
  if (operation == "and") return old & a;
  if (operation == "or") return old | a;
  if (operation == "xor") return old ^ a;
  if (operation == "smin") return sign(a) < sign(old) ? a : old;
  if (operation == "smax") return sign(a) > sign(old) ? a : old;
  if (operation == "umin") return std::min(a, old);
  if (operation == "umax") return std::max(a, old);
  if (operation == "inc") return old >= a ? 0 : old + 1;
  if (operation == "dec") return old == 0 || old > a ? a : old - 1;
  if (operation == "csub") return old < a ? 0 : old - a;
  if (operation == "cmpswap") return old == b ? a : old;
  if (operation == "fcmpswap") return as_float(old, bytes) == as_float(b, bytes) ? a : old;
  if (operation == "mskor") return (old & ~a) | b;
  if (operation == "wrap") return old >= a ? old - a : (old + b) & mask;
  if (operation == "fadd" && bytes == 4)
    return as_bits(std::bit_cast<float>(static_cast<uint32_t>(old)) +
                       std::bit_cast<float>(static_cast<uint32_t>(a)),
                   4);
  if (operation == "fadd") return as_bits(as_float(old, 8) + as_float(a, 8), 8);
  if (operation == "fmin") return as_float(a, bytes) < as_float(old, bytes) ? a : old;
  if (operation == "fmax") return as_float(a, bytes) > as_float(old, bytes) ? a : old;
  if (operation == "pk_add_f16" || operation == "pk_add_bf16") {
    const auto value_of = operation == "pk_add_f16" ? half_value : bfloat_value;
    uint64_t result = 0;
    for (int shift = 0; shift < 32; shift += 16) {
      const double sum = value_of(old >> shift & 0xffff) + value_of(a >> shift & 0xffff);
      result |= uint64_t{nearest_code(sum, value_of)} << shift;
    }
    return result;
  }
  ADD_FAILURE() << "the reference does not know atomic operation " << operation;
  return 0;
}

// --- One element between registers and bytes.

inline void ref_load(RefMachine& ref, const MemoryName& name, const isa::Operand& dst, int lane,
                     const uint8_t* bytes) {
  if (name.bytes >= 4) {
    for (int r = 0; r < name.bytes / 4; ++r) std::memcpy(&ref.reg(dst, r, lane), bytes + 4 * r, 4);
    return;
  }
  uint32_t value = bytes[0] | (name.bytes == 2 ? uint32_t{bytes[1]} << 8 : 0);
  if (name.is_signed && (bytes[name.bytes - 1] & 0x80) != 0)
    value |= name.bytes == 2 ? 0xffff0000u : 0xffffff00u;
  uint32_t& reg = ref.reg(dst, 0, lane);
  if (name.half >= 0 && ref.sram_ecc) reg = 0;
  if (name.half < 0) reg = value;
  if (name.half == 0) reg = (reg & 0xffff0000u) | (value & 0xffff);
  if (name.half == 1) reg = (reg & 0x0000ffffu) | value << 16;
}

inline void ref_store(RefMachine& ref, const MemoryName& name, const isa::Operand& src, int lane,
                      uint8_t* bytes) {
  for (int i = 0; i < name.bytes; ++i) {
    const int shift = 8 * (i % 4) + (name.half == 1 ? 16 : 0);
    bytes[i] = static_cast<uint8_t>(ref.reg(src, i / 4, lane) >> shift);
  }
}

// Carries out a load, store or atomic whose element of lane l has its byte i at where(l, i);
// where() returns null for a byte outside. An access with a byte outside reads zero and writes
// nothing; with `by_byte` only those bytes do.
template <class Where>
void ref_access(RefMachine& ref, const isa::Inst& inst, const MemoryName& name, Where where,
                bool by_byte = false) {
  struct Touched {
    int lane;
    uint8_t* at[16];
  };
  // All addresses first: a result may overwrite the address register.
  std::vector<Touched> accesses;
  for (int lane = 0; lane < ref.lanes; ++lane) {
    if (!ref.active(lane)) continue;
    Touched access{lane, {}};
    for (int i = 0; i < name.bytes; ++i) access.at[i] = where(lane, i);
    accesses.push_back(access);
  }
  for (const Touched& access : accesses) {
    const int lane = access.lane;
    bool outside = false;
    uint8_t bytes[16] = {};
    for (int i = 0; i < name.bytes; ++i) outside |= access.at[i] == nullptr;
    if (by_byte && name.kind != MemoryName::kAtomic) outside = false;
    for (int i = 0; i < name.bytes && !outside; ++i)
      bytes[i] = access.at[i] == nullptr ? 0 : *access.at[i];
    if (name.kind == MemoryName::kLoad) {
      ref_load(ref, name, inst.dst, lane, bytes);
      continue;
    }
    uint8_t result[16];
    if (name.kind == MemoryName::kStore) {
      ref_store(ref, name, inst.src[0], lane, result);
    } else {
      const auto operand = [&](int index) {
        const int per = name.bytes / 4;
        return ref.reg(inst.src[0], index * per, lane) |
               (per == 2 ? uint64_t{ref.reg(inst.src[0], index * per + 1, lane)} << 32 : 0);
      };
      uint64_t old = 0;
      std::memcpy(&old, bytes, static_cast<size_t>(name.bytes));
      const bool two = contains(name.operation, "cmpswap");
      const uint64_t next =
          ref_atomic(name.operation, name.bytes, old, operand(0), two ? operand(1) : 0);
      std::memcpy(result, &next, static_cast<size_t>(name.bytes));
      if (inst.dst.kind != isa::OperandKind::kNone)
        for (int r = 0; r < name.bytes / 4; ++r)
          ref.reg(inst.dst, r, lane) = static_cast<uint32_t>(old >> 32 * r);
    }
    for (int i = 0; i < name.bytes && !outside; ++i)
      if (access.at[i] != nullptr) *access.at[i] = result[i];
  }
}

// --- Random states.

enum class Domain {
  kAnyBits,
  kNumbers,   // moderate numbers as f64's high half, as f32, as two f16 and as two bf16
  kTiny,      // 0…3: equal values are frequent; denormals as floating-point numbers
  kExtremes,  // around zero and the ends of the signed and unsigned ranges
};

// Words of a domain. A generator of its own (Steele and others' SplitMix64): a sweep asks for a hundred million of them.
class RandomWords {
 public:
  RandomWords(std::mt19937_64& random, Domain domain) : state_(random()), domain_(domain) {}

  uint32_t next() {
    static constexpr uint32_t kEnds[] = {0, 1, 2, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
    uint64_t mixed = state_ += 0x9e3779b97f4a7c15;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
    const auto bits = static_cast<uint32_t>(mixed >> 32);
    switch (domain_) {
      case Domain::kNumbers: return 0x3e003e00u + (bits & 0x81ff81ffu);
      case Domain::kTiny: return bits % 4;
      case Domain::kExtremes: return kEnds[bits % std::size(kEnds)];
      default: return bits;
    }
  }

 private:
  uint64_t state_;
  Domain domain_;
};

inline bool is_floating(const std::string& name) {
  return contains(name, "_f32") || contains(name, "_f64") || contains(name, "f16") ||
         contains(name, "_fm") || contains(name, "_fcmp");
}

// What to fill the machine with so that `name` meets interesting values.
inline std::vector<Domain> domains_of(const std::string& name, bool is_atomic) {
  if (!is_atomic) return {Domain::kAnyBits};
  if (is_floating(name)) return {Domain::kNumbers, Domain::kTiny};
  return {Domain::kAnyBits, Domain::kTiny, Domain::kExtremes};
}

// Fills registers, memory, LDS and scratch.
inline void randomize(TestMachine& machine, std::mt19937_64& random,
                      Domain domain = Domain::kAnyBits) {
  RandomWords words(random, domain);
  for (size_t i = 0;
       i < size_t{machine.wave.vgpr_count + machine.wave.agpr_count} * machine.wave.lanes; ++i)
    machine.wave.v[i] = words.next();
  const auto fill = [&](std::byte* at, size_t size) {
    for (size_t i = 0; i + 4 <= size; i += 4) {
      const uint32_t value = words.next();
      std::memcpy(at + i, &value, 4);
    }
  };
  fill(machine.wave.lds, machine.wave.lds_bytes);
  fill(machine.wave.scratch, size_t{machine.wave.scratch_bytes_per_lane} * machine.wave.lanes);
  fill(machine.memory.lookup({TestMachine::kData}).host, TestMachine::kDataBytes);
}

// The EXEC masks every family is tried with.
inline std::vector<uint64_t> exec_masks(std::mt19937_64& random) {
  return {~uint64_t{0}, random() & random(), uint64_t{1} << (random() % 32), 0, ~uint64_t{0} << 3};
}

}  // namespace wavetap::emu
