// wait_proof_scan FILE TARGET: says of each function in a program or code object, without running it, whether it
// surely has all waits that registers need (sanitize/wait_proof.h), and all that its barriers need
// (sanitize/barrier_waits.h). And of each wait, for which counters there is nothing to wait on any way to it:
//   NAME: registers proved|open, barriers proved|open
//   ADDRESS idle COUNTER…
// mutants.py compares a program with one whose wait was taken out.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "codeobj/code_object.h"
#include "codeobj/container.h"
#include "isa/program.h"
#include "isa/wait_counters.h"
#include "sanitize/barrier_waits.h"
#include "sanitize/code_flow.h"
#include "sanitize/wait_proof.h"

using namespace wavetap;

namespace {

// The counters that may be above 0 before each instruction, by bit.
std::vector<uint8_t> find_busy_counters(const isa::Program& program) {
  constexpr uint8_t kAll = (1u << isa::kWaitCounters) - 1;
  const auto count = static_cast<size_t>(program.size());
  std::vector<uint8_t> busy(count);
  bool is_news = true;
  const auto arrive = [&](int64_t to, uint8_t bits) {
    if (to < 0 || to >= static_cast<int64_t>(count)) return;
    uint8_t& known = busy[static_cast<size_t>(to)];
    is_news |= (bits & ~known) != 0;
    known = static_cast<uint8_t>(known | bits);
  };
  while (is_news) {
    is_news = false;
    for (size_t i = 0; i < count; ++i) {
      const isa::Inst& inst = program.insts()[i];
      const isa::WaitEffect effect = isa::wait_effect_of(inst, program.target().major);
      uint8_t after = busy[i];
      for (const isa::WaitCounter counter : isa::kAllWaitCounters)
        if (effect.limit(counter) == 0)
          after &= static_cast<uint8_t>(~(1u << static_cast<int>(counter)));
      for (uint8_t of = 0; of < isa::kWaitClasses; ++of)
        if ((effect.issues >> of & 1) != 0)
          after |= static_cast<uint8_t>(
              1u << static_cast<int>(isa::counter_of(static_cast<isa::WaitClass>(of))));
      const sanitize::Flow flow = sanitize::flow_of(inst);
      // A function that was called may have left anything behind.
      if (flow == sanitize::Flow::kEnd) arrive(static_cast<int64_t>(i) + 1, kAll);
      if (flow == sanitize::Flow::kNext || flow == sanitize::Flow::kEither)
        arrive(static_cast<int64_t>(i) + 1, after);
      if (flow == sanitize::Flow::kJump || flow == sanitize::Flow::kEither)
        arrive(inst.target, after);
    }
  }
  return busy;
}

void print_idle_waits(const isa::Program& program) {
  const std::vector<uint8_t> busy = find_busy_counters(program);
  for (int32_t i = 0; i < program.size(); ++i) {
    const isa::WaitEffect effect = isa::wait_effect_of(program.insts()[i], program.target().major);
    std::string idle;
    for (const isa::WaitCounter counter : isa::kAllWaitCounters) {
      const bool is_busy = (busy[static_cast<size_t>(i)] >> static_cast<int>(counter) & 1) != 0;
      if (effect.limit(counter) != isa::kNoWait && !is_busy)
        idle += std::string(" ") + isa::name_of(counter);
    }
    if (!idle.empty()) std::printf("%06zx idle%s\n", size_t{program.pc_of(i).value}, idle.c_str());
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  std::ifstream in(arguments[1], std::ios::binary);
  const std::vector<char> data((std::istreambuf_iterator<char>(in)), {});
  const auto contents = codeobj::find_code_objects(std::as_bytes(std::span(data)));
  for (const codeobj::ContainedCodeObject& contained : contents.code_objects) {
    const Result<codeobj::CodeObject> object = codeobj::CodeObject::open(contained.bytes);
    if (!object.ok() || to_string(object->target()) != arguments[2]) continue;
    for (const codeobj::CodeSymbol& symbol : object->symbols()) {
      if (!symbol.is_function) continue;
      const isa::Program program = isa::decode(object->bytes_of(symbol), {symbol.address},
                                               object->target(), object->target().major == 9);
      std::printf("%s: registers %s, barriers %s\n", std::string(symbol.name).c_str(),
                  sanitize::has_all_waits(program) ? "proved" : "open",
                  sanitize::may_pass_barriers_early(program) ? "open" : "proved");
      print_idle_waits(program);
    }
  }
  return 0;
}
