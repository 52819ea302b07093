#include "analysis/kernel_name.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <unordered_map>

namespace wavetap::analysis {
namespace {

// Template arguments within template arguments beyond this are told apart as plain text.
constexpr int kDeepest = 6;

std::string demangled(std::string_view name) {
  if (!name.starts_with("_Z")) return std::string(name);
  // ".kd" and clone suffixes are not part of it.
  const std::string copy(name.substr(0, name.find('.')));
  int status = 0;
  char* text = abi::__cxa_demangle(copy.c_str(), nullptr, nullptr, &status);
  if (status != 0 || text == nullptr) return std::string(name);
  std::string out = text;
  std::free(text);
  return out;
}

void drop_all(std::string& text, std::string_view part) {
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at))
    text.erase(at, part.size());
}

// A name in pieces: plain, arguments, plain, arguments, …, plain, and what follows the name.
struct Pieces {
  std::vector<std::string> plain = {""};  // outside of template arguments
  std::vector<std::string> arguments;     // without the brackets
  std::string parameters;                 // from '(' on, "" when there are none

  // What stands outside of arguments and says which name it is; equal for instances of a template.
  std::string short_text() const {
    std::string out = plain[0];
    for (size_t i = 1; i < plain.size(); ++i) out += "<…>" + plain[i];
    return out;
  }
};

bool ends_with_operator(const Pieces& pieces) { return pieces.plain.back().ends_with("operator"); }

// The first '(' at the outside begins the parameters, unless it is the call operator's own.
Pieces take_apart(std::string_view text) {
  Pieces out;
  int angle = 0;
  // Parentheses open within template arguments: a '>' there compares, it does not close.
  int inside = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (angle > 0) {
      if (c == '(' || c == ')') inside += c == '(' ? 1 : -1;
      if (c == '<' && inside == 0 && text.compare(i, 2, "<=") != 0) ++angle;
      if (c == '>' && inside == 0 && text[i - 1] != '-' && --angle == 0) out.plain.emplace_back();
      else out.arguments.back().push_back(c);
    } else if (c == '<' && !ends_with_operator(out) && text.compare(i, 2, "<=") != 0) {
      angle = 1;
      out.arguments.emplace_back();
    } else if (c == '(' && ends_with_operator(out) && text.compare(i, 2, "()") == 0) {
      out.plain.back() += "()";
      ++i;
    } else if (c == '(') {
      out.parameters = text.substr(i);
      break;
    } else {
      out.plain.back().push_back(c);
    }
  }
  if (angle > 0) out.plain.emplace_back();  // never closed
  return out;
}

// What precedes the last outside space of a function is the return type: "void ",
// "std::enable_if<…>::type ". Other names keep their spaces.
void drop_return_type(Pieces& pieces) {
  if (pieces.parameters.empty() && !pieces.plain[0].starts_with("void ")) return;
  for (const std::string& part : pieces.plain)
    if (part.find("operator ") != std::string::npos) return;
  for (size_t i = pieces.plain.size(); i-- > 0;) {
    const size_t space = pieces.plain[i].rfind(' ');
    if (space == std::string::npos) continue;
    if (i + 1 == pieces.plain.size() && space + 1 == pieces.plain[i].size()) return;
    pieces.plain[i].erase(0, space + 1);
    pieces.plain.erase(pieces.plain.begin(), pieces.plain.begin() + static_cast<ptrdiff_t>(i));
    pieces.arguments.erase(pieces.arguments.begin(),
                           pieces.arguments.begin() + static_cast<ptrdiff_t>(i));
    return;
  }
}

Pieces pieces_of_kernel(std::string_view name) {
  std::string text = demangled(name);
  drop_all(text, "(anonymous namespace)::");
  Pieces pieces = take_apart(text);
  drop_return_type(pieces);
  while (pieces.plain.back().ends_with(' ')) pieces.plain.back().pop_back();
  if (pieces.short_text().empty()) pieces.plain = {std::string(name)};
  return pieces;
}

// Arguments at commas of their own level.
std::vector<std::string_view> split_arguments(std::string_view text) {
  std::vector<std::string_view> out;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (c == '<' || c == '(' || c == '[' || c == '{') ++depth;
    if (c == '>' || c == ')' || c == ']' || c == '}') --depth;
    if (c != ',' || (depth > 0 && i < text.size())) continue;
    out.push_back(text.substr(begin, i - begin));
    begin = i + 1;
    while (begin < text.size() && text[begin] == ' ') ++begin;
  }
  return out;
}

std::vector<std::string> tell_apart(const std::vector<Pieces>& group, int depth);

