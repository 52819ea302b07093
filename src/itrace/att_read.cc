#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "codeobj/code_object.h"
#include "isa/program.h"
#include "itrace/att.h"
#include "itrace/att_tokens.h"
#include "itrace/code_rows.h"
#include "itrace/schedule.h"
#include "itrace/site_timing.h"
#include "util/file.h"
#include "util/text.h"

namespace wavetap::itrace {
namespace {

using namespace att;

struct Token {
  uint8_t type = 0;
  uint64_t bits = 0;
  size_t offset = 0;  // in the file
  int64_t time = 0;

  int64_t delta() const {
    return static_cast<int64_t>(field(bits, 4, type == kMisc ? 11 : 4)) * kStep;
  }
  bool is_reset() const { return type == kMisc && field(bits, 13, 15) == kMiscTimeReset; }
};

std::vector<Token> split(std::span<const std::byte> bytes, size_t offset) {
  std::vector<Token> tokens;
  while (offset + 2 <= bytes.size()) {
    Token token;
    token.type = static_cast<uint8_t>(bytes[offset]) & 15;
    const size_t size = kTokenBytes[token.type];
    if (offset + size > bytes.size()) break;  // the buffer was full
    std::memcpy(&token.bits, &bytes[offset], size);
    token.offset = offset;
    offset += size;
    tokens.push_back(token);
  }
  return tokens;
}

// A reset of the clock is followed by the time it is; the first one says where time begins.
void set_times(std::vector<Token>& tokens) {
  int64_t now = 0;
  int64_t base = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    now += tokens[i].delta();
    tokens[i].time = now;
    if (!tokens[i].is_reset()) continue;
    for (size_t j = i + 1; j < tokens.size() && !tokens[j].is_reset(); ++j) {
      if (tokens[j].type != kTime) continue;
      const auto time = static_cast<int64_t>(field(tokens[j].bits, 16, 63));
      if (base == 0) base = time - now + kStep;
      if (time > base) now = (time - base) & ~int64_t{3};
      break;
    }
  }
}

// A wave while its tokens come.
struct Running {
  Wave wave;
  uint64_t start = 0;                    // its first address
  std::deque<size_t> issued;             // instructions whose kind is not known yet
  std::deque<int64_t> stalls;            // when one began to be stalled
  std::map<size_t, uint64_t> addresses;  // of instructions that follow a jump by register
  std::deque<size_t> unknown_addresses;  // those that INST_PC will tell
  std::vector<bool> is_dropped;          // of what was tried again, and is none of its own
};

Category category_of_kind(uint64_t kind) {
  switch (kind) {
    case kSmemRead:
    case kSmemWrite: return Category::kSmem;
    case kVmemRead:
    case kVmemWrite: return Category::kVmem;
    case kFlatRead:
    case kFlatWrite: return Category::kFlat;
    case kLds: return Category::kLds;
    case kValu32:
    case kValu64:
    case kMatrix: return Category::kValu;
    case att::kJump: return Category::kJump;
    case att::kNext: return Category::kNext;
    case att::kMessage: return Category::kMessage;
    case kSalu32:
    case kSalu64:
    case kPc: return Category::kSalu;
    default: return Category::kNone;
  }
}

struct LoadedCode {
  uint64_t id = 0, address = 0, size_bytes = 0;
};

// Goes through the tokens and keeps what waves did; where in the code is found out afterwards.
class TokenReader {
 public:
  TokenReader(uint32_t se, uint32_t cu) : se_(se), cu_(cu) {}

  Status read(const std::vector<Token>& tokens, const std::string& shown) {
    for (const Token& token : tokens)
      if (!take(token))
        return errorf("%s: byte %zu: a token names wave slot %u, and there are %u; record it again",
                      shown.c_str(), token.offset, static_cast<unsigned>(bad_slot_), kSlots);
    for (auto& simd : waves_)
      for (std::optional<Running>& wave : simd)
        if (wave) end(*wave, last_end(wave->wave), true);
    return {};
  }

  std::vector<Running> done;
  std::vector<LoadedCode> loaded;
  bool is_modelled = false;
  bool is_lossy = false;

 private:
  static int64_t last_end(const Wave& wave) {
    int64_t end = wave.begin;
    for (const Issue& issue : wave.issues) end = std::max(end, issue.time + issue.duration);
    return end;
  }

