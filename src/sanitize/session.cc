#include "sanitize/session.h"

#include <iterator>
#include <utility>

#include "sanitize/device_heap.h"
#include "sanitize/fpcheck.h"
#include "sanitize/initcheck.h"
#include "sanitize/memcheck.h"
#include "sanitize/racecheck.h"
#include "sanitize/synccheck.h"
#include "sanitize/wait_states.h"
#include "sanitize/waitcheck.h"

namespace wavetap::sanitize {
namespace {

// Null: the tool watches no dispatches.
std::unique_ptr<Check> make_check(Tool tool) {
  switch (tool) {
    case Tool::kMemcheck: return std::make_unique<Memcheck>();
    case Tool::kRacecheck: return std::make_unique<Racecheck>();
    case Tool::kInitcheck: return std::make_unique<Initcheck>();
    case Tool::kSynccheck: return std::make_unique<Synccheck>();
    case Tool::kWaitcheck: return std::make_unique<Waitcheck>();
    case Tool::kFpcheck: return std::make_unique<Fpcheck>();
    case Tool::kLeakcheck:
    case Tool::kHostcheck: return nullptr;
  }
  return nullptr;
}

}  // namespace

Session::Session(const SessionOptions& options) {
  const auto add = [this](std::unique_ptr<Check> check) {
    if (check != nullptr) checks_.push_back(std::move(check));
  };
  // Before the others: what a kernel is given is its own from the next instruction on.
  if (options.tools.has(Tool::kMemcheck) || options.tools.has(Tool::kLeakcheck))
    add(std::make_unique<HeapWatch>());
  for (const ToolRow& row : tool_rows()) {
    if (!options.tools.has(row.tool)) continue;
    add(make_check(row.tool));
    if (row.tool == Tool::kSynccheck) synccheck_ = static_cast<Synccheck*>(checks_.back().get());
    if (row.tool == Tool::kWaitcheck) add(std::make_unique<WaitStates>());
    if (row.tool == Tool::kInitcheck) add(std::make_unique<Initcheck>(Initcheck::Loads::kAll));
  }
}

Session::~Session() = default;

void Session::set_tell_now(TellNow tell) {
  if (synccheck_ != nullptr) synccheck_->set_tell(std::move(tell));
}

void Session::choose(const MemoryMap& map, bool moves_memory) {
  watchers_.clear();
  keepers_.clear();
  for (const std::unique_ptr<Check>& check : checks_) {
    if (!check->is_needed(map, moves_memory)) continue;
    watchers_.push_back(check.get());
    if (check->keeps_state()) keepers_.push_back(check.get());
  }
}

void Session::begin(const MemoryMap& map) {
  map_ = &map;
  for (const std::unique_ptr<Check>& check : checks_) {
    check->begin(map);
    check->set_quiet(false);
  }
  choose(map, /*moves_memory=*/false);
}

std::span<emu::Watcher* const> Session::begin_quietly(const MemoryMap& map) {
  begin(map);
  for (const std::unique_ptr<Check>& check : checks_) check->set_quiet(true);
  return keepers_;
}

void Session::set_moves_memory() {
  for (const std::unique_ptr<Check>& check : checks_) check->set_quiet(true);
  choose(*map_, /*moves_memory=*/true);
}

SessionFindings Session::take() {
  SessionFindings all;
  for (const std::unique_ptr<Check>& check : checks_) {
    uint64_t dropped = 0;
    std::vector<Finding> findings = check->findings().take(&dropped);
    std::move(findings.begin(), findings.end(), std::back_inserter(all.findings));
    all.dropped += dropped;
    all.shadow_bytes += check->most_shadow_bytes();
    all.depends_on_order |= check->depends_on_order();
  }
  return all;
}

}  // namespace wavetap::sanitize
