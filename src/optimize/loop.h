// The guarded loop: ask the provider, judge what it proposes, keep it or roll back, write it down.
#pragma once

#include <functional>

#include "optimize/judge.h"
#include "optimize/ledger.h"
#include "optimize/provider.h"

namespace wavetap::optimize {

struct LoopOptions {
  uint32_t attempts = 10;
  uint32_t repairs = 2;  // of each attempt: a build that failed goes back to the provider
  nlohmann::ordered_json profile;
  nlohmann::ordered_json hot;  // instructions that cost most, with their source lines
  uint32_t workgroup[3] = {1, 1, 1};
  uint64_t grid[3] = {1, 1, 1};
  std::string short_name;
};

// A candidate that did not build, and what the build said; no errors: there is none.
struct FailedBuild {
  std::string errors;
  Sources files;
};

// What a provider is told. With a failed build: to repair it.
nlohmann::ordered_json make_request(const Ledger& ledger, const LoopOptions& options,
                                    const Sources& sources,
                                    const std::map<std::string, double>& figures,
                                    const FailedBuild& failed);

// Until the provider declines or stops, or the attempts are used up; those that the ledger has are not made again.
// An error when the original is no good.
Status run_loop(Ledger& ledger, const Judge& judge, Provider& provider, const LoopOptions& options,
                const std::function<void(const Attempt&)>& tell);

// Judges every attempt of a ledger again, in a folder of its own, built by another command where one is given:
// compilers are elsewhere on other machines. What came out otherwise than it is
// written; empty: nothing.
Result<std::vector<std::string>> replay_ledger(const Ledger& ledger, const JudgeOptions& options,
                                               const std::string& build, const std::string& folder);

}  // namespace wavetap::optimize
