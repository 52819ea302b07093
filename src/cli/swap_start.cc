#include "cli/swap_start.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <set>

#include "cli/command.h"
#include "swap/whole.h"
#include "util/file.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

constexpr size_t kMostLines = 8;

std::string dispatches(uint64_t count) {
  return fmt::format("{} {}", util::group_digits(count), count == 1 ? "dispatch" : "dispatches");
}

// Files that were not what their names promise, but the program may be helped by the others.
void warn_of_problems(const swap::Index& index) {
  for (size_t i = 0; i < index.problems.size() && i < kMostLines; ++i)
    warn({"--swap: " + util::escape_control(index.problems[i])});
  if (index.problems.size() > kMostLines)
    warn({fmt::format("--swap: and {} more files that cannot be used",
                      index.problems.size() - kMostLines)});
}

// The code object that holds the candidate's kernel, and that kernel.
const swap::IndexedObject* object_of(const swap::Index& index, const swap::Candidate& candidate,
                                     const swap::KernelInfo** found = nullptr) {
  for (const swap::IndexedFile& file : index.files) {
    if (file.path != candidate.path) continue;
    for (const swap::IndexedObject& object : file.objects) {
      for (const swap::KernelInfo& kernel : object.kernels) {
        if (object.offset != candidate.offset || kernel.name != candidate.kernel ||
            kernel.target_id != candidate.target_id)
          continue;
        if (found != nullptr) *found = &kernel;
        return &object;
      }
    }
  }
  return nullptr;
}

const swap::KernelInfo* kernel_of(const swap::Index& index, const swap::Candidate& candidate) {
  const swap::KernelInfo* kernel = nullptr;
  object_of(index, candidate, &kernel);
  return kernel;
}

// What is loaded as a whole is chosen then, and stays.
Status check_wholes(const std::vector<swap::Candidate>& candidates, const SwapOptions& options) {
  if (!options.watch && !options.turns) return {};
  for (const swap::Candidate& candidate : candidates)
    if (candidate.is_only_whole())
      return errorf(
          "run: %s chooses a kernel at each launch, and %s asks for object=whole, which is chosen "
          "when a code object is loaded; leave out one of them",
          options.watch ? "--swap-watch" : "--swap-ab", options.source.c_str());
  return {};
}

// By turns: how long the original and the replacement took.
void print_turns(const std::vector<store::ImportedSwap>& swaps) {
  struct Sum {
    uint64_t dispatches = 0;
    int64_t ns = 0;
    double mean_us() const {
      return dispatches == 0 ? 0 : static_cast<double>(ns) / 1e3 / static_cast<double>(dispatches);
    }
  };
  std::map<std::string, std::pair<Sum, Sum>> by_kernel;  // the original, the replacement
  bool are_turns = false;
  for (const store::ImportedSwap& swap : swaps) {
    are_turns |= swap.is_turn;
    if (!swap.is_turn && !swap.is_replaced) continue;
    auto& [original, replacement] = by_kernel[swap.kernel];
    Sum& sum = swap.is_turn ? original : replacement;
    sum.dispatches += swap.dispatches;
    sum.ns += swap.total_ns;
  }
  if (!are_turns) return;
  for (const auto& [kernel, sums] : by_kernel) {
    const auto& [original, replacement] = sums;
    if (original.dispatches + replacement.dispatches == 0) continue;
    fmt::print(
        stderr,
        "wavetap: swap: {}: the original {} of {:.2f} us on average, the replacement {} of {:.2f} us{}\n",
        util::escape_control(kernel), dispatches(original.dispatches), original.mean_us(),
        dispatches(replacement.dispatches), replacement.mean_us(),
        original.ns == 0 || replacement.dispatches == 0
            ? ""
            : fmt::format(" ({:+.1f} %)", 100 * (replacement.mean_us() / original.mean_us() - 1)));
  }
}

}  // namespace

std::string swap_cache_file(const std::string& source) {
  const std::string folder = util::cache_folder();
  if (folder.empty()) return "";
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : source) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{}/swap-{:016x}.index", folder, hash);
}

Result<swap::Index> open_swap_index(const std::string& source) {
  // The program may run in another folder.
  std::error_code error;
  const std::string path = std::filesystem::absolute(source, error).lexically_normal().string();
  Result<swap::Index> index = swap::make_index(error ? source : path, swap_cache_file(path));
  if (index.ok()) warn_of_problems(*index);
  return index;
}

