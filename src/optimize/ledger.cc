#include "optimize/ledger.h"

#include <fmt/format.h>

#include <filesystem>

#include "util/file.h"
#include "util/file_lock.h"
#include "util/json.h"
#include "util/text.h"

namespace wavetap::optimize {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSteps[] = {
    "provider", "files",     "build",    "reproducible", "signature", "instructions", "no-change",
    "replay",   "precision", "sanitize", "cross-check",  "speed",     "accepted"};

Json usage_json(const Usage& usage) {
  return {{"requests", usage.requests},
          {"retries", usage.retries},
          {"prompt_tokens", usage.prompt_tokens},
          {"answer_tokens", usage.answer_tokens},
          {"cost", usage.cost},
          {"estimated", usage.is_estimated}};
}

Usage usage_of(const Json& json) {
  return {json.at("requests").get<uint64_t>(),
          json.at("retries").get<uint64_t>(),
          json.at("prompt_tokens").get<uint64_t>(),
          json.at("answer_tokens").get<uint64_t>(),
          json.at("cost").get<double>(),
          json.at("estimated").get<bool>()};
}

Json attempt_json(const Attempt& attempt) {
  Json checks = Json::array();
  for (const proof::Check& check : attempt.checks)
    checks.push_back({{"name", check.name}, {"result", check.result}});
  Json files = Json::array();
  for (const auto& [name, text] : attempt.files) files.push_back(name);
  Json json = {{"number", attempt.number},
               {"accepted", attempt.accepted()},
               {"step", name_of(attempt.step)},
               {"reason", attempt.reason},
               {"rationale", attempt.rationale},
               {"repairs", attempt.repairs},
               {"improvement", attempt.improvement},
               {"before", attempt.before},
               {"after", attempt.after},
               {"checks", checks},
               {"files", files}};
  if (!attempt.timed.is_null()) json["timed"] = attempt.timed;
  if (attempt.usage.requests != 0) json["usage"] = usage_json(attempt.usage);
  return json;
}

Result<std::string> read_text(const std::string& path) {
  const Result<std::vector<std::byte>> bytes = util::read_file(path);
  if (!bytes.ok()) return bytes.error();
  return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

// Ledgers come from other machines: what they name is in their folder.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
}

Attempt attempt_of(const Json& json) {
  Attempt attempt;
  attempt.number = json.at("number").get<uint32_t>();
  attempt.rationale = json.at("rationale").get<std::string>();
  const std::string step = json.at("step").get<std::string>();
  for (size_t i = 0; i < std::size(kSteps); ++i)
    if (step == kSteps[i]) attempt.step = static_cast<Step>(i);
  attempt.reason = json.at("reason").get<std::string>();
  attempt.repairs = json.at("repairs").get<uint32_t>();
  attempt.improvement = json.at("improvement").get<double>();
  attempt.before = json.at("before").get<std::map<std::string, double>>();
  attempt.after = json.at("after").get<std::map<std::string, double>>();
  for (const Json& check : json.at("checks"))
    attempt.checks.push_back(
        {check.at("name").get<std::string>(), check.at("result").get<std::string>()});
  for (const Json& name : json.at("files")) attempt.files[name.get<std::string>()] = "";
  if (json.contains("timed")) attempt.timed = json.at("timed");
  if (json.contains("usage")) attempt.usage = usage_of(json.at("usage"));
  return attempt;
}

}  // namespace

std::string name_of(Step step) { return kSteps[static_cast<size_t>(step)]; }

bool is_ledgers_own(const std::string& name) {
  return name == kCode || name == kDiff || name == kLog || name == ".tmp" || name == ".before";
}

Status write_sources(const std::string& folder, const Sources& sources) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return errorf("%s: cannot be made: %s", folder.c_str(), error.message().c_str());
  for (const auto& [name, text] : sources)
    if (const Status written = util::write_file(folder + "/" + name, text); !written.ok())
      return written;
  return {};
}

std::string Ledger::folder_of(uint32_t number) const {
  return fmt::format("{}/attempts/{:03}", folder_, number);
}

