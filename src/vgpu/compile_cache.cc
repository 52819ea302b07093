#include "vgpu/compile_cache.h"

#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <bit>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/round_up.h"
#include "jit/object_cache.h"

namespace wavetap::vgpu {
namespace {

constexpr size_t kKnownMajor =
    2;  // later ones keep results themselves, and count actions differently
constexpr uint64_t kLimitBytes = uint64_t{64} << 20;
constexpr size_t kLargestInput = size_t{64} << 20;

// Kinds of data as the library counts them.
constexpr uint32_t kSource = 1, kPrecompiledHeader = 3, kLog = 5, kBitcode = 6, kRelocatable = 7;
constexpr uint32_t kKinds = 64;

constexpr uint32_t kCompileToBitcode = 2;
constexpr uint32_t kLastOfOpenCl = 2;  // languages: 1 and 2 are OpenCL's, 3 is HIP

// LINK_BC_TO_BC, OPTIMIZE_BC_TO_BC, CODEGEN_BC_TO_RELOCATABLE and _ASSEMBLY, LINK_RELOCATABLE_TO_…
bool takes_no_source(uint32_t action) { return action >= 4 && action <= 9; }

// Two hashes of the same bytes, which know nothing of each other.
class Hash {
 public:
  void add(uint64_t word) {
    first_ = (std::rotl(first_, 29) ^ word) * 0x9e3779b97f4a7c15u;
    first_ ^= first_ >> 32;
    second_ = (std::rotl(second_, 31) + word) * 0xd6e8feb86659fd93u;
    second_ ^= second_ >> 29;
  }
  void add(std::string_view bytes) {
    add(uint64_t{bytes.size()});
    while (!bytes.empty()) {
      uint64_t word = 0;
      const size_t part = bytes.size() < sizeof word ? bytes.size() : sizeof word;
      std::memcpy(&word, bytes.data(), part);
      add(word);
      bytes.remove_prefix(part);
    }
  }
  jit::BlockKey key() const { return {{first_, second_}}; }

