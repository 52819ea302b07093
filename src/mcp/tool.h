// What a client can ask for. A tool is a command of this program with the options that make sense to a
// client; its schema and its command line are both made from the same rows.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "mcp/roots.h"
#include "util/json_library.h"

namespace wavetap::mcp {

enum class Kind {
  kText,      // any text, as `--option=TEXT`
  kName,      // a GPU model: no path
  kChoice,    // one of `choices`
  kInteger,   // 0 or more
  kFlag,      // true: the option is given
  kInput,     // a file or folder to read
  kInputs,    // several
  kOutput,    // a file or folder to write
  kProgram,   // a program to run, behind `--`
  kWords,     // its arguments
  kSettings,  // KEY=VALUE, several
  kSql,       // a statement
};

struct Parameter {
  std::string name;
  Kind kind;
  std::string option;  // "--top"; "": an argument, in the order of the rows
  std::string description;
  bool is_required = false;
  std::vector<std::string> choices = {};  // of kChoice; of kSettings: the keys
};

struct Tool {
  std::string name;
  std::string description;
  std::vector<std::string> command;  // {"capture", "show", "--json"}
  std::vector<Parameter> parameters;
  bool runs_programs = false;  // only with --allow-run
  bool writes = false;         // files below a root
  // The answer is this file of a folder that is made for it, and not what the command prints: programs
  // print as well. `answer_option` names the file, or the folder when it ends with "/".
  std::string answer_option = {}, answer_file = {};
  int finding_status = 2;  // the exit status besides 0 that is an answer and no failure
};

// Lists that other folders own, by the name of the parameter.
using Choices = std::map<std::string, std::vector<std::string>>;

std::vector<Tool> make_tools(const Choices& choices, bool allow_run);

// As tools/list shows it.
nlohmann::ordered_json describe(const Tool& tool);

// The words behind the program's name, or what is wrong with the arguments, for the client to read.
Result<std::vector<std::string>> make_words(const Tool& tool,
                                            const nlohmann::ordered_json& arguments,
                                            const Roots& roots, const std::string& answer_folder);

}  // namespace wavetap::mcp