Result<Ledger> Ledger::create(const std::string& folder, const Task& task, const Sources& original,
                              const std::string& capture_file) {
  Ledger ledger;
  ledger.folder_ = std::filesystem::absolute(folder);
  ledger.task_ = task;
  ledger.original_ = original;
  std::error_code error;
  std::filesystem::create_directories(ledger.folder_, error);
  if (error)
    return errorf("%s: cannot be made: %s; name another folder with -o", folder.c_str(),
                  error.message().c_str());
  if (const Status locked = ledger.lock(); !locked.ok()) return locked.error();
  // One without attempts is what a mistake in the words left: there is nothing in it to lose.
  if (std::filesystem::exists(ledger.folder_ + "/ledger.json")) {
    const Result<Ledger> before = open(folder);
    if (!before.ok())
      return errorf("%s; name another folder with -o", before.error().message.c_str());
    if (const size_t count = before->attempts().size(); count != 0)
      return errorf(
          "%s: holds a ledger already, %s%s; go on with it with --resume, read it with wavetap "
          "optimize report, or name another folder with -o",
          folder.c_str(), util::count_of(count, "attempt").c_str(),
          before->is_finished() ? "" : " and not finished");
  }
  if (const Status made = write_sources(ledger.folder_ + "/original", original); !made.ok())
    return made.error();
  std::filesystem::copy_file(capture_file, ledger.captures(),
                             std::filesystem::copy_options::overwrite_existing, error);
  if (error)
    return errorf("%s: cannot be copied: %s", capture_file.c_str(), error.message().c_str());
  if (const Status saved = ledger.save(); !saved.ok()) return saved.error();
  return ledger;
}

Ledger Ledger::draft(const Task& task, const Sources& original) {
  Ledger ledger;
  ledger.task_ = task;
  ledger.original_ = original;
  return ledger;
}

Status Ledger::lock() {
  Result<std::optional<ScopedFd>> locked = util::lock_file(folder_ + "/ledger.lock");
  if (!locked.ok()) return locked.error();
  if (!*locked)
    return errorf(
        "%s: another optimize is at work here; wait for it, or name another folder with -o",
        folder_.c_str());
  lock_ = std::move(**locked);
  return {};
}

bool Ledger::is_at_work() const {
  return !is_finished_ && !lock_.valid() && util::is_locked_file(folder_ + "/ledger.lock");
}

Result<Ledger> Ledger::resume(const std::string& folder) {
  Result<Ledger> ledger = open(folder);
  if (!ledger.ok()) return ledger;
  if (const Status locked = ledger->lock(); !locked.ok()) return locked.error();
  // It may have grown until the lock was ours.
  Result<Ledger> now = open(folder);
  if (!now.ok()) return now;
  now->lock_ = std::move(ledger->lock_);
  now->is_finished_ = false;
  now->stopped_.clear();
  return now;
}

Result<Ledger> Ledger::open(const std::string& folder) {
  const Result<std::string> text = read_text(folder + "/ledger.json");
  if (!text.ok()) return text.error();
  const Json json = util::read_json(*text);
  Ledger ledger;
  ledger.folder_ = std::filesystem::absolute(folder);
  try {
    if (json.at("schema").get<std::string>() != kLedgerSchema)
      return errorf("%s: not a ledger of this version", folder.c_str());
    const Json& task = json.at("task");
    Task& made = ledger.task_;
    made.build = task.at("build").get<std::string>();
    made.objective = task.at("objective").get<std::string>();
    made.least_gain = task.at("least_gain").get<double>();
    made.timed = task.value("timed", std::string());
    made.tolerance = task.at("tolerance").get<std::string>();
    made.may_lose_precision = task.value("may_lose_precision", false);
    made.tools = task.at("sanitize").get<std::string>();
    made.gpu = task.at("gpu").get<std::string>();
    made.kernel = task.at("kernel").get<std::string>();
    made.provider = task.at("provider").get<std::string>();
    made.sandbox = task.at("sandbox").get<std::string>();
    made.seed = task.at("seed").get<uint64_t>();
    made.captures = task.at("captures").get<std::vector<uint32_t>>();
    for (const Json& one : task.value("ranking", Json::array()))
      made.ranking.push_back({one.at("kernel").get<std::string>(),
                              one.at("critical_part").get<double>(),
                              one.at("has_source").get<bool>()});
    for (const Json& name : json.at("sources")) {
      if (!is_plain_name(name.get<std::string>()))
        return errorf("%s: ledger.json names a source outside its folder", folder.c_str());
      const Result<std::string> source =
          read_text(ledger.folder_ + "/original/" + name.get<std::string>());
      if (!source.ok()) return source.error();
      ledger.original_[name.get<std::string>()] = *source;
    }
    for (const Json& one : json.at("attempts")) {
      Attempt attempt = attempt_of(one);
      for (auto& [name, content] : attempt.files) {
        if (!is_plain_name(name)) continue;  // refused when it was proposed, and will be again
        const Result<std::string> source = read_text(ledger.folder_of(attempt.number) + "/" + name);
        if (source.ok()) content = *source;
      }
      ledger.attempts_.push_back(std::move(attempt));
    }
    if (json.contains("usage")) ledger.usage_ = usage_of(json.at("usage"));
    ledger.stopped_ = json.value("stopped", std::string());
    ledger.is_finished_ = json.value("finished", true);
  } catch (const Json::exception&) {
    return errorf("%s: ledger.json is damaged", folder.c_str());
  }
  return ledger;
}