  bool take(const Token& token) {
    const uint64_t bits = token.bits;
    switch (token.type) {
      case kMisc: is_lossy |= field(bits, 13, 15) == kMiscPacketLost; break;
      case kReg:
        user_data(static_cast<uint32_t>(field(bits, 16, 31)), static_cast<uint32_t>(bits >> 32));
        break;
      case kRegCs:
      case kRegCsPriv:
        compute_register(field(bits, 9, 15), static_cast<uint32_t>(field(bits, 16, 47)));
        break;
      case kWaveStart: return start(token);
      case kWaveEnd: return stop(token);
      case kIssue: issue(token); break;
      case kInst: return instruction(token);
      case kInstPc: return address(token);
      default: break;
    }
    return true;
  }

  std::optional<Running>* slot(uint64_t simd, uint64_t wave) {
    if (wave >= kSlots) {
      bad_slot_ = wave;
      return nullptr;
    }
    return &waves_[simd & 3][wave];
  }

  // Others than those of the unit only show that it was busy.
  bool is_ours(uint64_t bits) const { return field(bits, 6, 9) == cu_ && field(bits, 5, 5) == 0; }

  bool start(const Token& token) {
    std::optional<Running>* place = slot(field(token.bits, 14, 15), field(token.bits, 10, 13));
    if (place == nullptr) return false;
    // A count above 64 tells of a wave that comes back from a context switch.
    if (!is_ours(token.bits) || field(token.bits, 22, 28) > 64) return true;
    if (*place) end(**place, last_end((*place)->wave), true);
    Running& wave = place->emplace();
    wave.wave.se = se_;
    wave.wave.cu = cu_;
    wave.wave.simd = static_cast<uint32_t>(field(token.bits, 14, 15));
    wave.wave.slot = static_cast<uint32_t>(field(token.bits, 10, 13));
    wave.wave.begin = token.time;
    wave.start = program_;
    return true;
  }

  bool stop(const Token& token) {
    std::optional<Running>* place = slot(field(token.bits, 14, 15), field(token.bits, 10, 13));
    if (place == nullptr) return false;
    if (!is_ours(token.bits) || !*place) return true;
    end(**place, token.time, false);
    place->reset();
    return true;
  }

  void end(Running& wave, int64_t time, bool is_cut) {
    wave.wave.end = time;
    wave.wave.is_cut = is_cut;
    // What was issued and never said to be of a kind.
    for (const size_t index : wave.issued) wave.is_dropped[index] = true;
    wave.wave.id = ids_[wave.wave.simd][wave.wave.slot]++;
    done.push_back(std::move(wave));
  }

  static void cut_to(Issue& before, int64_t time) {
    if (time >= before.time + before.duration) return;
    before.duration = static_cast<uint32_t>(std::max<int64_t>(time - before.time, kStep));
    before.stall = std::min(before.stall, before.duration);
  }

  static void add(Running& wave, const Issue& issue) {
    wave.wave.issues.push_back(issue);
    wave.is_dropped.push_back(false);
  }

  void issue(const Token& token) {
    auto& simd = waves_[field(token.bits, 5, 6)];
    for (uint32_t i = 0; i < kSlots; ++i) {
      const uint64_t state = token.bits >> (8 + 2 * i) & 3;
      if (state == kNothing || !simd[i]) continue;
      Running& wave = *simd[i];
      std::vector<Issue>& issues = wave.wave.issues;
      if (state == kStalled) {
        wave.stalls.push_back(token.time);
      } else if (state == kIssued) {
        wave.issued.push_back(issues.size());
        add(wave, {token.time, 0, kStep, 0, Category::kNone});
      } else {
        int64_t from = token.time;
        if (!issues.empty() && issues.back().category != Category::kNone) {
          cut_to(issues.back(), token.time);
          from = std::min(token.time, issues.back().time + issues.back().duration);
        }
        const auto waited = static_cast<uint32_t>(token.time - from);
        add(wave, {from, waited, waited + static_cast<uint32_t>(kStep), 0, Category::kImmed});
      }
    }
  }

