// Language models are asked for one JSON object and answer in many ways. What is tried, in this order:
// the whole text as JSON; every fence as JSON; every place where an object begins; fences that hold a
// source file. Whatever is found is judged like any candidate, so a wrong guess costs a build.
#include "optimize/answer_text.h"
#include "util/json.h"

#include <optional>
#include <utility>
#include <vector>

namespace wavetap::optimize {
namespace {

using Json = nlohmann::ordered_json;

// Objects are looked for until this many bytes were read, so that an answer of braces takes no hours.
constexpr size_t kMostRead = 64 << 20;

struct Fence {
  std::string info;    // what follows the opening marks: "json", "cpp transpose.hip"
  std::string before;  // the last line of text above it
  std::string text;
  bool is_closed = false;
};

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

// Reasoning is not the answer.
std::string without_thoughts(std::string text) {
  for (size_t begin = text.find("<think>"); begin != std::string::npos;
       begin = text.find("<think>")) {
    const size_t end = text.find("</think>", begin);
    text.erase(begin, end == std::string::npos ? end : end + 8 - begin);
  }
  return text;
}

// A fence begins with three or more of ` or ~ and ends with as many, each at the start of a line.
std::vector<Fence> fences_of(std::string_view text) {
  std::vector<Fence> fences;
  std::string marks, above;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    const std::string_view bare = trim(line);
    const size_t count = bare.empty() ? 0
                         : bare.find_first_not_of(bare[0]) == std::string_view::npos
                             ? bare.size()
                             : bare.find_first_not_of(bare[0]);
    const bool is_mark = count >= 3 && (bare[0] == '`' || bare[0] == '~');
    if (marks.empty() && is_mark) {
      marks = bare.substr(0, count);
      fences.push_back({std::string(trim(bare.substr(count))), above, "", false});
    } else if (!marks.empty() && is_mark && bare.size() == count && bare[0] == marks[0] &&
               count >= marks.size()) {
      fences.back().is_closed = true;
      marks.clear();
      above.clear();
    } else if (!marks.empty()) {
      fences.back().text.append(line).append("\n");
    } else if (!bare.empty()) {
      above = line;
    }
  }
  return fences;
}

std::optional<Proposed> as_answer(const std::string& text) {
  const Result<Proposed> answer = parse_answer(text, /*is_lenient=*/true);
  if (!answer.ok()) return std::nullopt;
  return *answer;
}

// Where the object that begins at `open` ends; 0 when it does not.
size_t end_of_object(const std::string& text, size_t open) {
  int depth = 0;
  bool in_string = false;
  for (size_t at = open; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      if (c == '\\') ++at;
      else if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      return at + 1;
    }
  }
  return 0;
}

std::optional<Proposed> find_object(const std::string& text) {
  size_t read = 0;
  for (size_t open = text.find('{'); open != std::string::npos && read < kMostRead;
       open = text.find('{', open + 1)) {
    const std::string_view next = trim(std::string_view(text).substr(open + 1, 40));
    if (!next.starts_with('"')) continue;
    const size_t end = end_of_object(text, open);
    read += (end == 0 ? text.size() : end) - open;
    if (end == 0) continue;
    if (auto answer = as_answer(text.substr(open, end - open))) return answer;
  }
  return std::nullopt;
}

// Which file a fence is, by its name in or above it.
std::string file_of(const Fence& fence, const Sources& sources) {
  for (const auto& [name, text] : sources)
    if (fence.info.find(name) != std::string::npos || fence.before.find(name) != std::string::npos)
      return name;
  if (sources.size() == 1 && fence.text.find("__global__") != std::string::npos)
    return sources.begin()->first;
  return "";
}

}  // namespace

Result<Proposed> parse_answer(const std::string& text, bool is_lenient) {
  const Json json = util::read_json(text);
  if (!json.is_object()) return errorf("provider: its answer is not a JSON object");
  try {
    if ((!is_lenient || json.contains("schema")) &&
        json.at("schema").get<std::string>() != kAnswerSchema)
      return errorf("provider: its answer is not of schema %s", kAnswerSchema);
    Proposed proposed;
    proposed.rationale = json.value("rationale", std::string());
    const std::string kind =
        is_lenient ? json.value("kind", std::string("file")) : json.at("kind").get<std::string>();
    if (kind == "declined") {
      proposed.declined = true;
      return proposed;
    }
    if (kind != "file") return errorf("provider: kind is neither file nor declined");
    for (const auto& [name, content] : json.at("files").items())
      proposed.files[name] = content.get<std::string>();
    if (proposed.files.empty()) return errorf("provider: its answer has no files");
    return proposed;
  } catch (const Json::exception&) {
    return errorf("provider: its answer lacks schema, kind or files");
  }
}

Result<Proposed> find_answer(const std::string& raw, const Sources& sources) {
  const std::string text = without_thoughts(raw);
  if (auto answer = as_answer(text)) return *answer;
  const std::vector<Fence> fences = fences_of(text);
  for (const Fence& fence : fences)
    if (auto answer = as_answer(fence.text)) return *answer;
  if (auto answer = find_object(text)) return *answer;
  Proposed proposed;
  for (const Fence& fence : fences) {
    const std::string name = file_of(fence, sources);
    if (name.empty()) continue;
    if (!fence.is_closed)
      return errorf("provider: its answer ends in the middle of %s", name.c_str());
    proposed.files[name] = fence.text;
  }
  if (proposed.files.empty())
    return errorf(
        "provider: its answer holds neither a JSON object with files nor a source file in a fence");
  const size_t words = text.find_first_of("`~");
  proposed.rationale = std::string(trim(std::string_view(text).substr(0, words))).substr(0, 500);
  return proposed;
}

}  // namespace wavetap::optimize
