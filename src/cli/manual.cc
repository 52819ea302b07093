#include "cli/manual.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "util/file.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

// Text for roff: what it would take for a request or an escape is taken literally, and a minus stays one, so
// that options can be copied from the page.
std::string roff(const std::string& text) {
  std::string out;
  bool at_line_start = true;
  for (const char c : text) {
    if (at_line_start && (c == '.' || c == '\'')) out += "\\&";
    at_line_start = c == '\n';
    if (c == '\\') out += "\\e";
    else if (c == '-') out += "\\-";
    else out += c;
  }
  return out;
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

// A heading of a section, from "Analyses:" or "EXIT STATUS".
std::string section(std::string title) {
  if (!title.empty() && title.back() == ':') title.pop_back();
  return ".SH " + roff(upper(std::move(title))) + "\n";
}

std::string sentence(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  if (!text.empty() && text.back() != '.') text += '.';
  return text;
}

// ".TP", the names in bold and the value in italics, then what it means.
std::string item(const DescribedOption& option) {
  std::string head;
  for (const std::string& name : option.names)
    head += (head.empty() ? "" : ", ") + std::string("\\fB") + roff(name) + "\\fR";
  const bool is_argument = !option.names[0].starts_with('-');
  if (!option.value.empty() && !is_argument) {
    const std::string value = "\\fI" + roff(option.value) + "\\fR";
    const bool needs_brackets = option.value_is_optional && option.value[0] != '[';
    head += needs_brackets ? " [" + value + "]" : " " + value;
  }
  return fmt::format(".TP\n{}\n{}\n", head, roff(sentence(option.description)));
}

std::string items(const char* title, const std::vector<DescribedOption>& options) {
  if (options.empty()) return "";
  std::string text = section(title);
  for (const DescribedOption& option : options) text += item(option);
  return text;
}

// Lines as they are. The text holds the examples and, behind an empty line, sections with a heading of their own.
std::string examples(const std::string& text) {
  std::string out, title = "Examples";
  std::string lines;
  const auto flush = [&] {
    if (!lines.empty()) out += section(title) + ".nf\n" + roff(lines) + ".fi\n";
    lines.clear();
  };
  for (const std::string& line : util::split(text, '\n')) {
    if (!line.empty() && line[0] != ' ' && line.back() == ':') {
      flush();
      title = line;
    } else if (!line.empty()) {
      lines += line.substr(std::min<size_t>(2, line.find_first_not_of(' '))) + '\n';
    }
  }
  flush();
  return out;
}

std::string exit_status(const DescribedCommand& command) {
  std::string text = section("Exit status");
  if (command.path == std::vector<std::string>{"run"})
    text +=
        "That of the program, 128 + N if signal N ended it. When the program was not started:\n";
  return text +
         ".TP\n0\nDone.\n"
         ".TP\n1\nThe command line or an input is wrong; one line on standard error says what and "
         "what to do.\n"
         ".TP\n2\nThe answer is no: data are incomplete, a check failed, something is missing.\n"
         ".TP\n3\nA bug of wavetap.\n";
}

std::string see_also(const DescribedCommand& command, const DescribedCommand& program) {
  std::string text = section("See also");
  std::string list;
  for (const DescribedCommand* other : flatten(program)) {
    const bool near =
        other->path.size() <= 1 || (!command.path.empty() && other->path[0] == command.path[0]);
    if (other == &command || !near) continue;
    list += fmt::format("{}\\fB{}\\fR(1)", list.empty() ? "" : ",\n", roff(manual_name(*other)));
  }
  return text + list + "\n";
}

}  // namespace

std::string manual_name(const DescribedCommand& command) {
  std::string name = "wavetap";
  for (const std::string& word : command.path) name += "-" + word;
  return name;
}

std::string manual_page(const DescribedCommand& command, const DescribedCommand& program) {
  const std::string name = manual_name(command);
  std::string summary = command.summary;
  if (!summary.empty() && summary.back() == '.') summary.pop_back();
  std::string text = fmt::format(".TH {} 1 \"\" \"wavetap {}\" \"User Commands\"\n",
                                 roff(upper(name)), WAVETAP_VERSION);
  text += section("Name") + roff(name) + " \\- " + roff(summary) + "\n";
  text += section("Synopsis");
  std::string usage;
  for (const std::string& line : util::split(command.usage, '\n'))
    usage += (usage.empty() ? "" : " ") +
             line.substr(std::min(line.find_first_not_of(' '), line.size()));
  text += ".B wavetap " + roff(usage) + "\n";
  text += section("Description") + roff(sentence(summary)) + "\n";
  if (command.path.empty())
    text += ".PP\nEvery command explains itself: \\fBwavetap help\\fR \\fICOMMAND\\fR.\n";
  text += items("Arguments", command.arguments);
  if (!command.commands.empty()) {
    text += section("Commands");
    for (const DescribedCommand& below : command.commands)
      text += fmt::format(".TP\n\\fB{}\\fR(1)\n{}\n", roff(manual_name(below)),
                          roff(sentence(below.summary)));
  }
  text += items("Options", command.options);
  text += examples(command.examples);
  text += exit_status(command);
  return text + see_also(command, program);
}

Status write_manual(const DescribedCommand& program, const std::string& folder) {
  for (const DescribedCommand* command : flatten(program)) {
    const std::string path = folder + "/" + manual_name(*command) + ".1";
    if (Status written = util::write_file(path, manual_page(*command, program)); !written.ok())
      return written;
  }
  return {};
}

}  // namespace wavetap::cli