Json Ledger::json() const {
  Json sources = Json::array();
  for (const auto& [name, text] : original_) sources.push_back(name);
  Json attempts = Json::array();
  for (const Attempt& attempt : attempts_) attempts.push_back(attempt_json(attempt));
  double gain = 1;
  for (const Attempt& attempt : attempts_)
    if (attempt.accepted() && attempt.improvement > 0) gain *= attempt.improvement;
  Json json = {{"schema", kLedgerSchema},
               {"task",
                {{"kernel", task_.kernel},
                 {"gpu", task_.gpu},
                 {"objective", task_.objective},
                 {"least_gain", task_.least_gain},
                 {"tolerance", task_.tolerance},
                 {"may_lose_precision", task_.may_lose_precision},
                 {"sanitize", task_.tools},
                 {"build", task_.build},
                 {"provider", task_.provider},
                 {"sandbox", task_.sandbox},
                 {"seed", task_.seed},
                 {"captures", task_.captures}}},
               {"sources", sources},
               {"improvement", gain},
               {"finished", is_finished_},
               {"attempts", attempts}};
  if (!task_.timed.empty()) json["task"]["timed"] = task_.timed;
  for (const RankedKernel& one : task_.ranking)
    json["task"]["ranking"].push_back({{"kernel", one.kernel},
                                       {"critical_part", one.critical_part},
                                       {"has_source", one.has_source}});
  if (usage_.requests != 0) json["usage"] = usage_json(usage_);
  if (!stopped_.empty()) json["stopped"] = stopped_;
  return json;
}

Status Ledger::save() const {
  return util::write_file(folder_ + "/ledger.json", util::json_text(json()));
}

Usage Ledger::usage_of_attempts() const {
  Usage sum;
  for (const Attempt& attempt : attempts_) {
    sum.requests += attempt.usage.requests;
    sum.retries += attempt.usage.retries;
    sum.prompt_tokens += attempt.usage.prompt_tokens;
    sum.answer_tokens += attempt.usage.answer_tokens;
    sum.cost += attempt.usage.cost;
    sum.is_estimated = sum.is_estimated || attempt.usage.is_estimated;
  }
  return sum;
}

Status Ledger::add(const Attempt& attempt) {
  attempts_.push_back(attempt);
  return save();
}

Status Ledger::finish(const Usage& usage, const std::string& stopped) {
  usage_ = usage;
  stopped_ = stopped;
  is_finished_ = true;
  return save();
}

Status Ledger::keep_best(const Sources& sources, const std::string& code) const {
  if (const Status written = write_sources(folder_ + "/best", sources); !written.ok())
    return written;
  const Result<std::string> bytes = read_text(code);
  if (!bytes.ok()) return bytes.error();
  return util::write_file(folder_ + "/best/best.hsaco", *bytes);
}

}  // namespace wavetap::optimize
