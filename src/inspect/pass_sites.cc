#include "inspect/pass_sites.h"

#include <fmt/format.h>

#include <set>
#include <string_view>

#include "codeobj/elf.h"

namespace wavetap::inspect {
namespace {

using format::Site;
using format::SiteAccess;
using format::SiteKind;
using format::SiteSpace;

// "load_i32", "lds_store_float": one word, as a mnemonic is.
std::string mnemonic_of(const Site& site) {
  switch (site.kind) {
    case SiteKind::kBlock: return "block";
    case SiteKind::kBarrier: return "barrier";
    case SiteKind::kMessage: return "message";
    case SiteKind::kMemory: break;
  }
  constexpr const char* kSpaces[] = {"global_", "lds_", "scratch_", "flat_"};
  constexpr const char* kAccesses[] = {"load_", "store_", "atomic_", "atomic_"};
  return std::string(kSpaces[static_cast<size_t>(site.space)]) +
         kAccesses[static_cast<size_t>(site.access)] + site.type;
}

uint8_t category_of(const Site& site) {
  switch (site.kind) {
    case SiteKind::kBlock: return WAVETAP_OTHER;
    case SiteKind::kBarrier: return WAVETAP_BARRIER;
    case SiteKind::kMessage: return WAVETAP_MESSAGE;
    case SiteKind::kMemory: break;
  }
  if (site.space == SiteSpace::kLds) return WAVETAP_LDS_OP;
  switch (site.access) {
    case SiteAccess::kLoad: return WAVETAP_VMEM_LOAD;
    case SiteAccess::kStore: return WAVETAP_VMEM_STORE;
    default: return WAVETAP_VMEM_ATOMIC;
  }
}

const char* for_ever(const std::string& text) {
  static std::set<std::string> texts;
  return texts.insert(text).first->c_str();
}

std::vector<wavetap_site> make_sites(const format::SiteKernel& kernel) {
  std::vector<wavetap_site> sites(kernel.sites.size());
  auto end = static_cast<uint32_t>(sites.size());
  for (size_t i = sites.size(); i-- > 0;) {
    const Site& from = kernel.sites[i];
    wavetap_site& site = sites[i];
    site.offset = static_cast<uint32_t>(i);
    site.block = from.block;
    site.block_end = end;
    site.target = UINT32_MAX;
    site.mnemonic = for_ever(mnemonic_of(from));
    site.category = category_of(from);
    if (from.kind == SiteKind::kBlock) end = static_cast<uint32_t>(i);
  }
  return sites;
}

}  // namespace

Result<std::map<std::string, format::SiteKernel>> read_sites(std::span<const std::byte> image) {
  const auto elf = codeobj::ElfView::open(image);
  const codeobj::ElfSection* const section = elf ? elf->section(format::kSiteSection) : nullptr;
  if (section == nullptr) return errorf("it has no site table; compile it with wavetap-hipcc");
  return format::read_site_tables(
      {reinterpret_cast<const char*>(section->bytes.data()), section->bytes.size()});
}

std::unique_ptr<probe::Code> make_site_code(const format::SiteKernel& kernel,
                                            amd::GfxTarget target) {
  auto code = std::make_unique<probe::Code>();
  code->sites = make_sites(kernel);
  code->target = amd::to_string(target);
  code->described.size = sizeof code->described;
  code->described.site_count = static_cast<uint32_t>(code->sites.size());
  code->described.sites = code->sites.data();
  code->described.target = code->target.c_str();
  code->described.wave_size = kernel.wave_size;
  return code;
}

namespace {

enum class Direction : uint8_t { kNone, kLoad, kStore, kAtomic };

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_buffer_access(const wavetap_site& site) {
  return std::string_view(site.mnemonic).starts_with("buffer_");
}

// What an instruction does to memory that is not scratch. `has_scratch`: accesses through buffers may be scratch.
Direction direction_of(const wavetap_site& site, bool has_scratch) {
  const std::string_view name = site.mnemonic;
  if ((has_scratch && is_buffer_access(site)) || name.starts_with("scratch_"))
    return Direction::kNone;
  switch (site.category) {
    case WAVETAP_SMEM: return has(name, "load") ? Direction::kLoad : Direction::kNone;
    case WAVETAP_VMEM_LOAD: return Direction::kLoad;
    case WAVETAP_VMEM_STORE: return Direction::kStore;
    case WAVETAP_VMEM_ATOMIC: return Direction::kAtomic;
    case WAVETAP_LDS_OP:
      if (has(name, "read") || has(name, "load")) return Direction::kLoad;
      if (has(name, "write") || has(name, "store")) return Direction::kStore;
      return has(name, "permute") || has(name, "swizzle") ? Direction::kNone : Direction::kAtomic;
    default: return Direction::kNone;
  }
}

// Two elements by one instruction: ds_read2_b32, ds_write2st64_b64, ds_load_2addr_b32.
bool has_two_addresses(std::string_view name) {
  return has(name, "read2") || has(name, "write2") || has(name, "_2addr_");
}

// What a vector instruction moves for each lane, by its name.
uint64_t bytes_of(std::string_view name) {
  constexpr std::pair<std::string_view, uint64_t> kSizes[] = {
      {"dwordx2", 8}, {"dwordx3", 12}, {"dwordx4", 16}, {"b128", 16}, {"b96", 12},
      {"64", 8},      {"_x2", 8},      {"byte", 1},     {"_u8", 1},   {"_i8", 1},
      {"_b8", 1},     {"short", 2},    {"_u16", 2},     {"_i16", 2},  {"_b16", 2}};
  // "st64" is the distance of two elements, "d16" the half of a register that is loaded.
  std::string text(name);
  if (const size_t at = text.find("st64"); at != std::string::npos) text.erase(at, 4);
  uint64_t bytes = 4;
  for (const auto& [part, size] : kSizes) {
    if (!has(text, part)) continue;
    bytes = size;
    break;
  }
  return has_two_addresses(name) ? 2 * bytes : bytes;
}

Direction direction_of(const Site& site) {
  if (site.kind != SiteKind::kMemory || site.space == SiteSpace::kScratch) return Direction::kNone;
  if (site.access == SiteAccess::kLoad) return Direction::kLoad;
  return site.access == SiteAccess::kStore ? Direction::kStore : Direction::kAtomic;
}

std::vector<Frame> frames_of(const Site& site) {
  std::vector<Frame> frames;
  for (const format::SiteFrame& from : site.frames)
    frames.push_back({from.function, from.file, from.line, from.column});
  return frames;
}

struct LineCounts {
  Frame frame;
  uint64_t accesses = 0;
  uint64_t access_bytes = 0;
  uint64_t vector = 0;
  uint64_t vector_bytes = 0;
  bool has_pairs = false;  // instructions for two elements
  uint64_t scalar = 0;     // arguments of the kernel are loaded so as well

