// wait_state_scan FOLDER…: looks at all code for GPUs with wait states in the programs and code objects there,
// without running it. Compilers put in what is needed, so nothing may be too close. Then each s_nop by itself is
// shortened to one wait state: compilers put in none without need, so something must be too close. Few exceptions are
// known: inline assembler, which they do not look into, the old value of a DPP destination, which nothing reads, and
// image instructions of gfx9, whose resource tells how many registers are the address.
//
// Exit status 1 when compiled code is too close somewhere, or when fewer than 95 % of the shortened ones are found.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "codeobj/code_object.h"
#include "codeobj/container.h"
#include "isa/program.h"
#include "sanitize/wait_states.h"

namespace wavetap {
namespace {

// Of one function: each costs a look at all of it.
constexpr int kMostNops = 6;

struct Counts {
  uint64_t functions = 0;
  uint64_t wrong = 0;
  uint64_t nops = 0;
  uint64_t found = 0;
};

void scan_function(const char* file, const codeobj::CodeObject& object,
                   const codeobj::CodeSymbol& symbol, Counts& counts) {
  const std::span<const std::byte> code = object.bytes_of(symbol);
  std::vector<std::byte> bytes(code.begin(), code.end());
  const auto gaps_now = [&](isa::Program* decoded = nullptr) {
    isa::Program program = isa::decode(bytes, {symbol.address}, object.target(), true);
    std::vector<sanitize::WaitStateGap> gaps = sanitize::find_wait_state_gaps(program);
    if (decoded != nullptr) *decoded = std::move(program);
    return gaps;
  };
  isa::Program program({0}, 0, object.target(), true);
  ++counts.functions;
  for (const sanitize::WaitStateGap& gap : gaps_now(&program)) {
    ++counts.wrong;
    std::printf("%s: %s: %s + 0x%zx and + 0x%zx: %u wait states, %u are needed\n", file,
                object.target_id().c_str(), std::string(symbol.name).c_str(),
                size_t{program.pc_of(gap.first).value - symbol.address},
                size_t{program.pc_of(gap.second).value - symbol.address}, gap.there, gap.needed);
  }
  int left = kMostNops;
  for (int32_t i = 0; i < program.size() && left > 0; ++i) {
    if (program.insts()[i].op != isa::Op::s_nop || program.insts()[i].imm16 == 0) continue;
    --left;
    std::byte* word = bytes.data() + (program.pc_of(i).value - symbol.address);
    const std::byte old = std::exchange(*word, std::byte{0});
    ++counts.nops;
    if (!gaps_now().empty()) ++counts.found;
    else
      std::printf("%s: %s + 0x%zx: shortening s_nop %d is not found\n", file,
                  std::string(symbol.name).c_str(), size_t{program.pc_of(i).value - symbol.address},
                  program.insts()[i].imm16);
    *word = old;
  }
}

void scan_file(const char* path, std::map<std::string, Counts>& by_target) {
  std::ifstream in(path, std::ios::binary);
  const std::vector<char> data((std::istreambuf_iterator<char>(in)), {});
  const auto contents = codeobj::find_code_objects(std::as_bytes(std::span(data)));
  for (const codeobj::ContainedCodeObject& contained : contents.code_objects) {
    const Result<codeobj::CodeObject> object = codeobj::CodeObject::open(contained.bytes);
    if (!object.ok() || !sanitize::has_wait_states(object->target())) continue;
    for (const codeobj::CodeSymbol& symbol : object->symbols())
      if (symbol.is_function)
        scan_function(path, *object, symbol, by_target[to_string(object->target())]);
  }
}

}  // namespace
}  // namespace wavetap

int main(int count, char** folders) {
  std::map<std::string, wavetap::Counts> by_target;
  for (int i = 1; i < count; ++i)
    for (const auto& entry : std::filesystem::directory_iterator(folders[i]))
      if (entry.is_regular_file()) wavetap::scan_file(entry.path().c_str(), by_target);
  wavetap::Counts all;
  for (const auto& [target, counts] : by_target) {
    std::printf("%s: %zu functions, %zu places too close; %zu of %zu shortened s_nop found\n",
                target.c_str(), size_t{counts.functions}, size_t{counts.wrong},
                size_t{counts.found}, size_t{counts.nops});
    all.wrong += counts.wrong;
    all.found += counts.found;
    all.nops += counts.nops;
  }
  return all.nops != 0 && all.wrong == 0 && all.found * 100 >= all.nops * 95 ? 0 : 1;
}
