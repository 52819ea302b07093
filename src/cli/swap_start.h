// What `wavetap run --swap` prepares before the program starts, and says when it has ended.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "store/import_result.h"
#include "swap/index.h"
#include "swap/legality.h"
#include "swap/table.h"

namespace wavetap::cli {

struct SwapOptions {
  std::string source;  // folder, file or manifest; "": none
  bool watch = false;
  bool turns = false;  // every other launch runs the original
};

// Where the index of a folder or manifest is kept: $XDG_CACHE_HOME/wavetap/swap-….index; "" when there is
// no place for it.
std::string swap_cache_file(const std::string& source);

// The index, with a warning for each file of it that cannot be used.
Result<swap::Index> open_swap_index(const std::string& source);

// Writes the table for the library in the program into the run folder. Returns its path; an error when
// there is nothing to replace anything by.
Result<std::string> prepare_swap(const SwapOptions& options, const std::string& run_dir);

// What becomes of one kernel of a program.
struct SwapAnswer {
  const swap::KernelInfo* kernel = nullptr;
  const swap::Candidate* candidate = nullptr;  // null: nothing has its name
  swap::Verdict verdict;
};
// As the library in the program chooses: the first that is legal, else the refusal that says most.
// `one_by_one`: also kernels of code objects that are only to be loaded as a whole.
SwapAnswer choose_swap(const swap::Index& index, const swap::Table& table,
                       const swap::KernelInfo& kernel, bool one_by_one = false);

// What becomes of a whole code object of a program.
struct WholeAnswer {
  const swap::IndexedObject* object = nullptr;
  const swap::Candidate* candidate = nullptr;  // null: nothing is offered for it
  swap::Verdict verdict;

  bool is_loaded() const { return candidate != nullptr && verdict.is_legal(); }
};
WholeAnswer choose_whole(const swap::Index& index, const swap::Table& table,
                         const swap::IndexedObject& object);

// How many dispatches ran what, on stderr.
void print_swaps(const std::vector<store::ImportedSwap>& swaps, const std::string& source);

}  // namespace wavetap::cli
