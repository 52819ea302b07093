// A reader of the line-number program, DWARF 5 section 6.2. Ours rather than a library's: faults
// name source lines inside the user's process, where another DWARF library is a large guest.

#include "codeobj/line_table.h"

#include <algorithm>
#include <cstring>

#include "base/byte_cursor.h"
#include "codeobj/dwarf_cursor.h"
#include "codeobj/dwarf_forms.h"

namespace wavetap::codeobj {
namespace {

using Bytes = std::span<const std::byte>;

// Line-table content types.
constexpr uint64_t kContentPath = 1;
constexpr uint64_t kContentDirectory = 2;

// Standard opcodes.
constexpr uint8_t kExtended = 0;
constexpr uint8_t kCopy = 1;
constexpr uint8_t kAdvancePc = 2;
constexpr uint8_t kAdvanceLine = 3;
constexpr uint8_t kSetFile = 4;
constexpr uint8_t kSetColumn = 5;
constexpr uint8_t kConstAddPc = 8;
constexpr uint8_t kFixedAdvancePc = 9;
constexpr uint8_t kEndSequence = 1;
constexpr uint8_t kSetAddress = 2;

std::string join(std::string_view directory, std::string_view file) {
  if (directory.empty() || file.starts_with("/")) return std::string(file);
  std::string path(directory);
  if (path.back() != '/') path += '/';
  path += file;
  return path;
}

}  // namespace

// One unit of .debug_line.
class LineProgram {
 public:
  LineProgram(LineTable& table, Bytes strings, Bytes line_strings)
      : table_(table), strings_(strings), line_strings_(line_strings) {}

  // Takes the next unit. False when the section cannot be read further.
  bool unit(ByteCursor& section, uint64_t offset);

 private:
  bool header(ByteCursor& cursor);
  bool old_tables(ByteCursor& cursor);
  bool new_tables(ByteCursor& cursor);
  template <class Add>
  bool entries(ByteCursor& cursor, Add add);
  bool field(ByteCursor& cursor, uint64_t form, std::string_view& text, uint64_t& number) const;
  void run(ByteCursor& cursor);
  bool extended(ByteCursor& cursor);
  void emit();
  void end_sequence();
  void reset();

  LineTable& table_;
  Bytes strings_;
  Bytes line_strings_;

  bool is_64_ = false;
  uint16_t version_ = 0;
  uint8_t min_inst_bytes_ = 1;
  int8_t line_base_ = 0;
  uint8_t line_range_ = 1;
  uint8_t opcode_base_ = 1;
  std::vector<uint8_t> opcode_lengths_;
  size_t first_file_ = 0;  // of this unit in table_.files_

