#include "tune/journal.h"

#include <fmt/format.h>
#include <unistd.h>

#include "tune/values_json.h"
#include "util/file_lock.h"
#include "util/json.h"
#include "util/json_library.h"

namespace wavetap::tune {
namespace {

constexpr char kTables[] = R"(
create table tune (key text primary key, value text);
create table evaluation (
  id integer primary key, point integer, part real, parameters text, outcome text, objective real,
  figures text, reason text, code_hash text);
create table cost (evaluation integer primary key, seconds real);
)";

}  // namespace

Status Journal::lock(const std::string& path) {
  Result<std::optional<ScopedFd>> locked = util::lock_file(path);
  if (!locked.ok()) return locked.error();
  if (*locked) {
    lock_ = std::move(**locked);
    return {};
  }
  return errorf("%s: another search is at work here; wait for it, or name another folder with -o",
                path.substr(0, path.rfind('/')).c_str());
}

// All at once, so that there is a whole journal or an empty file.
Status Journal::begin(const Spec& spec) {
  if (Status made = db_.exec(std::string("begin;") + kTables); !made.ok()) return made;
  Result<store::Stmt> insert = db_.prepare("insert into tune values (?, ?)");
  if (!insert.ok()) return insert.error();
  for (const auto& [key, value] :
       {std::pair<const char*, std::string>{"version", "1"},
        {"name", spec.name},
        {"spec", fmt::format("{:016x}", spec.hash)},
        {"strategy", name_of(spec.search.strategy)},
        {"objective", (spec.maximise ? "maximize " : "minimize ") + spec.objective}}) {
    insert->bind(1, std::string_view(key));
    insert->bind(2, value);
    if (!insert->run()) return insert->status();
  }
  *insert = store::Stmt();
  return db_.exec("commit");
}

Result<Journal> Journal::open(const std::string& path, const Spec& spec, bool resume) {
  Journal journal;
  if (const Status locked = journal.lock(path + ".lock"); !locked.ok()) return locked.error();
  const bool is_there = access(path.c_str(), F_OK) == 0;
  Result<store::Db> db = is_there ? store::Db::open_read_write(path) : store::Db::create(path);
  if (!db.ok()) return db.error();
  journal.db_ = std::move(*db);
  {
    // A search that was killed in its first moments left an empty file.
    Result<store::Stmt> tables = journal.db_.prepare("select count(*) from sqlite_master");
    if (!tables.ok() || !tables->step()) return errorf("%s: not a journal", path.c_str());
    const bool is_empty = tables->int64(0) == 0;
    *tables = store::Stmt();
    if (is_empty) {
      if (const Status begun = journal.begin(spec); !begun.ok()) return begun.error();
      return journal;
    }
  }
  if (!resume)
    return errorf("%s: is there from a search before; add --resume to go on with it, or remove it",
                  path.c_str());
  Result<store::Stmt> read = journal.db_.prepare("select value from tune where key = 'spec'");
  if (!read.ok()) return errorf("%s: not a journal of wavetap tune", path.c_str());
  if (!read->step() || read->text(0) != fmt::format("{:016x}", spec.hash))
    return errorf("%s: is of another version of %s; name another folder with -o, or remove it",
                  path.c_str(), spec.path.c_str());
  *read = store::Stmt();
  if (const Status loaded = journal.load(); !loaded.ok()) return loaded.error();
  return journal;
}

Status Journal::load() {
  Result<store::Stmt> rows = db_.prepare(
      "select point, part, parameters, outcome, figures, reason, code_hash, "
      "coalesce((select seconds from cost where evaluation = evaluation.id), 0) "
      "from evaluation order by id");
  if (!rows.ok()) return rows.error();
  while (rows->step()) {
    Entry entry;
    entry.point = rows->int64(0);
    entry.part = rows->real(1);
    entry.values = values_of(util::read_json(rows->text(2)));
    entry.trial.outcome = proof::outcome_named(rows->text(3)).value_or(proof::Outcome::kCrash);
    const nlohmann::ordered_json figures = util::read_json(rows->text(4));
    if (figures.is_object())
      for (const auto& [name, value] : figures.items())
        if (value.is_number()) entry.trial.figures[name] = value.get<double>();
    entry.trial.reason = std::string(rows->text(5));
    entry.trial.code_hash = std::strtoull(std::string(rows->text(6)).c_str(), nullptr, 16);
    entry.seconds = rows->real(7);
    remember(entry);
  }
  return rows->status();
}

void Journal::remember(const Entry& entry) {
  index_[{entry.point, entry.part}] = entries_.size();
  entries_.push_back(entry);
}

const Entry* Journal::find(int64_t point, double part) const {
  const auto found = index_.find({point, part});
  return found == index_.end() ? nullptr : &entries_[found->second];
}

Status Journal::add(const Entry& entry) {
  if (const Status begun = db_.exec("begin"); !begun.ok()) return begun;
  Result<store::Stmt> insert =
      db_.prepare("insert into evaluation values (?, ?, ?, ?, ?, ?, ?, ?, ?)");
  if (!insert.ok()) return insert.error();
  const auto id = static_cast<int64_t>(entries_.size()) + 1;
  insert->bind(1, id);
  insert->bind(2, entry.point);
  insert->bind(3, entry.part);
  insert->bind(4, util::json_line(values_json(entry.values)));
  insert->bind(5, proof::name_of(entry.trial.outcome));
  insert->bind_null(6);
  if (entry.trial.outcome == proof::Outcome::kGood && entry.trial.figures.contains("objective"))
    insert->bind(6, entry.trial.figures.at("objective"));
  insert->bind(7, util::json_line(nlohmann::ordered_json(entry.trial.figures)));
  insert->bind(8, entry.trial.reason);
  insert->bind(9, fmt::format("{:016x}", entry.trial.code_hash));
  if (!insert->run()) return insert->status();
  Result<store::Stmt> cost = db_.prepare("insert into cost values (?, ?)");
  if (!cost.ok()) return cost.error();
  cost->bind(1, id);
  cost->bind(2, entry.seconds);
  if (!cost->run()) return cost->status();
  if (const Status done = db_.exec("commit"); !done.ok()) return done;
  remember(entry);
  return {};
}

}  // namespace wavetap::tune
