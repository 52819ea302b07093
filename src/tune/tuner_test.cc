#include "tune/tuner.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

namespace wavetap::tune {
namespace {

constexpr char kSpec[] = R"(
conditions = ["A != 3 || B != 3"]
[build]
command = "cc {A} {B} {C} {out}"
[parameters]
A = { from = 1, to = 8 }
B = { from = 1, to = 5 }
C = ["x", "y", "z"]
[measure]
capture = "some.wtcap"
[search]
seed = 11
budget = 30
strategy = ")";

// A slope with pits in it, a third of its points no good; what a part of the workgroups says of it is not quite
// the truth.
proof::Trial measure(const Values& values, double part, bool is_original) {
  const double a = std::get<double>(values.contains("A") ? values.at("A") : Value(1.0));
  const double b = std::get<double>(values.contains("B") ? values.at("B") : Value(1.0));
  const size_t c = values.contains("C") ? std::get<std::string>(values.at("C"))[0] - 'x' : 0;
  proof::Trial trial;
  const double time =
      1e-5 * (1 + std::fabs(a - 5) / 3 + std::sqrt(b) + 0.1 * static_cast<double>(c) +
              0.01 * std::sin(37 * a + 11 * b + part));
  trial.figures = {{"time", time}, {"objective", time * part}};
  trial.code_hash = static_cast<uint64_t>(a * 1000 + b * 10) + c;
  if (!is_original && static_cast<int>(a + 2 * b) % 3 == 0 && c == 1)
    trial = {proof::Outcome::kWrong, "element 3 is 1 instead of 2", {}, 0, {}};
  return trial;
}

class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / "wavetap.tuner.XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) std::abort();
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

constexpr int kKilled = 77, kFailed = 1;

// A process that searches and ends at once, without a word to anybody, when it has kept so many evaluations.
int search_in_process(const Spec& spec, const std::string& path, size_t jobs, int most) {
  const pid_t child = fork();
  if (child == 0) {
    Result<Journal> journal = Journal::open(path, spec, /*resume=*/true);
    const Result<Space> space = Space::make(spec.parameters, spec.conditions);
    if (!journal.ok() || !space.ok()) _exit(kFailed);
    int kept = 0;
    const Status ran =
        run_search(spec, *space, measure, {spec.budget, 0, jobs}, *journal, [&](const Progress&) {
          if (++kept == most) _exit(kKilled);
        });
    _exit(ran.ok() ? 0 : kFailed);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : kFailed;
}

// All that a journal says of its evaluations.
std::vector<std::string> rows(const std::string& path) {
  std::vector<std::string> made;
  Result<store::Db> db = store::Db::open_read_write(path);
  if (!db.ok()) return made;
  Result<store::Stmt> read = db->prepare(
      "select printf('%d %d %.17g %s %s %.17g %s %s %s', id, point, part, parameters, outcome, "
      "objective, figures, reason, code_hash) from evaluation order by id");
  while (read.ok() && read->step()) made.emplace_back(read->text(0));
  return made;
}

TEST(Tuner, ASearchThatIsKilledAndResumedLeavesTheSameJournal) {
  const Folder folder;
  for (const char* strategy : {"exhaustive", "random", "hill-climbing", "bayesian", "halving"}) {
    const Result<Spec> spec = parse_spec(std::string(kSpec) + strategy + "\"\n", folder / "a.toml");
    ASSERT_TRUE(spec.ok()) << spec.error().message;
    const std::string whole = folder / (std::string(strategy) + ".whole");
    ASSERT_EQ(search_in_process(*spec, whole, 2, 0), 0) << strategy;
    const std::vector<std::string> wanted = rows(whole);
    ASSERT_GT(wanted.size(), 30u) << strategy;  // the budget and the captured kernel
    const std::string killed = folder / (std::string(strategy) + ".killed");
    size_t had = 0;
    for (const auto& [jobs, most] :
         {std::pair<size_t, int>{2, 1}, {1, 4}, {3, 7}, {4, 1}, {2, 6}}) {
      ASSERT_EQ(search_in_process(*spec, killed, jobs, most), kKilled) << strategy;
      const std::vector<std::string> part = rows(killed);
      ASSERT_EQ(part.size(), had + static_cast<size_t>(most)) << strategy;
      ASSERT_LT(part.size(), wanted.size()) << strategy;
      EXPECT_TRUE(std::equal(part.begin(), part.end(), wanted.begin())) << strategy;
      had = part.size();
    }
    ASSERT_EQ(search_in_process(*spec, killed, 3, 0), 0) << strategy;
    EXPECT_EQ(rows(killed), wanted) << strategy;
  }
}

}  // namespace
}  // namespace wavetap::tune