 private:
  uint64_t first_ = 0x2545f4914f6cdd1du;
  uint64_t second_ = 0xcbf29ce484222325u;
};

// Texts and data are asked for twice: how long, then what.
template <class Get>
bool get_text(Get&& get, std::string& text) {
  size_t size = 0;
  if (get(&size, static_cast<char*>(nullptr)) != kComgrSuccess || size > kLargestInput)
    return false;
  text.resize(size);
  return size == 0 || get(&size, text.data()) == kComgrSuccess;
}

// The library says how long names are with their terminating zero.
void drop_zero(std::string& text) {
  while (!text.empty() && text.back() == '\0') text.pop_back();
}

struct Datum {
  uint32_t kind = 0;
  std::string name;
  std::string bytes;
};

bool read_datum(const Comgr& comgr, ComgrHandle set, uint32_t kind, size_t index, Datum& datum) {
  ComgrHandle data = 0;
  if (comgr.data_of_set(set, kind, index, &data) != kComgrSuccess) return false;
  datum.kind = kind;
  const bool read =
      get_text([&](size_t* n, char* to) { return comgr.get_data_name(data, n, to); }, datum.name) &&
      get_text([&](size_t* n, char* to) { return comgr.get_data(data, n, to); }, datum.bytes);
  drop_zero(datum.name);
  return comgr.release_data(data) == kComgrSuccess && read;
}

// Everything in a set, kind by kind, in the order the library has it.
bool read_set(const Comgr& comgr, ComgrHandle set, std::vector<Datum>& all) {
  for (uint32_t kind = 1; kind < kKinds; ++kind) {
    size_t count = 0;
    // It refuses kinds it does not know.
    if (comgr.data_count(set, kind, &count) != kComgrSuccess) continue;
    for (size_t i = 0; i < count; ++i) {
      Datum& datum = all.emplace_back();
      if (!read_datum(comgr, set, kind, i, datum)) return false;
    }
  }
  return true;
}

// Variables of the library's own make it write files and longer logs.
bool is_watched() {
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
    if (std::strncmp(*variable, "AMD_COMGR_", 10) == 0) return true;
  return false;
}

// Everything the result depends on; false when it may depend on more.
bool add_action(const Comgr& comgr, uint32_t kind, ComgrHandle info, Hash& hash) {
  uint32_t language = 0;
  bool logging = false;
  std::string isa;
  size_t options = 0;
  if (comgr.get_language(info, &language) != kComgrSuccess ||
      comgr.get_logging(info, &logging) != kComgrSuccess ||
      !get_text([&](size_t* n, char* to) { return comgr.get_isa_name(info, n, to); }, isa) ||
      comgr.get_option_count(info, &options) != kComgrSuccess)
    return false;
  // HIP's compiler reads headers that nobody has asked for.
  if (!takes_no_source(kind) && (language == 0 || language > kLastOfOpenCl)) return false;
  for (const uint64_t number :
       {uint64_t{kind}, uint64_t{language}, uint64_t{logging}, uint64_t{options}})
    hash.add(number);
  hash.add(isa);
  for (size_t i = 0; i < options; ++i) {
    std::string option;
    if (!get_text([&](size_t* n, char* to) { return comgr.get_option(info, i, n, to); }, option))
      return false;
    drop_zero(option);
    // It may name a file.
    if (option.find_first_of("/@") != std::string::npos || option.starts_with("-save-temps"))
      return false;
    hash.add(option);
  }
  return true;
}

// Source may read files, and the clock.
bool is_self_contained(const Datum& datum) {
  if (datum.kind == kBitcode || datum.kind == kRelocatable || datum.kind == kPrecompiledHeader)
    return true;
  if (datum.kind != kSource) return false;
  for (const char* word : {"include", "embed", "__TIME__", "__DATE__", "__TIMESTAMP__"})
    if (datum.bytes.find(word) != std::string::npos) return false;
  return true;
}

bool add_inputs(const Comgr& comgr, ComgrHandle input, Hash& hash) {
  std::vector<Datum> all;
  if (!read_set(comgr, input, all)) return false;
  for (const Datum& datum : all) {
    if (datum.kind == kLog) continue;  // of the action before
    if (!is_self_contained(datum)) return false;
    hash.add(uint64_t{datum.kind});
    hash.add(datum.name);
    hash.add(datum.bytes);
  }
  return true;
}

// A result as one piece: per datum its kind, the sizes of name and bytes, and these.
std::string pack(const std::vector<Datum>& all) {
  std::string packed;
  for (const Datum& datum : all) {
    const uint64_t head[] = {datum.kind, datum.name.size(), datum.bytes.size()};
    packed.append(reinterpret_cast<const char*>(head), sizeof head);
    packed += datum.name;
    packed += datum.bytes;
  }
  return packed;
}

bool unpack(std::string_view packed, std::vector<Datum>& all) {
  while (!packed.empty()) {
    uint64_t head[3];
    if (packed.size() < sizeof head) return false;
    std::memcpy(head, packed.data(), sizeof head);
    packed.remove_prefix(sizeof head);
    if (head[0] >= kKinds || head[1] > packed.size() || head[2] > packed.size() - head[1])
      return false;
    all.push_back({static_cast<uint32_t>(head[0]), std::string(packed.substr(0, head[1])),
                   std::string(packed.substr(head[1], head[2]))});
    packed.remove_prefix(head[1] + head[2]);
  }
  return !all.empty();
}

bool give(const Comgr& comgr, const std::vector<Datum>& all, ComgrHandle result) {
  for (const Datum& datum : all) {
    ComgrHandle data = 0;
    if (comgr.create_data(datum.kind, &data) != kComgrSuccess) return false;
    // The library takes no data of no bytes; a log in which nothing is said is a text as well.
    const std::string_view bytes = datum.bytes.empty() ? std::string_view("", 1) : datum.bytes;
    const bool added =
        comgr.set_data(data, bytes.size(), bytes.data()) == kComgrSuccess &&
        (datum.name.empty() || comgr.set_data_name(data, datum.name.c_str()) == kComgrSuccess) &&
        comgr.add_to_set(result, data) == kComgrSuccess;
    if (comgr.release_data(data) != kComgrSuccess || !added) return false;
  }
  return true;
}

bool is_empty(const Comgr& comgr, ComgrHandle set) {
  std::vector<Datum> all;
  return read_set(comgr, set, all) && all.empty();
}

// The build id among a segment's notes.
std::string_view build_id_in(std::string_view notes) {
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes.data(), sizeof note);
    const size_t name = round_up(uint64_t{note.n_namesz}, uint64_t{4});
    const size_t size = round_up(uint64_t{note.n_descsz}, uint64_t{4});
    if (notes.size() - sizeof note < name || notes.size() - sizeof note - name < size) return {};
    if (note.n_type == NT_GNU_BUILD_ID &&
        notes.substr(sizeof note, note.n_namesz) == std::string_view("GNU", 4))
      return notes.substr(sizeof note + name, note.n_descsz);
    notes.remove_prefix(sizeof note + name + size);
  }
  return {};
}

