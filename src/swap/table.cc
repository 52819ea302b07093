#include "swap/table.h"

#include <algorithm>
#include <charconv>

#include "codeobj/code_object.h"

namespace wavetap::swap {
namespace {

constexpr std::string_view kTableFirstLine = "wavetap-swap 1";

// Kernels that ROCm's runtime launches on its own account are never meant.
constexpr std::string_view kRuntimePrefix = "__amd_rocclr_";

std::string_view take_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end);
  return word;
}

template <class Number>
bool take_number(std::string_view& line, Number& value) {
  const std::string_view word = take_word(line);
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc() && end == word.data() + word.size() && !word.empty();
}

bool parse_line(std::string_view line, Candidate& to) {
  const std::string_view how = take_word(line);
  to.is_exact = how == "exact";
  if (!to.is_exact && how != "named") return false;
  to.pattern = unescape_word(take_word(line));
  to.kernel = unescape_word(take_word(line));
  to.target_id = unescape_word(take_word(line));
  uint32_t allowed = 0;
  const bool good = take_number(line, to.offset) && take_number(line, to.bytes) &&
                    take_number(line, to.original_hash) && take_number(line, allowed) &&
                    take_number(line, to.file_time_ns) && take_number(line, to.file_bytes);
  to.allowed = static_cast<uint8_t>(allowed);
  to.path = unescape_word(take_word(line));
  return good && !to.path.empty() && !to.kernel.empty() && line.empty();
}

}  // namespace

Table::Table(std::vector<Candidate> candidates, TableSettings settings)
    : candidates_(std::move(candidates)), settings_(settings) {
  for (uint32_t i = 0; i < candidates_.size(); ++i)
    (candidates_[i].is_exact ? exact_ : named_).push_back(i);
  std::stable_sort(exact_.begin(), exact_.end(), [&](uint32_t a, uint32_t b) {
    return candidates_[a].pattern < candidates_[b].pattern;
  });
}

Result<Table> Table::parse(std::string_view text) {
  std::vector<Candidate> candidates;
  TableSettings settings;
  for (size_t number = 0; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos)
      return errorf("line %zu is cut short; start the program again", number + 1);
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (number == 0) {
      if (!line.starts_with(kTableFirstLine))
        return errorf("not a list of replacements of this version; start the program again");
      line.remove_prefix(kTableFirstLine.size());
      while (!line.empty()) {
        const std::string_view word = take_word(line);
        settings.watch |= word == "watch";
        settings.turns |= word == "turns";
      }
      continue;
    }
    if (!parse_line(line, candidates.emplace_back()))
      return errorf("line %zu is not a replacement; start the program again", number + 1);
  }
  return Table(std::move(candidates), settings);
}

std::string Table::text() const {
  std::string text(kTableFirstLine);
  text += settings_.watch ? " watch" : "";
  text += settings_.turns ? " turns\n" : "\n";
  for (const Candidate& one : candidates_) {
    text += one.is_exact ? "exact " : "named ";
    for (const std::string* word : {&one.pattern, &one.kernel, &one.target_id})
      text += escape_word(*word) + ' ';
    for (const uint64_t number : {one.offset, one.bytes, one.original_hash, uint64_t{one.allowed}})
      text += std::to_string(number) + ' ';
    text += std::to_string(one.file_time_ns) + ' ' + std::to_string(one.file_bytes) + ' ' +
            escape_word(one.path) + '\n';
  }
  return text;
}

std::vector<const Candidate*> Table::find(std::string_view symbol) const {
  std::vector<const Candidate*> found;
  if (symbol.starts_with(kRuntimePrefix)) return found;
  const auto less = [&](uint32_t index, std::string_view name) {
    return std::string_view(candidates_[index].pattern) < name;
  };
  for (auto at = std::lower_bound(exact_.begin(), exact_.end(), symbol, less);
       at != exact_.end() && candidates_[*at].pattern == symbol; ++at)
    found.push_back(&candidates_[*at]);
  for (const uint32_t index : named_)
    if (matches_kernel(candidates_[index].pattern, symbol)) found.push_back(&candidates_[index]);
  // They are all of one array.
  std::sort(found.begin(), found.end());
  return found;
}

// Text up to a star must match at once; behind it, wherever it does first. One star back is enough:
// what an earlier one could take, the last one can as well.
bool matches(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0;
  size_t star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool matches_kernel(std::string_view pattern, std::string_view symbol) {
  return matches(pattern, symbol) || matches(pattern, codeobj::demangle(symbol)) ||
         matches(pattern, codeobj::short_name(symbol));
}

std::string escape_word(std::string_view text) {
  if (text.empty()) return "%";
  constexpr char kDigits[] = "0123456789abcdef";
  std::string word;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 0x20 && byte != 0x7f && c != '%') {
      word += c;
    } else {
      word += '%';
      word += kDigits[byte >> 4];
      word += kDigits[byte & 15];
    }
  }
  return word;
}

std::string unescape_word(std::string_view word) {
  std::string text;
  for (size_t i = 0; i < word.size(); ++i) {
    unsigned value = 0;
    if (word[i] != '%') {
      text += word[i];
    } else if (i + 2 < word.size() &&
               std::from_chars(&word[i + 1], &word[i + 1] + 2, value, 16).ec == std::errc()) {
      text += static_cast<char>(value);
      i += 2;
    }
  }
  return text;
}

}  // namespace wavetap::swap
