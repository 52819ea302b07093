#include "store/symbolize.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "codeobj/code_object.h"
#include "codeobj/elf.h"
#include "codeobj/source_map.h"
#include "util/file.h"

namespace wavetap::store {
namespace {

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

struct Symbolizer::File {
  struct Symbol {
    uint64_t begin = 0;
    uint64_t end = 0;
    std::string_view name;
  };
  std::vector<std::byte> bytes;
  std::vector<Symbol> symbols;  // by begin
  codeobj::SourceMap source;

  const Symbol* find(uint64_t address) const {
    auto next = std::upper_bound(symbols.begin(), symbols.end(), address,
                                 [](uint64_t a, const Symbol& s) { return a < s.begin; });
    // Aliases and nested symbols: the nearest that reaches this far.
    for (int tries = 0; next != symbols.begin() && tries < 8; ++tries) {
      --next;
      if (address < next->end) return &*next;
    }
    return nullptr;
  }
};

Symbolizer::Symbolizer(const std::vector<RawImage>& images) {
  for (const RawImage& image : images) images_.push_back(&image);
  std::stable_sort(images_.begin(), images_.end(), [](const RawImage* a, const RawImage* b) {
    return a->fact.begin < b->fact.begin;
  });
}

Symbolizer::~Symbolizer() = default;

Symbolizer::File* Symbolizer::file(const std::string& path) {
  std::unique_ptr<File>& file = files_[path];
  if (file != nullptr) return file.get();
  file = std::make_unique<File>();
  Result<std::vector<std::byte>> bytes = util::read_file(path);
  if (!bytes.ok()) return file.get();
  file->bytes = std::move(*bytes);
  const std::optional<codeobj::ElfView> elf = codeobj::ElfView::open(file->bytes);
  if (!elf) return file.get();
  for (const codeobj::ElfSymbol& symbol : elf->symbols())
    if (symbol.type == STT_FUNC && symbol.value != 0 && !symbol.name.empty())
      file->symbols.push_back(
          {symbol.value, symbol.value + std::max<uint64_t>(symbol.size_bytes, 1), symbol.name});
  std::stable_sort(file->symbols.begin(), file->symbols.end(),
                   [](const File::Symbol& a, const File::Symbol& b) { return a.begin < b.begin; });
  file->source = codeobj::SourceMap(*elf);
  return file.get();
}

const std::string& Symbolizer::name(uint64_t address) {
  std::string& name = names_[address];
  if (!name.empty()) return name;
  const uint64_t call = address == 0 ? 0 : address - 1;
  auto next = std::upper_bound(images_.begin(), images_.end(), call,
                               [](uint64_t a, const RawImage* i) { return a < i->fact.begin; });
  const RawImage* image = nullptr;
  while (next != images_.begin() && image == nullptr)
    if (call < (*--next)->fact.end) image = *next;
  if (image == nullptr) return name = fmt::format("{:#x}", address);

  const uint64_t own = call - image->fact.file_offset_delta;
  const File* elf = file(image->path);
  const File::Symbol* symbol = elf->find(own);
  // Not the header of a template around the call, which is inlined.
  const std::optional<codeobj::SourceFrame> line = elf->source.user_line(own);
  if (symbol == nullptr) return name = fmt::format("{:#x} ({})", own + 1, base_name(image->path));
  const std::string function = codeobj::demangle(symbol->name);
  if (line) return name = fmt::format("{} at {}:{}", function, base_name(line->file), line->line);
  return name = fmt::format("{}+{:#x} ({})", function, own + 1 - symbol->begin,
                            base_name(image->path));
}

}  // namespace wavetap::store
