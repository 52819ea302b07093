#include "cli/host_stack.h"

#include <elf.h>

#include <map>
#include <memory>
#include <optional>

#include "codeobj/elf.h"
#include "store/raw_facts.h"
#include "store/symbolize.h"
#include "util/file.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

// A file with its symbols, loaded at address 0.
struct NamedFile {
  std::vector<store::RawImage> images;
  std::unique_ptr<store::Symbolizer> symbols;
  std::vector<std::byte> bytes;
  std::optional<codeobj::ElfView> elf;

  explicit NamedFile(const std::string& path) {
    Result<std::vector<std::byte>> read = util::read_file(path);
    if (!read.ok()) return;
    bytes = std::move(*read);
    elf = codeobj::ElfView::open(bytes);
    store::RawImage image;
    image.fact.end = UINT64_MAX;
    image.path = path;
    images.push_back(std::move(image));
    symbols = std::make_unique<store::Symbolizer>(images);
  }

  std::optional<uint64_t> address_of(uint64_t offset) const {
    if (!elf) return {};
    for (const codeobj::ElfSegment& segment : elf->segments()) {
      if (segment.type != PT_LOAD) continue;
      const auto begin = static_cast<uint64_t>(segment.bytes.data() - bytes.data());
      if (offset >= begin && offset - begin < segment.bytes.size())
        return segment.address + (offset - begin);
    }
    return {};
  }
};

}  // namespace

std::string name_host_frame(const std::string& place) {
  const size_t plus = place.rfind("+0x");
  if (plus == std::string::npos || place[0] != '/') return "";
  const std::optional<uint64_t> offset = util::parse_unsigned(place.substr(plus + 1));
  static std::map<std::string, std::unique_ptr<NamedFile>> s_files;
  std::unique_ptr<NamedFile>& file = s_files[place.substr(0, plus)];
  if (file == nullptr) file = std::make_unique<NamedFile>(place.substr(0, plus));
  const std::optional<uint64_t> address = offset ? file->address_of(*offset) : std::nullopt;
  return address ? file->symbols->name(*address) : "";
}

}  // namespace wavetap::cli
