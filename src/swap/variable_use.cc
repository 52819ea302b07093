#include "swap/variable_use.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

namespace wavetap::swap {
namespace {

using codeobj::CodeSymbol;

constexpr uint32_t kLoad = 1;      // PT_LOAD
constexpr uint32_t kWritable = 2;  // PF_W

bool is_writable(const codeobj::CodeObject& object, uint64_t address) {
  for (const codeobj::ElfSegment& segment : object.elf().segments())
    if (segment.type == kLoad && (segment.flags & kWritable) != 0 &&
        address - segment.address < segment.memory_bytes)
      return true;
  return false;
}

// s_swappc_b64, SOP1: sdst in bits 22:16, the operation in 15:8.
bool is_call(uint32_t word, amd::GfxTarget target) {
  const uint32_t operation = target.major <= 9 ? 0x1e : target.major == 10 ? 0x21 : 0x49;
  return (word & 0xff80ff00) == (0xbe800000u | operation << 8);
}

class Search {
 public:
  Search(const codeobj::CodeObject& object, const std::vector<CodeSymbol>& variables)
      : object_(object), variables_(variables), far_(object.target().major >= 12) {}

  std::vector<std::string> run(const codeobj::Kernel& kernel) {
    add(kernel.entry_address, kernel.code);
    while (!work_.empty()) {
      const Code code = work_.back();
      work_.pop_back();
      scan(code);
    }
    std::vector<std::string> names;
    const bool any = lost_ || calls_ > targets_;
    for (size_t i = 0; i < variables_.size(); ++i)
      if (any || used_.contains(i)) names.emplace_back(variables_[i].name);
    return names;
  }

 private:
  struct Code {
    uint64_t address;
    std::span<const std::byte> bytes;
  };

  void add(uint64_t address, std::span<const std::byte> bytes) {
    if (seen_.insert(address).second) work_.push_back({address, bytes});
  }

  void scan(const Code& code) {
    for (size_t at = 0; at + 4 <= code.bytes.size(); at += 4) {
      uint32_t word = 0;
      std::memcpy(&word, code.bytes.data() + at, sizeof word);
      if (is_call(word, object_.target())) ++calls_;
      const uint64_t meant =
          code.address + at + static_cast<uint64_t>(int64_t{static_cast<int32_t>(word)});
      reach(meant - 4);
      // From gfx12 on an instruction stands in between.
      for (uint64_t back = 8; far_ && back <= 20; back += 4) reach(meant - back);
    }
  }

  void reach(uint64_t address) {
    for (size_t i = 0; i < variables_.size(); ++i) {
      if (address - variables_[i].address >= variables_[i].size_bytes) continue;
      used_.insert(i);
      return;
    }
    if (!variables_.empty() && is_writable(object_, address)) lost_ = true;
    const CodeSymbol* const function = object_.function_at(address);
    if (function == nullptr || function->address != address) return;
    ++targets_;
    add(address, object_.bytes_of(*function));
  }

  const codeobj::CodeObject& object_;
  const std::vector<CodeSymbol>& variables_;
  const bool far_;
  std::vector<Code> work_;
  std::unordered_set<uint64_t> seen_;
  std::unordered_set<size_t> used_;
  size_t calls_ = 0, targets_ = 0;
  bool lost_ = false;
};

}  // namespace

std::vector<CodeSymbol> writable_variables(const codeobj::CodeObject& object) {
  std::vector<CodeSymbol> variables;
  for (const CodeSymbol& symbol : object.symbols()) {
    if (symbol.is_function || symbol.size_bytes == 0 || symbol.name.ends_with(".kd") ||
        is_internal(symbol.name))
      continue;
    if (is_writable(object, symbol.address)) variables.push_back(symbol);
  }
  const auto by_name = [](const CodeSymbol& a, const CodeSymbol& b) { return a.name < b.name; };
  std::sort(variables.begin(), variables.end(), by_name);
  const auto same = [](const CodeSymbol& a, const CodeSymbol& b) { return a.name == b.name; };
  variables.erase(std::unique(variables.begin(), variables.end(), same), variables.end());
  return variables;
}

std::vector<std::string> variables_used(const codeobj::CodeObject& object,
                                        const codeobj::Kernel& kernel,
                                        const std::vector<CodeSymbol>& variables) {
  if (variables.empty()) return {};
  return Search(object, variables).run(kernel);
}

}  // namespace wavetap::swap