Result<std::string> prepare_swap(const SwapOptions& options, const std::string& run_dir) {
  Result<swap::Index> index = open_swap_index(options.source);
  if (!index.ok()) return index.error();
  const size_t known = index->problems.size();
  std::vector<swap::Candidate> candidates = swap::candidates_of(*index, run_dir);
  for (size_t i = known; i < index->problems.size(); ++i)
    warn({"--swap: " + util::escape_control(index->problems[i])});
  if (candidates.empty())
    return errorf(
        "--swap %s: no kernels in it; give code objects (hipcc --genco -o FILE.hsaco), "
        "bundles or HIP programs",
        options.source.c_str());
  if (const Status good = check_wholes(candidates, options); !good.ok()) return good.error();
  const std::string path = run_dir + "/swap";
  const Status written = util::write_file(
      path, swap::Table(std::move(candidates), {options.watch, options.turns}).text());
  if (!written.ok()) return written.error();
  return path;
}

SwapAnswer choose_swap(const swap::Index& index, const swap::Table& table,
                       const swap::KernelInfo& kernel, bool one_by_one) {
  SwapAnswer answer{.kernel = &kernel, .verdict = {}};
  for (const swap::Candidate* candidate : table.find(kernel.name)) {
    if (candidate->is_only_whole() && !one_by_one) continue;
    const swap::KernelInfo* const replacement = kernel_of(index, *candidate);
    if (replacement == nullptr) continue;
    swap::Verdict verdict =
        swap::check(kernel, *replacement, candidate->allowed, candidate->original_hash);
    if (!verdict.is_legal() && !swap::says_more(answer.candidate, answer.verdict)) continue;
    answer.verdict = std::move(verdict);
    answer.candidate = candidate;
    if (answer.verdict.is_legal()) break;
  }
  return answer;
}

WholeAnswer choose_whole(const swap::Index& index, const swap::Table& table,
                         const swap::IndexedObject& object) {
  WholeAnswer answer{.object = &object, .verdict = {}};
  for (const swap::Candidate* candidate : swap::whole_offers(table, object.kernels)) {
    const swap::IndexedObject* const offer = object_of(index, *candidate);
    if (offer == nullptr) continue;
    swap::Verdict verdict = swap::check_whole(table, *candidate, {object.kernels, object.variables},
                                              {offer->kernels, offer->variables});
    if (!verdict.is_legal() && !swap::says_more(answer.candidate, answer.verdict)) continue;
    answer.verdict = std::move(verdict);
    answer.candidate = candidate;
    if (answer.verdict.is_legal()) break;
  }
  return answer;
}

void print_swaps(const std::vector<store::ImportedSwap>& swaps, const std::string& source) {
  uint64_t replaced = 0;
  bool is_loaded = false;
  std::set<std::string> kernels;
  std::map<std::string, uint64_t> refusals;
  for (const store::ImportedSwap& swap : swaps) {
    if (swap.is_turn) continue;
    if (!swap.is_replaced && swap.dispatches == 0) continue;  // it never ran
    if (!swap.is_replaced) {
      refusals[fmt::format("{}: not replaced by {}: {}", util::escape_control(swap.kernel),
                           util::escape_control(swap.file), util::escape_control(swap.why))] +=
          swap.dispatches;
    } else if (swap.dispatches > 0) {
      replaced += swap.dispatches;
      is_loaded |= swap.is_loaded;
      kernels.insert(swap.kernel);
    }
  }
  if (swaps.empty())
    fmt::print(
        stderr,
        "wavetap: swap: nothing was replaced: the program has loaded no kernel with a name of "
        "{}; see wavetap swap check\n",
        util::escape_control(source));
  else
    fmt::print(stderr, "wavetap: swap: {} of {} ran the replacement{}\n", dispatches(replaced),
               util::count_of(kernels.size(), "kernel"),
               is_loaded ? ", loaded in the place of the program's code object" : "");
  print_turns(swaps);
  size_t shown = 0;
  for (const auto& [text, count] : refusals) {
    if (++shown > kMostLines) break;
    fmt::print(stderr, "wavetap: swap: {}; {} ran the original\n", text, dispatches(count));
  }
  if (refusals.size() > kMostLines)
    fmt::print(stderr, "wavetap: swap: and {} more; see table wavetap_swap of the trace\n",
               refusals.size() - kMostLines);
}

}  // namespace wavetap::cli
