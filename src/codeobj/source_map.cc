#include "codeobj/source_map.h"

#include <elf.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "base/json_line.h"
#include "codeobj/code_object.h"
#include "codeobj/debug_info.h"

namespace wavetap::codeobj {

// Walks the entries of .debug_info and keeps the code of functions and inlined calls.
class ScopeReader {
 public:
  ScopeReader(const ElfView& elf, SourceMap& map) : info_(elf), map_(map) {}

  void read() {
    for (const DebugUnit& unit : info_.units()) read_unit(unit);
    make_stretches();
  }

 private:
  struct Range {
    uint64_t begin = 0;
    uint64_t end = 0;
    int32_t scope = -1;
  };

  void read_unit(const DebugUnit& unit);
  int32_t add(const DebugUnit& unit, const DebugEntry& entry, int32_t outer);
  uint32_t name_of(const DebugEntry& entry);
  void make_stretches();

  DebugInfo info_;
  SourceMap& map_;
  std::map<uint64_t, uint32_t> known_names_;  // by the origin's offset
  std::vector<Range> ranges_;
};

void ScopeReader::read_unit(const DebugUnit& unit) {
  std::vector<int32_t> around;  // the scope that each open entry belongs to
  uint64_t offset = unit.first_entry;
  DebugEntry entry;
  while (info_.next(unit, offset, entry)) {
    if (entry.tag == DebugTag::kEndOfChildren) {
      if (around.empty()) return;
      around.pop_back();
      if (around.empty()) return;
      continue;
    }
    int32_t scope = around.empty() ? -1 : around.back();
    if (entry.tag == DebugTag::kSubprogram) scope = add(unit, entry, -1);
    if (entry.tag == DebugTag::kInlined) scope = add(unit, entry, scope);
    if (entry.has_children) around.push_back(scope);
    else if (around.empty()) return;
  }
}

int32_t ScopeReader::add(const DebugUnit& unit, const DebugEntry& entry, int32_t outer) {
  const std::vector<AddressRange> ranges = info_.ranges_of(unit, entry);
  if (ranges.empty()) return outer;  // a declaration, or a call of which no code is left
  const auto number = static_cast<int32_t>(map_.scopes_.size());
  SourceMap::Scope& scope = map_.scopes_.emplace_back();
  scope.name = name_of(entry);
  scope.outer = outer;
  if (outer >= 0) {
    scope.depth = map_.scopes_[static_cast<size_t>(outer)].depth + 1;
    if (unit.lines) scope.file = map_.lines_.file(*unit.lines, entry.call_file);
    scope.line = static_cast<uint32_t>(std::min<uint64_t>(entry.call_line, UINT32_MAX));
    scope.column = static_cast<uint32_t>(std::min<uint64_t>(entry.call_column, UINT32_MAX));
  }
  for (const AddressRange& range : ranges)
    // Address 0 is code the linker discarded.
    if (range.begin != 0 && range.begin < range.end)
      ranges_.push_back({range.begin, range.end, number});
  return number;
}

uint32_t ScopeReader::name_of(const DebugEntry& entry) {
  const auto [known, is_new] =
      known_names_.try_emplace(entry.origin.value_or(entry.offset), map_.names_.size());
  if (is_new) {
    const std::string_view name = info_.name_of(entry);
    map_.names_.push_back(name.empty() ? std::string() : short_name(name));
  }
  return known->second;
}

// Inner scopes are laid over outer ones.
void ScopeReader::make_stretches() {
  std::stable_sort(ranges_.begin(), ranges_.end(), [&](const Range& a, const Range& b) {
    return map_.scopes_[static_cast<size_t>(a.scope)].depth <
           map_.scopes_[static_cast<size_t>(b.scope)].depth;
  });
  std::map<uint64_t, int32_t> laid;  // begin: scope
  for (const Range& range : ranges_) {
    auto behind = laid.upper_bound(range.end);
    const int32_t before_end = behind == laid.begin() ? -1 : std::prev(behind)->second;
    const auto end = laid.try_emplace(range.end, before_end).first;
    laid.erase(laid.lower_bound(range.begin), end);
    laid[range.begin] = range.scope;
  }
  for (const auto& [begin, scope] : laid) map_.stretches_.push_back({begin, scope});
}

SourceMap::SourceMap(const ElfView& elf) : lines_(LineTable::read(elf)) {
  if (lines_.empty()) return;
  ScopeReader(elf, *this).read();
  for (const ElfSymbol& symbol : elf.symbols())
    if (symbol.type == STT_FUNC && symbol.section != 0)
      functions_.push_back(
          {symbol.value, symbol.value + symbol.size_bytes, std::string(symbol.name)});
  std::sort(functions_.begin(), functions_.end(),
            [](const Function& a, const Function& b) { return a.begin < b.begin; });
}

std::string SourceMap::function_at(uint64_t address) const {
  const auto after =
      std::upper_bound(functions_.begin(), functions_.end(), address,
                       [](uint64_t value, const Function& f) { return value < f.begin; });
  if (after == functions_.begin() || address >= std::prev(after)->end) return "";
  return short_name(std::prev(after)->name);
}

std::vector<SourceFrame> SourceMap::frames(uint64_t address) const {
  const std::optional<SourceLine> line = lines_.find(address);
  if (!line || line->line == 0) return {};
  const auto after =
      std::upper_bound(stretches_.begin(), stretches_.end(), address,
                       [](uint64_t value, const Stretch& s) { return value < s.begin; });
  int32_t number = after == stretches_.begin() ? -1 : std::prev(after)->scope;
  if (number < 0) return {{function_at(address), line->file, line->line, line->column}};
  std::vector<SourceFrame> frames;
  SourceFrame frame{"", line->file, line->line, line->column};
  while (number >= 0) {
    const Scope& scope = scopes_[static_cast<size_t>(number)];
    frame.function = names_[scope.name];
    frames.push_back(std::move(frame));
    frame = {"", scope.file, scope.line, scope.column};
    number = scope.outer;
  }
  return frames;
}

std::optional<SourceFrame> SourceMap::user_line(uint64_t address) const {
  std::vector<SourceFrame> known = frames(address);
  if (known.empty()) return std::nullopt;
  return std::move(known[users_frame(known)]);
}

size_t users_frame(std::span<const SourceFrame> frames) {
  // Where compilers, ROCm and the system keep their headers. A package of ROCm may be anywhere; the
  // folders of its headers have these names.
  constexpr std::string_view kRoots[] = {"/usr/include/", "/usr/lib/", "/opt/rocm"};
  constexpr std::string_view kFolders[] = {"/lib/clang/",      "/include/hip/",
                                           "/include/c++/",    "/include/rocprim/",
                                           "/include/hipcub/", "/include/thrust/"};
  constexpr std::string_view kHiprtcHeader = "/hiprtc_runtime.h";  // unpacked anew for each program
  const auto is_foreign = [&](const SourceFrame& frame) {
    const std::string_view file = frame.file;
    return file.empty() || file.ends_with(kHiprtcHeader) ||
           std::any_of(std::begin(kRoots), std::end(kRoots),
                       [&](std::string_view root) { return file.starts_with(root); }) ||
           std::any_of(std::begin(kFolders), std::end(kFolders), [&](std::string_view folder) {
             return file.find(folder) != std::string_view::npos;
           });
  };
  for (size_t i = 0; i < frames.size(); ++i)
    if (!is_foreign(frames[i])) return i;
  return 0;
}

std::string full_place(const SourceFrame& frame) {
  return frame.file + ":" + std::to_string(frame.line);
}

void append_source(std::string& line, std::span<const SourceFrame> frames) {
  if (frames.empty()) return;
  append_text(line, "source", full_place(frames[users_frame(frames)]));
  if (frames.size() == 1) return;
  line += "\"frames\":[";
  for (const SourceFrame& frame : frames) {
    line += '{';
    append_text(line, "function", frame.function);
    append_text(line, "source", full_place(frame));
    finish_object(line);
    line += ',';
  }
  line.back() = ']';
  line += ',';
}

}  // namespace wavetap::codeobj
