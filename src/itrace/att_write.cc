#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "itrace/att.h"
#include "itrace/att_tokens.h"

namespace wavetap::itrace {
namespace {

using namespace att;

// Tokens with their times, in any order; put in order at the end.
class TokenList {
 public:
  // Where tokens of one time stand: a wave starts before it issues and ends after it.
  enum Place : uint8_t { kFirst, kStarts, kIssues, kInsts, kEnds };

  void add(int64_t time, Place place, uint64_t token) {
    tokens_.push_back({time, place, tokens_.size(), token});
  }
  // One token tells of all waves of a SIMD.
  void issue(int64_t time, uint32_t simd, uint32_t slot, IssueState state) {
    issues_[{time, simd}] |= uint64_t{state} << (8 + 2 * slot);
  }

  std::vector<std::byte> bytes(uint64_t header) {
    for (const auto& [key, states] : issues_)
      add(key.first, kIssues, kIssue | uint64_t{key.second} << 5 | states);
    std::sort(tokens_.begin(), tokens_.end(), [](const Entry& a, const Entry& b) {
      return std::tie(a.time, a.place, a.order) < std::tie(b.time, b.place, b.order);
    });
    put(header, 8);
    int64_t now = 0;
    for (const Entry& entry : tokens_) {
      int64_t steps = (entry.time - now) / kStep;
      for (; steps > 1; steps -= std::min<int64_t>(steps, 255))
        put(kMisc | static_cast<uint64_t>(std::min<int64_t>(steps, 255)) << 4, 2);
      put(entry.token | static_cast<uint64_t>(steps) << 4, kTokenBytes[entry.token & 15]);
      now = entry.time;
    }
    return std::move(bytes_);
  }

 private:
  struct Entry {
    int64_t time;
    Place place;
    size_t order;
    uint64_t token;
  };

  void put(uint64_t value, size_t size) {
    for (size_t i = 0; i < size; ++i) bytes_.push_back(static_cast<std::byte>(value >> (8 * i)));
  }

  std::vector<Entry> tokens_;
  std::map<std::pair<int64_t, uint32_t>, uint64_t> issues_;
  std::vector<std::byte> bytes_;
};

class Writer {
 public:
  Writer(const Trace& trace, const AttCode& code) : trace_(trace), code_(code) {
    for (uint32_t row = 0; row + 1 < trace.code.size(); ++row)
      next_row_.push_back(trace.code[row + 1].is_label() ? UINT32_MAX : row + 1);
    next_row_.push_back(UINT32_MAX);
  }

  void tell_code() {
    if (trace_.is_modelled) user_data(kUserData0, kModelledMark);
    user_data(kUserData2, kEnableMark);
    code_object(kIdLo, static_cast<uint32_t>(code_.id));
    code_object(kIdHi, static_cast<uint32_t>(code_.id >> 32));
    code_object(kSizeLo, static_cast<uint32_t>(code_.size_bytes));
    code_object(kSizeHi, static_cast<uint32_t>(code_.size_bytes >> 32));
    code_object(kAddressLo, static_cast<uint32_t>(code_.load_delta));
    code_object(kAddressHi, static_cast<uint32_t>(code_.load_delta >> 32));
    code_object(kTail, kLoadedBefore);
    const uint64_t entry = (trace_.code[trace_.entry_row].address + code_.load_delta) >> 8;
    compute_register(kPgmLo, static_cast<uint32_t>(entry));
    compute_register(kPgmHi, static_cast<uint32_t>(entry >> 32));
  }

  void tell(const Wave& wave) {
    const uint64_t place =
        uint64_t{wave.cu} << 6 | uint64_t{wave.slot} << 10 | uint64_t{wave.simd} << 14;
    list_.add(wave.begin, TokenList::kStarts, kWaveStart | place);
    for (size_t i = 0; i < wave.issues.size(); ++i) {
      const Issue& issue = wave.issues[i];
      const int64_t issued = issue.time + issue.stall;
      if (issue.category == Category::kImmed) {
        list_.issue(issued, wave.simd, wave.slot, kImmediate);
        continue;
      }
      if (issue.stall != 0) list_.issue(issue.time, wave.simd, wave.slot, kStalled);
      list_.issue(issued, wave.simd, wave.slot, kIssued);
      const bool is_last = i + 1 == wave.issues.size();
      tell_kind(wave, issue, is_last ? next_row_[issue.row] : wave.issues[i + 1].row);
    }
    // Of a wave that was cut the end is not known.
    if (!wave.is_cut) list_.add(wave.end, TokenList::kEnds, kWaveEnd | place);
  }