  LineTable::Row row_;
  uint64_t file_ = 1;
  size_t sequence_first_ = 0;
};

bool LineProgram::unit(ByteCursor& section, uint64_t offset) {
  const std::optional<UnitLength> length = take_unit_length(section);
  if (!length) return false;
  is_64_ = length->is_64;
  const std::optional<Bytes> body = section.take_bytes(length->bytes);
  if (!body) return false;
  table_.units_.push_back({offset, table_.files_.size()});
  ByteCursor cursor(*body);
  if (header(cursor)) run(cursor);
  return true;
}

bool LineProgram::header(ByteCursor& cursor) {
  const std::optional<uint16_t> version = cursor.take<uint16_t>();
  if (!version || *version < 2 || *version > 5) return false;
  version_ = *version;
  if (version_ >= 5 && !cursor.skip(2)) return false;  // address and segment-selector sizes
  const std::optional<uint64_t> header_bytes = take_offset(cursor, is_64_);
  if (!header_bytes) return false;
  const std::optional<Bytes> header = cursor.take_bytes(*header_bytes);
  if (!header) return false;
  ByteCursor fields(*header);
  const std::optional<uint8_t> min_inst = fields.take<uint8_t>();
  if (version_ >= 4 && !fields.skip(1)) return false;  // operations per instruction: 1
  const bool has_default = fields.skip(1);             // is_stmt does not matter here
  const std::optional<int8_t> base = fields.take<int8_t>();
  const std::optional<uint8_t> range = fields.take<uint8_t>();
  const std::optional<uint8_t> opcodes = fields.take<uint8_t>();
  if (!min_inst || !has_default || !base || !range || *range == 0 || !opcodes || *opcodes == 0)
    return false;
  min_inst_bytes_ = *min_inst;
  line_base_ = *base;
  line_range_ = *range;
  opcode_base_ = *opcodes;
  const std::optional<Bytes> lengths = fields.take_bytes(opcode_base_ - 1u);
  if (!lengths) return false;
  opcode_lengths_.clear();
  for (const std::byte byte : *lengths) opcode_lengths_.push_back(static_cast<uint8_t>(byte));
  first_file_ = table_.files_.size();
  return version_ >= 5 ? new_tables(fields) : old_tables(fields);
}

// Versions 2 to 4: lists ended by an empty string. File and directory numbers begin at 1; directory
// 0 is the compilation directory, which is not here.
bool LineProgram::old_tables(ByteCursor& cursor) {
  std::vector<std::string_view> directories{""};
  while (true) {
    const std::optional<std::string_view> name = take_string(cursor);
    if (!name) return false;
    if (name->empty()) break;
    directories.push_back(*name);
  }
  table_.files_.emplace_back();  // number 0
  while (true) {
    const std::optional<std::string_view> name = take_string(cursor);
    if (!name) return false;
    if (name->empty()) return true;
    const std::optional<uint64_t> directory = take_uleb(cursor);
    if (!take_uleb(cursor) || !take_uleb(cursor) || !directory) return false;
    table_.files_.push_back(
        join(*directory < directories.size() ? directories[*directory] : "", *name));
  }
}

bool LineProgram::field(ByteCursor& cursor, uint64_t form, std::string_view& text,
                        uint64_t& number) const {
  const auto fixed = [&](auto value) {
    if (value) number = *value;
    return value.has_value();
  };
  switch (form) {
    case dwarf::kString: {
      const std::optional<std::string_view> inline_text = take_string(cursor);
      if (inline_text) text = *inline_text;
      return inline_text.has_value();
    }
    case dwarf::kStrp:
    case dwarf::kLineStrp: {
      const std::optional<uint64_t> offset = take_offset(cursor, is_64_);
      if (offset) text = string_at(form == dwarf::kStrp ? strings_ : line_strings_, *offset);
      return offset.has_value();
    }
    case dwarf::kUdata: return fixed(take_uleb(cursor));
    case dwarf::kData1: return fixed(cursor.take<uint8_t>());
    case dwarf::kData2: return fixed(cursor.take<uint16_t>());
    case dwarf::kData4: return fixed(cursor.take<uint32_t>());
    case dwarf::kData8: return fixed(cursor.take<uint64_t>());
    case dwarf::kData16: return cursor.skip(16);
    case dwarf::kBlock: {
      const std::optional<uint64_t> size = take_uleb(cursor);
      return size && cursor.skip(*size);
    }
    default: return false;
  }
}

// A described table of version 5: format pairs, a count, then the entries; add(path, directory
// number).
template <class Add>
bool LineProgram::entries(ByteCursor& cursor, Add add) {
  const std::optional<uint8_t> pair_count = cursor.take<uint8_t>();
  if (!pair_count) return false;
  std::vector<std::pair<uint64_t, uint64_t>> format;
  for (uint8_t i = 0; i < *pair_count; ++i) {
    const std::optional<uint64_t> content = take_uleb(cursor);
    const std::optional<uint64_t> form = take_uleb(cursor);
    if (!content || !form) return false;
    format.emplace_back(*content, *form);
  }
  const std::optional<uint64_t> count = take_uleb(cursor);
  if (!count || *count > cursor.size()) return false;
  for (uint64_t i = 0; i < *count; ++i) {
    std::string_view path;
    uint64_t directory = 0;
    for (const auto& [content, form] : format) {
      std::string_view text;
      uint64_t number = 0;
      if (!field(cursor, form, text, number)) return false;
      if (content == kContentPath) path = text;
      if (content == kContentDirectory) directory = number;
    }
    add(path, directory);
  }
  return true;
}

bool LineProgram::new_tables(ByteCursor& cursor) {
  std::vector<std::string> directories;
  const auto add_directory = [&](std::string_view path, uint64_t) {
    directories.push_back(directories.empty() ? std::string(path) : join(directories[0], path));
  };
  const auto add_file = [&](std::string_view path, uint64_t directory) {
    table_.files_.push_back(
        join(directory < directories.size() ? directories[directory] : "", path));
  };
  return entries(cursor, add_directory) && entries(cursor, add_file);
}

void LineProgram::reset() {
  row_ = {};
  row_.line = 1;
  file_ = 1;
  sequence_first_ = table_.rows_.size();
}

void LineProgram::emit() {
  row_.file = static_cast<uint32_t>(std::min<uint64_t>(first_file_ + file_, UINT32_MAX));
  table_.rows_.push_back(row_);
}

void LineProgram::end_sequence() {
  const size_t count = table_.rows_.size() - sequence_first_;
  if (count > 0) {
    const auto begin = table_.rows_.begin() + static_cast<std::ptrdiff_t>(sequence_first_);
    std::stable_sort(
        begin, table_.rows_.end(),
        [](const LineTable::Row& a, const LineTable::Row& b) { return a.address < b.address; });
    // Address 0 is code the linker discarded.
    if (begin->address != 0 && row_.address > begin->address)
      table_.sequences_.push_back({begin->address, row_.address, sequence_first_, count});
  }
  reset();
}

bool LineProgram::extended(ByteCursor& cursor) {
  const std::optional<uint64_t> length = take_uleb(cursor);
  if (!length || *length == 0) return length.has_value();
  const std::optional<Bytes> body = cursor.take_bytes(*length);
  if (!body) return false;
  ByteCursor operand(*body);
  const std::optional<uint8_t> opcode = operand.take<uint8_t>();
  if (*opcode == kEndSequence) end_sequence();
  if (*opcode == kSetAddress) {
    if (operand.size() >= 8) row_.address = *operand.take<uint64_t>();
    else if (operand.size() >= 4) row_.address = *operand.take<uint32_t>();
  }
  return true;
}

void LineProgram::run(ByteCursor& cursor) {
  reset();
  while (const std::optional<uint8_t> opcode = cursor.take<uint8_t>()) {
    if (*opcode >= opcode_base_) {  // special: advances both and emits
      const unsigned adjusted = *opcode - opcode_base_;
      row_.address += uint64_t{adjusted / line_range_} * min_inst_bytes_;
      row_.line += static_cast<uint32_t>(line_base_ + static_cast<int>(adjusted % line_range_));
      emit();
      continue;
    }
    std::optional<uint64_t> number;
    switch (*opcode) {
      case kExtended:
        if (!extended(cursor)) return;
        break;
      case kCopy: emit(); break;
      case kAdvancePc:
        if (!(number = take_uleb(cursor))) return;
        row_.address += *number * min_inst_bytes_;
        break;
      case kAdvanceLine: {
        const std::optional<int64_t> delta = take_sleb(cursor);
        if (!delta) return;
        row_.line += static_cast<uint32_t>(*delta);
        break;
      }
      case kSetFile:
        if (!(number = take_uleb(cursor))) return;
        file_ = *number;
        break;
      case kSetColumn:
        if (!(number = take_uleb(cursor))) return;
        row_.column = static_cast<uint32_t>(*number);
        break;
      case kConstAddPc:
        row_.address += uint64_t{(255u - opcode_base_) / line_range_} * min_inst_bytes_;
        break;
      case kFixedAdvancePc: {
        const std::optional<uint16_t> delta = cursor.take<uint16_t>();
        if (!delta) return;
        row_.address += *delta;
        break;
      }
      default:  // flags we do not keep, and opcodes of later versions
        for (uint8_t i = 0; i < opcode_lengths_[*opcode - 1u]; ++i)
          if (!take_uleb(cursor)) return;
    }
  }
}

LineTable LineTable::read(const ElfView& elf) {
  LineTable table;
  const Bytes whole = debug_section(elf, ".debug_line");
  ByteCursor section(whole);
  const Bytes strings = debug_section(elf, ".debug_str");
  const Bytes line_strings = debug_section(elf, ".debug_line_str");
  while (!section.empty() &&
         LineProgram(table, strings, line_strings).unit(section, whole.size() - section.size())) {
  }
  std::sort(table.sequences_.begin(), table.sequences_.end(),
            [](const Sequence& a, const Sequence& b) { return a.begin < b.begin; });
  return table;
}

std::string_view LineTable::file(uint64_t unit_offset, uint64_t number) const {
  const auto unit =
      std::lower_bound(units_.begin(), units_.end(), unit_offset,
                       [](const Unit& u, uint64_t wanted) { return u.offset < wanted; });
  if (unit == units_.end() || unit->offset != unit_offset) return {};
  const size_t end = unit + 1 == units_.end() ? files_.size() : (unit + 1)->first_file;
  return number < end - unit->first_file ? std::string_view(files_[unit->first_file + number])
                                         : std::string_view();
}

std::optional<SourceLine> LineTable::find(uint64_t address) const {
  auto sequence =
      std::upper_bound(sequences_.begin(), sequences_.end(), address,
                       [](uint64_t value, const Sequence& s) { return value < s.begin; });
  if (sequence == sequences_.begin()) return std::nullopt;
  --sequence;
  if (address >= sequence->end) return std::nullopt;
  const auto first = rows_.begin() + static_cast<std::ptrdiff_t>(sequence->first_row);
  auto row =
      std::upper_bound(first, first + static_cast<std::ptrdiff_t>(sequence->row_count), address,
                       [](uint64_t value, const Row& r) { return value < r.address; });
  if (row == first) return std::nullopt;
  --row;
  // Line 0 marks code that belongs to no line; the nearest real one before it is more useful.
  while (row->line == 0 && row != first) --row;
  if (row->line == 0 || row->file >= files_.size()) return std::nullopt;
  return SourceLine{files_[row->file], row->line, row->column};
}

}  // namespace wavetap::codeobj