  bool instruction(const Token& token) {
    std::optional<Running>* place = slot(field(token.bits, 9, 10), field(token.bits, 5, 8));
    if (place == nullptr) return false;
    if (!*place || (*place)->issued.empty()) return true;
    Running& wave = **place;
    const size_t index = wave.issued.front();
    wave.issued.pop_front();
    Issue& issue = wave.wave.issues[index];
    const uint64_t kind = field(token.bits, 11, 15);
    issue.category = category_of_kind(kind);
    if (issue.category == Category::kNone) {
      wave.is_dropped[index] = true;
      return true;
    }
    if (kind == kPc) wave.unknown_addresses.push_back(index + 1);
    const int64_t before =
        index == 0 ? wave.wave.begin
                   : wave.wave.issues[index - 1].time + wave.wave.issues[index - 1].duration;
    if (index != 0) cut_to(wave.wave.issues[index - 1], issue.time);
    int64_t stalled = issue.time;
    while (!wave.stalls.empty() && wave.stalls.front() < issue.time) {
      stalled = std::max(wave.stalls.front(), before);
      wave.stalls.pop_front();
    }
    stalled = std::min(stalled, issue.time);
    issue.stall = static_cast<uint32_t>(issue.time - stalled);
    issue.duration = issue.stall + static_cast<uint32_t>(kStep);
    issue.time = stalled;
    return true;
  }

  bool address(const Token& token) {
    std::optional<Running>* place = slot(field(token.bits, 9, 10), field(token.bits, 5, 8));
    if (place == nullptr) return false;
    if (!*place) return true;
    Running& wave = **place;
    size_t index = wave.wave.issues.size();
    if (!wave.unknown_addresses.empty()) {
      index = wave.unknown_addresses.front();
      wave.unknown_addresses.pop_front();
    }
    wave.addresses[index] = field(token.bits, 16, 63) << 2;
    return true;
  }

  void compute_register(uint64_t address, uint64_t value) {
    if (address == kPgmLo) program_low_ = value;
    if (address == kPgmHi) program_high_ = value;
    program_ = (program_high_ << 32 | program_low_) << 8;
  }

  void user_data(uint32_t address, uint32_t value) {
    if (address == kUserData0 && value == kModelledMark) is_modelled = true;
    if (address != kUserData2) return;
    if (value == kEnableMark && !is_told_) {
      is_told_ = true;
      return;
    }
    if (!is_told_) return;
    if (!waits_for_value_) {
      waits_for_value_ = (value & 0xff) == kCodeObjectOpcode && value >> 12 == 0;
      field_ = value >> 8 & 15;
      return;
    }
    waits_for_value_ = false;
    const auto low = [&](uint64_t& number) { number = (number & ~uint64_t{0xffffffff}) | value; };
    const auto high = [&](uint64_t& number) {
      number = (number & 0xffffffff) | uint64_t{value} << 32;
    };
    switch (field_) {
      case kSizeLo: low(code_.size_bytes); break;
      case kSizeHi: high(code_.size_bytes); break;
      case kAddressLo: low(code_.address); break;
      case kAddressHi: high(code_.address); break;
      case kIdLo: low(code_.id); break;
      case kIdHi: high(code_.id); break;
      case kTail:
        if (value >> 2 != 0) code_.id = value >> 2;
        if ((value & kUnloads) == 0 && loaded.size() < 4096) loaded.push_back(code_);
        code_ = {};
        break;
      default: break;
    }
  }

  const uint32_t se_, cu_;
  std::array<std::array<std::optional<Running>, kSlots>, kSimds> waves_;
  std::array<std::array<uint32_t, kSlots>, kSimds> ids_ = {};
  uint64_t program_ = 0, program_low_ = 0, program_high_ = 0;
  bool is_told_ = false;
  bool waits_for_value_ = false;
  uint32_t field_ = 0;
  LoadedCode code_;
  uint64_t bad_slot_ = 0;
};

// The code of one code object, decoded function by function as waves come to them.
class CodeReader {
 public:
  static Result<std::unique_ptr<CodeReader>> open(std::vector<std::byte> image) {
    auto reader = std::unique_ptr<CodeReader>(new CodeReader);
    reader->image_ = std::move(image);
    Result<codeobj::CodeObject> object = codeobj::CodeObject::open(reader->image_);
    if (!object.ok()) return object.error();
    reader->object_ = std::make_unique<codeobj::CodeObject>(std::move(*object));
    return reader;
  }

  const codeobj::CodeObject& object() const { return *object_; }