struct Search {
  uintptr_t function;
  bool is_known = false;
  std::string identity = {};
};

int look_at(dl_phdr_info* image, size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  bool has_function = false;
  std::string_view id;
  for (const ElfW(Phdr) & segment : std::span(image->dlpi_phdr, image->dlpi_phnum)) {
    const uintptr_t start = image->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD) has_function |= search.function - start < segment.p_memsz;
    else if (segment.p_type == PT_NOTE && id.empty())
      id = build_id_in({reinterpret_cast<const char*>(start), segment.p_memsz});
  }
  const std::string_view path = image->dlpi_name != nullptr ? image->dlpi_name : "";
  const std::string_view name = path.substr(path.rfind('/') + 1);
  bool is_part = has_function;
  for (const std::string_view stem : {"libLLVM", "libclang", "liblld"})
    is_part |= name.starts_with(stem);
  if (!is_part) return 0;
  search.is_known |= has_function && !id.empty();
  search.identity += name;
  search.identity += '=';
  search.identity += id;
  search.identity += ';';
  return 0;
}

}  // namespace

std::string compiler_identity(const void* function) {
  Search search{.function = reinterpret_cast<uintptr_t>(function)};
  dl_iterate_phdr(look_at, &search);
  return search.is_known ? search.identity : "";
}

ComgrStatus do_action_once(const Comgr& comgr, const std::string& folder,
                           const std::string& compiler, uint32_t kind, ComgrHandle info,
                           ComgrHandle input, ComgrHandle result) {
  const auto ask = [&] { return comgr.do_action(kind, info, input, result); };
  if (folder.empty() || compiler.empty() || is_watched() ||
      !(takes_no_source(kind) || kind == kCompileToBitcode))
    return ask();
  size_t major = 0, minor = 0;
  comgr.get_version(&major, &minor);
  Hash hash;
  hash.add(compiler);
  if (major != kKnownMajor || !add_action(comgr, kind, info, hash) ||
      !add_inputs(comgr, input, hash) || !is_empty(comgr, result))
    return ask();

  jit::ObjectCache cache(folder, kLimitBytes);
  const std::vector<std::byte> kept = cache.find(hash.key());
  std::vector<Datum> all;
  if (unpack({reinterpret_cast<const char*>(kept.data()), kept.size()}, all)) {
    WT_DEBUG("vgpu", "compiler action %u: kept result of %zu bytes", kind, kept.size());
    if (give(comgr, all, result)) return kComgrSuccess;
    if (comgr.remove_from_set(result, 0) != kComgrSuccess) return ask();
  }
  all.clear();
  const ComgrStatus status = ask();
  if (status != kComgrSuccess || !read_set(comgr, result, all)) return status;
  const std::string packed = pack(all);
  WT_DEBUG("vgpu", "compiler action %u: compiled, %zu bytes", kind, packed.size());
  cache.keep(hash.key(), std::as_bytes(std::span(packed)));
  return status;
}

}  // namespace wavetap::vgpu
