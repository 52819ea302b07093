// What a check says. Every check is one function that looks at the Machine and adds findings; a
// finding names what was read, the verdict, why it matters and what to do. Checks change nothing
// and print nothing.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wavetap::doctor {

struct Machine;

// In the order of the report's severity; kUnknown: something could not be read, and the reason is
// said.
enum class Verdict : unsigned char { kError, kWarning, kNote, kUnknown, kOk };
std::string_view to_string(Verdict verdict);

struct Evidence {
  std::string source;  // a path, a variable, an entry point
  std::string value;
};

struct Remedy {
  enum class Kind : unsigned char {
    kSet,      // a variable for the program's own environment: `text` is NAME=VALUE
    kUnset,    // `text` is NAME
    kCommand,  // an ordinary user may run it
    kRoot,     // needs root or a reboot; `undo` restores the default
    kAdvice,   // a sentence
  };
  Kind kind = Kind::kAdvice;
  std::string text;
  std::string undo;
};

struct Finding {
  std::string id;  // "override.unsafe"
  int group = 0;
  Verdict verdict = Verdict::kOk;
  std::string summary;
  std::vector<Evidence> evidence;
  std::string why;
  std::vector<Remedy> remedies;

  Finding& saw(std::string source, std::string value) {
    evidence.push_back({std::move(source), std::move(value)});
    return *this;
  }
  Finding& because(std::string text) {
    why = std::move(text);
    return *this;
  }
  Finding& set(std::string variable, const std::string& value) {
    remedies.push_back({Remedy::Kind::kSet, std::move(variable) + "=" + value, ""});
    return *this;
  }
  Finding& unset(std::string variable) {
    remedies.push_back({Remedy::Kind::kUnset, std::move(variable), ""});
    return *this;
  }
  Finding& run(std::string command, std::string undo = "") {
    remedies.push_back({Remedy::Kind::kCommand, std::move(command), std::move(undo)});
    return *this;
  }
  Finding& as_root(std::string command, std::string undo = "") {
    remedies.push_back({Remedy::Kind::kRoot, std::move(command), std::move(undo)});
    return *this;
  }
  Finding& advise(std::string text) {
    remedies.push_back({Remedy::Kind::kAdvice, std::move(text), ""});
    return *this;
  }
};

// Collects the findings of one group. References stay valid: the container never moves its
// elements.
class Findings {
 public:
  Finding& add(Verdict verdict, std::string id, std::string summary);
  Finding& error(std::string id, std::string summary) {
    return add(Verdict::kError, std::move(id), std::move(summary));
  }
  Finding& warning(std::string id, std::string summary) {
    return add(Verdict::kWarning, std::move(id), std::move(summary));
  }
  Finding& note(std::string id, std::string summary) {
    return add(Verdict::kNote, std::move(id), std::move(summary));
  }
  Finding& unknown(std::string id, std::string summary) {
    return add(Verdict::kUnknown, std::move(id), std::move(summary));
  }
  Finding& ok(std::string id, std::string summary) {
    return add(Verdict::kOk, std::move(id), std::move(summary));
  }

  void enter_group(int group) { group_ = group; }
  const std::deque<Finding>& all() const { return all_; }
  bool has(Verdict verdict, std::string_view id) const;
  // No finding with a verdict worse than kNote since `mark` findings were there.
  bool clean_since(size_t mark) const;

 private:
  std::deque<Finding> all_;
  int group_ = 0;
};

struct CheckGroup {
  int number;
  const char* name;   // "device-nodes"
  const char* title;  // "device nodes and permissions"
  void (*run)(const Machine& machine, Findings& findings);
};

// Groups that start processes, run on request by truth.h, active_trials.h and process_libraries.h.
inline constexpr int kTruthGroup = 17;
inline constexpr int kTrialGroup = 18;
inline constexpr int kLibraryGroup = 19;

// The table of contents: groups 1 to 16, in the order they are run, and the names of the others.
const std::vector<CheckGroup>& check_groups();
const CheckGroup* find_group(int number);

void run_checks(const Machine& machine, Findings& findings);

// One per file, check_*.cc.
void check_device_nodes(const Machine& machine, Findings& findings);
void check_module_options(const Machine& machine, Findings& findings);
void check_driver(const Machine& machine, Findings& findings);
void check_kernel_log(const Machine& machine, Findings& findings);
void check_pcie(const Machine& machine, Findings& findings);
void check_host(const Machine& machine, Findings& findings);
void check_topology(const Machine& machine, Findings& findings);
void check_override(const Machine& machine, Findings& findings);
void check_health(const Machine& machine, Findings& findings);
void check_rocm_installs(const Machine& machine, Findings& findings);
void check_python(const Machine& machine, Findings& findings);
void check_library_kernels(const Machine& machine, Findings& findings);
void check_environment(const Machine& machine, Findings& findings);
void check_miopen(const Machine& machine, Findings& findings);
void check_processes(const Machine& machine, Findings& findings);
void check_residue(const Machine& machine, Findings& findings);

}  // namespace wavetap::doctor
