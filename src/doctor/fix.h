// The changes a doctor may make on its own: variables of one process, reversible, never a file of
// the system.
#pragma once

#include <string>
#include <vector>

#include "doctor/check.h"
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

// Shell text that makes the changes, and that takes them back to what `machine` has now. Values are
// quoted; nothing in them is ever evaluated.
std::string fix_script(const std::vector<EnvironmentChange>& changes);
std::string undo_script(const Machine& machine, const std::vector<EnvironmentChange>& changes);

// What was left for a person: commands that need root, and advice.
std::vector<std::string> left_to_do(const Findings& findings);

}  // namespace wavetap::doctor
