// From the arguments of a call to a command line. Values are joined to their options with '=', so that
// none can be taken for an option; paths are those that Roots found.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "mcp/tool.h"
#include "util/file.h"
#include "util/json.h"
#include "util/text.h"

namespace wavetap::mcp {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kEvaluations = 10;

struct Words {
  std::vector<std::string> options, places, program;
};

Result<std::string> text_of(const Parameter& parameter, const Json& value) {
  if (!value.is_string()) return errorf("%s: not a string", parameter.name.c_str());
  std::string text = value.get<std::string>();
  if (text.find('\0') != std::string::npos)
    return errorf("%s: holds a zero byte", parameter.name.c_str());
  return text;
}

Result<std::vector<std::string>> texts_of(const Parameter& parameter, const Json& value) {
  if (!value.is_array()) return errorf("%s: not an array of strings", parameter.name.c_str());
  std::vector<std::string> texts;
  for (const Json& one : value) {
    Result<std::string> text = text_of(parameter, one);
    if (!text.ok()) return text.error();
    texts.push_back(std::move(*text));
  }
  return texts;
}

Result<std::string> program_of(const Roots& roots, const std::string& path) {
  Result<std::string> program = roots.to_read(path);
  if (!program.ok()) return program;
  struct stat facts {};
  if (stat(program->c_str(), &facts) != 0 || !S_ISREG(facts.st_mode) ||
      access(program->c_str(), X_OK) != 0)
    return errorf("%s: not a program that can be run", path.c_str());
  return program;
}

void place(const Parameter& parameter, const std::string& value, Words& words) {
  if (parameter.option.empty()) words.places.push_back(value);
  else words.options.push_back(parameter.option + "=" + value);
}

Status take_texts(const Parameter& parameter, const Json& value, const Roots& roots, Words& words) {
  const Result<std::vector<std::string>> texts = texts_of(parameter, value);
  if (!texts.ok()) return texts.error();
  if (parameter.kind == Kind::kInputs && texts->empty())
    return errorf("%s: empty", parameter.name.c_str());
  for (const std::string& text : *texts) {
    if (parameter.kind == Kind::kWords) {
      words.program.push_back(text);
    } else if (parameter.kind == Kind::kInputs) {
      const Result<std::string> path = roots.to_read(text);
      if (!path.ok()) return path.error();
      place(parameter, *path, words);
    } else {
      const std::string key = text.substr(0, text.find('='));
      if (std::find(parameter.choices.begin(), parameter.choices.end(), key) ==
          parameter.choices.end())
        return errorf("%s: %s is not one of %s", parameter.name.c_str(), key.c_str(),
                      util::join(parameter.choices, ", ").c_str());
      place(parameter, text, words);
    }
  }
  return {};
}

Status take_text(const Parameter& parameter, const Json& value, const Roots& roots, Words& words) {
  Result<std::string> text = text_of(parameter, value);
  if (!text.ok()) return text.error();
  switch (parameter.kind) {
    case Kind::kInput: text = roots.to_read(*text); break;
    case Kind::kOutput: text = roots.to_write(*text); break;
    case Kind::kProgram: text = program_of(roots, *text); break;
    case Kind::kName:
      for (const char c : *text)
        if (isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '_')
          return errorf("%s: %s is not a name of gpu_list", parameter.name.c_str(), text->c_str());
      break;
    case Kind::kChoice:
      if (!parameter.choices.empty() &&
          std::find(parameter.choices.begin(), parameter.choices.end(), *text) ==
              parameter.choices.end())
        return errorf("%s: %s is not one of %s", parameter.name.c_str(), text->c_str(),
                      util::join(parameter.choices, ", ").c_str());
      break;
    case Kind::kSql: *text = " " + *text; break;  // a comment at its start is no option
    default: break;
  }
  if (!text.ok()) return text.error();
  if (text->empty() || (parameter.option.empty() && text->starts_with('-')))
    return errorf("%s: \"%s\" is no value for it", parameter.name.c_str(), text->c_str());
  if (parameter.kind == Kind::kProgram) words.program.insert(words.program.begin(), *text);
  else place(parameter, *text, words);
  return {};
}

Status take(const Parameter& parameter, const Json& value, const Roots& roots, Words& words) {
  switch (parameter.kind) {
    case Kind::kInteger:
      if (!value.is_number_unsigned() || value.get<uint64_t>() > UINT32_MAX)
        return errorf("%s: not a whole number of 0 to %u", parameter.name.c_str(), UINT32_MAX);
      if (!parameter.option.empty()) place(parameter, std::to_string(value.get<uint64_t>()), words);
      return {};
    case Kind::kFlag:
      if (!value.is_boolean()) return errorf("%s: neither true nor false", parameter.name.c_str());
      if (value.get<bool>()) words.options.push_back(parameter.option);
      return {};
    case Kind::kInputs:
    case Kind::kWords:
    case Kind::kSettings: return take_texts(parameter, value, roots, words);
    default: return take_text(parameter, value, roots, words);
  }
}

Status refuse_unknown(const Tool& tool, const Json& arguments) {
  std::vector<std::string> names;
  for (const Parameter& parameter : tool.parameters) names.push_back(parameter.name);
  for (const auto& [name, value] : arguments.items()) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::string near = util::nearest_name(name, names);
    return errorf("%s: not an argument of %s%s", name.c_str(), tool.name.c_str(),
                  near.empty() ? "" : ("; did you mean " + near + "?").c_str());
  }
  return {};
}