  // The function that an address is in; null when there is no code.
  const isa::Program* function_at(uint64_t address) {
    auto found = functions_.upper_bound(address);
    if (found != functions_.begin()) {
      const isa::Program& program = std::prev(found)->second;
      if (program.index_of({address}) >= 0) return &program;
    }
    const std::span<const std::byte> code = object_->elf().from_address(address);
    if (code.empty() || functions_.size() > 100'000) return nullptr;
    isa::FunctionDecoder decoder({address}, object_->target(), /*wave64=*/true);
    decoder.advance(code.first(std::min<size_t>(code.size(), 8 << 20)), true);
    const isa::Program& program =
        functions_.insert_or_assign(address, decoder.take()).first->second;
    return program.index_of({address}) >= 0 ? &program : nullptr;
  }

  const std::map<uint64_t, isa::Program>& functions() const { return functions_; }

 private:
  CodeReader() = default;
  std::vector<std::byte> image_;
  std::unique_ptr<codeobj::CodeObject> object_;
  std::map<uint64_t, isa::Program> functions_;  // by first address
};

bool matches(Category token, Category line) {
  if (token == line) return true;
  if (line == Category::kNext) return token == Category::kJump;
  if (token == Category::kMessage) return line == Category::kImmed;
  if (token == Category::kImmed) return line == Category::kMessage;
  return token == Category::kFlat && line == Category::kVmem;
}

// Follows a wave through the code. Issue::row becomes an index into `addresses`; false: the rest of the
// wave could not be followed.
class Follower {
 public:
  Follower(CodeReader& code, uint64_t load_address) : code_(code), load_(load_address) {}

  std::vector<uint64_t> addresses;  // as linked, each once

  // How many instructions could not be placed.
  uint64_t follow(Running& running) {
    std::vector<Issue> placed;
    std::vector<Issue>& issues = running.wave.issues;
    uint64_t pc = running.start - load_;
    bool is_lost = running.start == 0;
    uint64_t unplaced = 0;
    for (size_t i = 0; i < issues.size(); ++i) {
      if (const auto told = running.addresses.find(i); told != running.addresses.end()) {
        pc = told->second - load_;
        is_lost = false;
      }
      if (running.is_dropped[i]) continue;
      const isa::Inst* inst = is_lost ? nullptr : find(pc, issues[i].category);
      if (inst == nullptr) {
        is_lost = true;
        ++unplaced;
        continue;
      }
      placed.push_back(issues[i]);
      placed.back().row = number(pc);
      const isa::Program& function = *code_.function_at(pc);
      const bool jumps = issues[i].category == Category::kJump && inst->target >= 0;
      pc = jumps ? function.pc_of(inst->target).value : pc + inst->size_bytes;
    }
    issues = std::move(placed);
    return unplaced;
  }

 private:
  // The instruction at `pc`, or one behind it that hardware tells of: some are carried out unseen.
  const isa::Inst* find(uint64_t& pc, Category category) {
    for (int skipped = 0; skipped < 16; ++skipped) {
      const isa::Program* function = code_.function_at(pc);
      if (function == nullptr) return nullptr;
      const isa::Inst& inst = function->insts()[function->index_of({pc})];
      if (inst.op == isa::Op::kInvalid) return nullptr;
      const Category line = category_of(inst);
      if (matches(category, line)) return &inst;
      if (line != Category::kImmed || inst.op == isa::Op::s_waitcnt) return nullptr;
      pc += inst.size_bytes;
    }
    return nullptr;
  }

  uint32_t number(uint64_t address) {
    const auto [found, is_new] =
        numbers_.try_emplace(address, static_cast<uint32_t>(addresses.size()));
    if (is_new) addresses.push_back(address);
    return found->second;
  }

