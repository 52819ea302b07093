// The changes a doctor may make on its own: variables of one process, reversible, never a file of
// the system.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "doctor/finding.h"
#include "doctor/machine.h"

namespace wavetap::doctor {

struct EnvironmentChange {
  std::string name;
  std::string value;
  bool is_unset = false;
  std::string because;  // id of the finding
};

// What the errors and warnings ask for; the first remedy of a variable wins. Notes change nothing.
std::vector<EnvironmentChange> safe_changes(const Findings& findings);

// What takes changes back, to what `machine` has now.
std::vector<EnvironmentChange> undo_of(const Machine& machine,
                                       const std::vector<EnvironmentChange>& changes);

// The contents of FILE and FILE.undo.
struct FixFiles {
  std::vector<EnvironmentChange> changes;
  std::vector<EnvironmentChange> undo;
  size_t in_force = 0;  // of the changes: made by an earlier --fix that this shell has read
};

// Joins new changes with those of an earlier --fix: what of them is in force stays in the file, and
// is taken back to what it was before the first of all.
FixFiles compose(const Machine& machine, const FixFiles& earlier,
                 const std::vector<EnvironmentChange>& changes);

// Shell text that makes the changes. Values are quoted; nothing in them is ever evaluated.
std::string fix_script(const std::vector<EnvironmentChange>& changes);
std::string undo_script(const std::vector<EnvironmentChange>& undo);

// Was this text made by fix_script() or undo_script()? Only such files are ever written over.
bool is_fix_script(std::string_view text);
// The changes it makes; what a person has added is not among them.
std::vector<EnvironmentChange> parse_script(std::string_view text);

// What was left for a person: commands that need root, and advice.
std::vector<std::string> left_to_do(const Findings& findings);

}  // namespace wavetap::doctor
