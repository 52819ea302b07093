#include "swap/index_cache.h"

#include <charconv>
#include <cstdio>
#include <optional>

#include "base/sys_files.h"
#include "swap/table.h"

namespace wavetap::swap {
namespace {

// Raised whenever the lines below or what they mean change.
constexpr std::string_view kIndexFirstLine = "wavetap-swap-index 2\n";

uint64_t checksum(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

class Line {
 public:
  explicit Line(std::string& to) : to_(to) {}
  ~Line() { to_ += '\n'; }
  Line& word(std::string_view text) {
    to_ += escape_word(text) + ' ';
    return *this;
  }
  Line& number(uint64_t value) { return digits(value); }
  Line& signed_number(int64_t value) { return digits(value); }

 private:
  template <class Number>
  Line& digits(Number value) {
    char text[24];
    to_.append(text, std::to_chars(text, text + sizeof text, value).ptr);
    to_ += ' ';
    return *this;
  }

  std::string& to_;
};

class Words {
 public:
  explicit Words(std::string_view line) : line_(line) {}
  std::string_view raw() {
    const size_t end = std::min(line_.find(' '), line_.size());
    const std::string_view word = line_.substr(0, end);
    line_.remove_prefix(std::min(end + 1, line_.size()));
    return word;
  }
  std::string word() { return unescape_word(raw()); }
  template <class Number = uint64_t>
  Number number() {
    const std::string_view word = raw();
    Number value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size()) bad_ = true;
    return value;
  }
  bool is_bad() const { return bad_; }

 private:
  std::string_view line_;
  bool bad_ = false;
};

void write_kernel(const KernelInfo& kernel, std::string& text) {
  Line line(text);
  line.word("K").word(kernel.name).word(kernel.target_id).number(kernel.has_metadata);
  line.number(kernel.kernarg_bytes).number(kernel.kernarg_align).number(kernel.lds_bytes);
  line.number(kernel.scratch_bytes)
      .number(kernel.wave_size)
      .number(kernel.sgprs)
      .number(kernel.vgprs);
  line.number(kernel.max_workgroup);
  for (const uint32_t size : kernel.required_workgroup) line.number(size);
  line.number(kernel.uses_dynamic_stack).number(kernel.hash).number(kernel.arguments.size());
  for (const Argument& argument : kernel.arguments)
    line.word(argument.kind).number(argument.offset).number(argument.bytes);
  for (const std::vector<std::string>* names : {&kernel.variables, &kernel.object_variables}) {
    line.number(names->size());
    for (const std::string& name : *names) line.word(name);
  }
}

std::optional<KernelInfo> read_kernel(Words& words) {
  KernelInfo kernel;
  kernel.name = words.word();
  kernel.target_id = words.word();
  const std::optional<amd::GfxTarget> target = amd::parse_gfx_target(kernel.target_id);
  if (!target) return std::nullopt;
  kernel.target = *target;
  kernel.has_metadata = words.number() != 0;
  kernel.kernarg_bytes = words.number();
  kernel.kernarg_align = words.number();
  kernel.lds_bytes = words.number<uint32_t>();
  kernel.scratch_bytes = words.number<uint32_t>();
  kernel.wave_size = words.number<uint32_t>();
  kernel.sgprs = words.number<uint32_t>();
  kernel.vgprs = words.number<uint32_t>();
  kernel.max_workgroup = words.number<uint32_t>();
  for (uint32_t& size : kernel.required_workgroup) size = words.number<uint32_t>();
  kernel.uses_dynamic_stack = words.number() != 0;
  kernel.hash = words.number();
  for (uint64_t left = words.number(); left > 0 && !words.is_bad(); --left) {
    Argument& argument = kernel.arguments.emplace_back();
    argument.kind = words.word();
    argument.offset = words.number();
    argument.bytes = words.number();
  }
  for (std::vector<std::string>* names : {&kernel.variables, &kernel.object_variables}) {
    for (uint64_t left = words.number(); left > 0 && !words.is_bad(); --left) {
      names->push_back(words.word());
      if (names->back().empty()) return std::nullopt;
    }
  }
  if (words.is_bad()) return std::nullopt;
  return kernel;
}

bool read_line(std::string_view line, std::vector<IndexedFile>& files) {
  Words words(line);
  const std::string_view kind = words.raw();
  if (kind == "F") {
    IndexedFile& file = files.emplace_back();
    file.path = words.word();
    file.time_ns = words.number<int64_t>();
    file.bytes = words.number();
    return !words.is_bad();
  }
  if (files.empty()) return false;
  IndexedFile& file = files.back();
  if (kind == "P") {
    file.problems.push_back(words.word());
    return true;
  }
  if (kind == "O") {
    IndexedObject& object = file.objects.emplace_back();
    object.offset = words.number();
    object.bytes = words.number();
    object.number = words.number<uint32_t>();
    object.is_compressed = words.number() != 0;
    return !words.is_bad();
  }
  if (file.objects.empty()) return false;
  if (kind == "V") {
    Variable& variable = file.objects.back().variables.emplace_back();
    variable.name = words.word();
    variable.bytes = words.number();
    return !words.is_bad() && !variable.name.empty();
  }
  if (kind != "K") return false;
  std::optional<KernelInfo> kernel = read_kernel(words);
  if (!kernel) return false;
  file.objects.back().kernels.push_back(std::move(*kernel));
  return true;
}

}  // namespace

std::string write_cache(const std::vector<IndexedFile>& files) {
  std::string text(kIndexFirstLine);
  for (const IndexedFile& file : files) {
    Line(text)
        .word("F")
        .word(file.path)
        .signed_number(file.time_ns)  // files may be older than 1970
        .number(file.bytes);
    for (const std::string& problem : file.problems) Line(text).word("P").word(problem);
    for (const IndexedObject& object : file.objects) {
      Line(text)
          .word("O")
          .number(object.offset)
          .number(object.bytes)
          .number(object.number)
          .number(object.is_compressed);
      for (const Variable& variable : object.variables)
        Line(text).word("V").word(variable.name).number(variable.bytes);
      for (const KernelInfo& kernel : object.kernels) write_kernel(kernel, text);
    }
  }
  const uint64_t sum = checksum(text);
  Line(text).word("E").number(sum);
  return text;
}

std::vector<IndexedFile> read_cache(std::string_view text) {
  if (!text.starts_with(kIndexFirstLine) || !text.ends_with('\n')) return {};
  const size_t last = text.rfind('\n', text.size() - 2) + 1;
  Words end(text.substr(last, text.size() - last - 1));
  if (end.raw() != "E" || end.number() != checksum(text.substr(0, last)) || end.is_bad()) return {};
  std::vector<IndexedFile> files;
  std::string_view rest = text.substr(kIndexFirstLine.size(), last - kIndexFirstLine.size());
  while (!rest.empty()) {
    const size_t line = rest.find('\n');
    if (line == std::string_view::npos || !read_line(rest.substr(0, line), files)) return {};
    rest.remove_prefix(line + 1);
  }
  return files;
}

void save_cache(const std::string& path, const std::vector<IndexedFile>& files) {
  const std::string fresh = path + "." + std::to_string(sys::pid());
  if (sys::write_file(fresh, write_cache(files)) != 0 ||
      std::rename(fresh.c_str(), path.c_str()) != 0)
    std::remove(fresh.c_str());
}

}  // namespace wavetap::swap