  std::vector<std::byte> bytes(uint64_t header) { return list_.bytes(header); }

 private:
  void tell_kind(const Wave& wave, const Issue& issue, uint32_t next) {
    const bool is_branch = issue.category == Category::kJump || issue.category == Category::kNext;
    const bool jumps = !is_branch && next != next_row_[issue.row];
    const uint64_t kind = jumps ? kPc : kind_of(issue);
    const uint64_t place = uint64_t{wave.slot} << 5 | uint64_t{wave.simd} << 9;
    list_.add(issue.time + issue.stall, TokenList::kInsts, kInst | place | kind << 11);
    if (!jumps) return;
    const uint64_t pc = trace_.code[next].address + code_.load_delta;
    list_.add(issue.time + issue.stall, TokenList::kInsts, kInstPc | place | pc >> 2 << 16);
  }

  InstType kind_of(const Issue& issue) const {
    const std::string_view text = trace_.code[issue.row].text;
    const bool writes = text.find("_store") != std::string_view::npos;
    switch (issue.category) {
      case Category::kSmem: return writes ? kSmemWrite : kSmemRead;
      case Category::kVmem:
      case Category::kBvh: return writes ? kVmemWrite : kVmemRead;
      case Category::kFlat: return writes ? kFlatWrite : kFlatRead;
      case Category::kLds: return kLds;
      case Category::kValu: return text.starts_with("v_mfma") ? kMatrix : kValu32;
      case Category::kJump: return att::kJump;
      case Category::kNext: return att::kNext;
      case Category::kMessage: return att::kMessage;
      default: return kSalu32;
    }
  }

  // Queue 0 of the first engine, which the field counts from 1.
  static constexpr uint64_t kQueue = uint64_t{1} << 7;

  void user_data(uint32_t address, uint32_t value) {
    list_.add(0, TokenList::kFirst,
              kReg | kQueue | uint64_t{1} << 15 | uint64_t{address} << 16 | uint64_t{value} << 32);
  }
  void code_object(CodeObjectField field, uint32_t value) {
    user_data(kUserData2, kCodeObjectOpcode | uint32_t{field} << 8);
    user_data(kUserData2, value);
  }
  void compute_register(uint32_t address, uint32_t value) {
    list_.add(0, TokenList::kFirst,
              kRegCs | kQueue | uint64_t{address} << 9 | uint64_t{value} << 16);
  }

  const Trace& trace_;
  const AttCode& code_;
  std::vector<uint32_t> next_row_;  // behind it in memory
  TokenList list_;
};

}  // namespace

std::vector<AttUnit> units_of(const Trace& trace) {
  std::set<std::pair<uint32_t, uint32_t>> units;
  for (const Wave& wave : trace.waves) units.insert({wave.se, wave.cu});
  std::vector<AttUnit> list;
  for (const auto& [se, cu] : units) list.push_back({se, cu});
  return list;
}

std::vector<std::byte> write_att(const Trace& trace, const AttUnit& unit, const AttCode& code,
                                 bool gfx942, uint64_t* left_out) {
  Writer writer(trace, code);
  writer.tell_code();
  uint64_t simds = 0;
  for (const Wave& wave : trace.waves) {
    if (wave.se != unit.se || wave.cu != unit.cu) continue;
    if (wave.slot >= kSlots || wave.simd >= kSimds || wave.cu > 15) {
      ++*left_out;
      continue;
    }
    simds |= uint64_t{1} << wave.simd;
    writer.tell(wave);
  }
  const uint64_t header = 0x11 | uint64_t{gfx942 ? 5u : 4u} << 13 | simds << 16 |
                          uint64_t{unit.cu} << 20 | uint64_t{unit.se & 63} << 26;
  return writer.bytes(header);
}

}  // namespace wavetap::itrace
