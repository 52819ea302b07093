// wait_proof_scan FILE TARGET: says of each function in a program or code object, without running it, whether it
// surely has all waits that registers need (sanitize/wait_proof.h), and all that its barriers need
// (sanitize/barrier_waits.h). mutants.py compares a program with one whose wait was taken out.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "codeobj/code_object.h"
#include "codeobj/container.h"
#include "isa/program.h"
#include "sanitize/barrier_waits.h"
#include "sanitize/wait_proof.h"

using namespace wavetap;

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
    }
  }
  return 0;
}