// A step goes on where the last one ended: the journal is there, and its results say how far it is.
void add_step(const Json& arguments, const Roots& roots, Words& words) {
  double done = 0;
  const Result<std::string> folder = roots.to_write(arguments.at("output").get<std::string>());
  if (folder.ok() && access((*folder + "/journal.db").c_str(), F_OK) == 0)
    words.options.emplace_back("--resume");
  if (folder.ok())
    if (const auto bytes = util::read_file(*folder + "/best.json"); bytes.ok()) {
      const Json best = util::read_json(
          std::string_view(reinterpret_cast<const char*>(bytes->data()), bytes->size()));
      if (best.is_object() && best.contains("evaluated_configs") &&
          best["evaluated_configs"].is_number())
        done = best["evaluated_configs"].get<double>();
    }
  const double more = static_cast<double>(arguments.value("evaluations", kEvaluations));
  words.options.push_back("--budget=" +
                          std::to_string(static_cast<uint64_t>(std::clamp(done, 0.0, 1e9) + more)));
}

}  // namespace

Result<std::vector<std::string>> make_words(const Tool& tool, const Json& arguments,
                                            const Roots& roots, const std::string& answer_folder) {
  if (!arguments.is_object())
    return errorf("%s: its arguments are not an object", tool.name.c_str());
  if (const Status known = refuse_unknown(tool, arguments); !known.ok()) return known.error();
  Words words;
  for (const Parameter& parameter : tool.parameters) {
    const auto value = arguments.find(parameter.name);
    if (value != arguments.end()) {
      if (const Status taken = take(parameter, *value, roots, words); !taken.ok())
        return taken.error();
    } else if (parameter.is_required) {
      return errorf("%s: %s is missing: %s", tool.name.c_str(), parameter.name.c_str(),
                    parameter.description.c_str());
    }
  }
  if (tool.command[0] == "tune") add_step(arguments, roots, words);
  if (!tool.answer_option.empty()) {
    const size_t slash = tool.answer_file.find('/');
    words.options.push_back(tool.answer_option + "=" + answer_folder + "/" +
                            tool.answer_file.substr(0, slash));
  }
  std::vector<std::string> all = tool.command;
  all.insert(all.end(), words.options.begin(), words.options.end());
  all.insert(all.end(), words.places.begin(), words.places.end());
  if (!words.program.empty()) {
    all.emplace_back("--");
    all.insert(all.end(), words.program.begin(), words.program.end());
  }
  return all;
}

}  // namespace wavetap::mcp