  CodeReader& code_;
  const uint64_t load_;
  std::map<uint64_t, uint32_t> numbers_;
};

CodeRows rows_of(const CodeReader& code, uint64_t id, uint64_t entry, Trace& trace) {
  CodeNames names;
  names.entry = entry;
  names.code_object = id;
  for (const codeobj::Kernel& kernel : code.object().kernels())
    if (kernel.entry_address == entry) names.name = kernel.name;
  names.demangled = names.name.empty() ? "" : codeobj::demangle(names.name);
  trace.kernel = names.demangled;
  std::vector<CodePlace> places;
  for (const auto& [begin, function] : code.functions())
    for (int32_t i = 0; i < function.size(); ++i)
      if (function.insts()[i].size_bytes != 0) places.push_back({begin, function.pc_of(i).value});
  return make_rows(std::move(places), names, codeobj::SourceMap(code.object().elf()),
                   [&](uint64_t address) {
                     const auto bytes = code.object().elf().from_address(address);
                     return isa::disassemble(bytes.first(std::min<size_t>(bytes.size(), 24)),
                                             code.object().target(), true, {address});
                   });
}

}  // namespace

Result<Trace> read_att(std::span<const std::byte> bytes, const CodeObjectSource& code_objects,
                       const std::string& shown) {
  uint64_t header = 0;
  if (bytes.size() < sizeof header)
    return errorf("%s: has %zu bytes, and its header alone has 8; record it again", shown.c_str(),
                  bytes.size());
  std::memcpy(&header, bytes.data(), sizeof header);
  const uint64_t version = field(header, 0, 12);
  const uint64_t generation = field(header, 13, 15);
  if ((version != 0 && version != 0x11) || generation < 4 || generation > 6)
    return errorf(
        "%s: byte 0: not a thread trace of gfx9; those of gfx10 and later are read as the folder "
        "ui_output_… that rocprofv3 makes of them",
        shown.c_str());
  const auto se = static_cast<uint32_t>(field(header, 26, 31));
  const auto cu = static_cast<uint32_t>(field(header, 20, 24));
  std::vector<Token> tokens = split(bytes, sizeof header);
  set_times(tokens);
  TokenReader reader(se, cu);
  if (const Status read = reader.read(tokens, shown); !read.ok()) return read.error();

  Trace trace;
  trace.is_modelled = reader.is_modelled;
  if (reader.is_lossy) trace.notes.push_back("the GPU could not write all of the trace");
  uint64_t start = 0;
  for (const Running& wave : reader.done) start = start == 0 ? wave.start : start;
  const LoadedCode* code = nullptr;
  for (const LoadedCode& loaded : reader.loaded)
    if (start >= loaded.address && start - loaded.address < loaded.size_bytes) code = &loaded;
  if (code == nullptr)
    return errorf("%s: does not say which code object its waves run; record it again",
                  shown.c_str());
  std::vector<std::byte> image = code_objects(code->id);
  if (image.empty())
    return errorf("%s: needs code object %llu; put …code_object_id_%llu.out beside it",
                  shown.c_str(), static_cast<unsigned long long>(code->id),
                  static_cast<unsigned long long>(code->id));
  Result<std::unique_ptr<CodeReader>> opened = CodeReader::open(std::move(image));
  if (!opened.ok())
    return errorf("%s: code object %llu: %s", shown.c_str(),
                  static_cast<unsigned long long>(code->id), opened.error().message.c_str());
  Follower follower(**opened, code->address);
  uint64_t unplaced = 0;
  for (Running& wave : reader.done) unplaced += follower.follow(wave);
  const CodeRows rows = rows_of(**opened, code->id, start - code->address, trace);
  trace.target = amd::to_string((*opened)->object().target());
  trace.gfx_major = 9;
  trace.code = rows.rows;
  trace.entry_row = rows.entry_row;
  for (Running& running : reader.done) {
    for (Issue& issue : running.wave.issues)
      issue.row = rows.row_of.at(follower.addresses[issue.row]);
    running.wave.timeline = timeline_of(running.wave);
    trace.waves.push_back(std::move(running.wave));
  }
  std::stable_sort(trace.waves.begin(), trace.waves.end(), [](const Wave& a, const Wave& b) {
    return std::tie(a.simd, a.slot, a.id) < std::tie(b.simd, b.slot, b.id);
  });
  if (unplaced != 0)
    trace.notes.push_back(util::count_of(unplaced, "instruction") +
                          " of the waves could not be followed through the code and are left out");
  add_up(trace);
  return trace;
}

Result<Trace> read_att_file(const std::string& path) {
  const Result<std::vector<std::byte>> bytes = util::read_file(path);
  if (!bytes.ok()) return bytes.error();
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  return read_att(
      *bytes,
      [&](uint64_t id) {
        const std::string ending = fmt::format("code_object_id_{}.out", id);
        std::error_code error;
        for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
          if (!entry.path().filename().string().ends_with(ending)) continue;
          Result<std::vector<std::byte>> image = util::read_file(entry.path().string());
          if (image.ok()) return std::move(*image);
        }
        return std::vector<std::byte>();
      },
      path);
}

}  // namespace wavetap::itrace