// Labels of argument texts at one place of several lists: "…" when all are equal.
std::vector<std::string> argument_labels(const std::vector<std::string_view>& texts, int depth) {
  if (std::all_of(texts.begin(), texts.end(), [&](auto text) { return text == texts[0]; }))
    return std::vector<std::string>(texts.size(), "…");
  std::vector<std::string> out(texts.begin(), texts.end());
  if (depth >= kDeepest) return out;
  // Texts that differ at the outside need no more; the rest is told apart within.
  std::map<std::string, std::vector<size_t>> by_short;
  std::vector<Pieces> pieces;
  for (size_t i = 0; i < texts.size(); ++i) {
    pieces.push_back(take_apart(texts[i]));
    by_short[pieces[i].short_text() + pieces[i].parameters].push_back(i);
  }
  for (const auto& [text, members] : by_short) {
    std::vector<Pieces> group;
    for (const size_t i : members) group.push_back(pieces[i]);
    const std::vector<std::string> labels = tell_apart(group, depth + 1);
    for (size_t m = 0; m < members.size(); ++m) out[members[m]] = labels[m] + group[m].parameters;
  }
  return out;
}

// Several argument lists at one place of a name, with as much of each as tells it from the others.
std::vector<std::string> list_labels(const std::vector<std::string_view>& lists, int depth) {
  std::vector<std::vector<std::string_view>> split;
  for (const std::string_view list : lists) split.push_back(split_arguments(list));
  const size_t count = split[0].size();
  if (!std::all_of(split.begin(), split.end(), [&](const auto& s) { return s.size() == count; }))
    return std::vector<std::string>(lists.begin(), lists.end());
  std::vector<std::string> out(lists.size());
  std::vector<bool> left_out(lists.size(), false);
  for (size_t at = 0; at < count; ++at) {
    std::vector<std::string_view> texts;
    for (const auto& arguments : split) texts.push_back(arguments[at]);
    const std::vector<std::string> labels = argument_labels(texts, depth);
    for (size_t i = 0; i < out.size(); ++i) {
      // One … for a run of arguments that are all the same.
      if (labels[i] == "…" && left_out[i]) continue;
      left_out[i] = labels[i] == "…";
      out[i] += (out[i].empty() ? "" : ", ") + labels[i];
    }
  }
  return out;
}

// Labels of names that are equal outside of their arguments.
std::vector<std::string> tell_apart(const std::vector<Pieces>& group, int depth) {
  std::vector<std::string> out;
  size_t lists_of_all = group[0].arguments.size();
  for (const Pieces& pieces : group) {
    out.push_back(pieces.plain[0]);
    lists_of_all = std::min(lists_of_all, pieces.arguments.size());
  }
  for (size_t at = 0; at < lists_of_all; ++at) {
    std::vector<std::string_view> lists;
    for (const Pieces& pieces : group) lists.push_back(pieces.arguments[at]);
    const bool equal =
        std::all_of(lists.begin(), lists.end(), [&](auto list) { return list == lists[0]; });
    const std::vector<std::string> labels =
        equal ? std::vector<std::string>(lists.size(), "…") : list_labels(lists, depth);
    for (size_t i = 0; i < out.size(); ++i)
      out[i] += "<" + labels[i] + ">" + group[i].plain[at + 1];
  }
  return out;
}

// Replaces what is not unique in `labels` by a longer text of the same name.
template <class Longer>
void lengthen_duplicates(std::vector<std::string>& labels, Longer&& longer) {
  std::unordered_map<std::string, size_t> count;
  for (const std::string& label : labels) ++count[label];
  for (size_t i = 0; i < labels.size(); ++i)
    if (count[labels[i]] > 1) labels[i] = longer(i);
}

}  // namespace

std::string short_kernel_name(std::string_view name) { return pieces_of_kernel(name).short_text(); }

std::vector<std::string> kernel_labels(std::span<const std::string_view> names) {
  const std::set<std::string_view> sorted(names.begin(), names.end());
  const std::vector<std::string_view> distinct(sorted.begin(), sorted.end());
  std::vector<Pieces> pieces;
  std::map<std::string, std::vector<size_t>> by_short;
  for (size_t i = 0; i < distinct.size(); ++i) {
    pieces.push_back(pieces_of_kernel(distinct[i]));
    by_short[pieces[i].short_text()].push_back(i);
  }
  std::vector<std::string> labels(distinct.size());
  for (const auto& [text, members] : by_short) {
    std::vector<Pieces> group;
    for (const size_t i : members) group.push_back(pieces[i]);
    const std::vector<std::string> told = tell_apart(group, 0);
    for (size_t m = 0; m < members.size(); ++m) labels[members[m]] = told[m];
  }
  lengthen_duplicates(labels, [&](size_t i) { return labels[i] + pieces[i].parameters; });
  lengthen_duplicates(labels, [&](size_t i) { return std::string(distinct[i]); });

  std::unordered_map<std::string_view, size_t> number;
  for (size_t i = 0; i < distinct.size(); ++i) number.emplace(distinct[i], i);
  std::vector<std::string> out;
  out.reserve(names.size());
  for (const std::string_view name : names) out.push_back(labels[number.at(name)]);
  return out;
}

}  // namespace wavetap::analysis