  uint64_t instructions() const { return vector + scalar; }
  // As many instructions as accesses, for as many bytes. Scalar loads may be of either.
  bool fits() const {
    if (has_pairs || vector > accesses || accesses > instructions()) return false;
    return vector != accesses || vector_bytes == access_bytes;
  }
};
using Lines = std::map<std::pair<std::string, Direction>, LineCounts>;

// True: some are not counted, in code that is called or because they may be scratch.
bool count_instructions(const Listing& listing, bool has_scratch, Lines& lines) {
  bool are_elsewhere = false;
  for (size_t i = 0; i < listing.sites.size(); ++i) {
    const wavetap_site& facts = listing.facts[i];
    are_elsewhere |= std::string_view(facts.mnemonic).starts_with("s_swappc") ||
                     (has_scratch && is_buffer_access(facts));
    const Direction direction = direction_of(facts, has_scratch);
    if (direction == Direction::kNone || listing.sites[i].frames.empty()) continue;
    LineCounts& line = lines[{short_place(listing.sites[i].shown()), direction}];
    if (facts.category == WAVETAP_SMEM) {
      ++line.scalar;
      continue;
    }
    ++line.vector;
    line.vector_bytes += bytes_of(facts.mnemonic);
    line.has_pairs |= has_two_addresses(facts.mnemonic);
  }
  return are_elsewhere;
}

}  // namespace

std::vector<MergedPlace> find_merged(const codeobj::CodeObject& object,
                                     const format::SiteKernel& kernel) {
  const codeobj::Kernel* const original = object.find_kernel(kernel.name);
  if (original == nullptr) return {};
  const codeobj::SourceMap map(object.elf());
  Lines lines;
  const bool are_elsewhere =
      count_instructions(make_listing(original->code, original->entry_address, object.target(),
                                      original->wave64(object.target()), &map),
                         original->scratch_bytes != 0 || original->uses_dynamic_stack, lines);
  for (const Site& site : kernel.sites) {
    const Direction direction = direction_of(site);
    if (direction == Direction::kNone || site.frames.empty()) continue;
    const std::vector<Frame> frames = frames_of(site);
    const Frame& frame = frames[codeobj::users_frame(frames)];
    LineCounts& line = lines[{short_place(frame), direction}];
    if (line.accesses++ == 0) line.frame = frame;
    line.access_bytes += site.bytes;
  }
  std::vector<MergedPlace> merged;
  for (const auto& [key, line] : lines) {
    const bool is_elsewhere = are_elsewhere && line.instructions() == 0;
    if (line.accesses == 0 || is_elsewhere || line.fits()) continue;
    merged.push_back({line.frame, line.accesses, line.instructions()});
  }
  return merged;
}

Result<Listing> list_sites(std::span<const std::byte> image, const std::string& kernel,
                           amd::GfxTarget target, bool wave64) {
  const auto tables = read_sites(image);
  if (!tables.ok()) return tables.error();
  const auto found = tables->find(kernel);
  if (found == tables->end())
    return errorf("its site table has no kernel %s; compile it again", kernel.c_str());
  Listing listing;
  listing.function = codeobj::demangle(kernel);
  listing.target = target;
  listing.wave64 = wave64;
  listing.facts = make_sites(found->second);
  for (size_t i = 0; i < found->second.sites.size(); ++i) {
    ListedSite site;
    site.address = i;
    site.text = listing.facts[i].mnemonic;
    site.frames = frames_of(found->second.sites[i]);
    listing.sites.push_back(std::move(site));
  }
  return listing;
}

}  // namespace wavetap::inspect
