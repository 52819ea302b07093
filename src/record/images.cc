#include "record/images.h"

#include <elf.h>
#include <string.h>

namespace wavetap::record {
namespace {

constexpr uint16_t kHiddenVersion = 0x8000;

struct Tables {
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const uint32_t* gnu_hash = nullptr;
  const uint32_t* sysv_hash = nullptr;
  const uint16_t* versions = nullptr;
};

// The loader turns these entries into addresses, except in images it did not map itself.
template <class T>
const T* pointer_in(const Image& image, ElfW(Addr) value) {
  return reinterpret_cast<const T*>(value < image.base ? value + image.base : value);
}

Tables tables_of(const Image& image) {
  Tables tables;
  for (const ElfW(Dyn)* entry = image.dynamic; entry != nullptr && entry->d_tag != DT_NULL;
       ++entry) {
    switch (entry->d_tag) {
      case DT_SYMTAB: tables.symbols = pointer_in<ElfW(Sym)>(image, entry->d_un.d_ptr); break;
      case DT_STRTAB: tables.strings = pointer_in<char>(image, entry->d_un.d_ptr); break;
      case DT_GNU_HASH: tables.gnu_hash = pointer_in<uint32_t>(image, entry->d_un.d_ptr); break;
      case DT_HASH: tables.sysv_hash = pointer_in<uint32_t>(image, entry->d_un.d_ptr); break;
      case DT_VERSYM: tables.versions = pointer_in<uint16_t>(image, entry->d_un.d_ptr); break;
      default: break;
    }
  }
  return tables;
}

bool is_wanted(const Tables& tables, uint32_t index, const char* name) {
  const ElfW(Sym)& symbol = tables.symbols[index];
  if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) == STT_TLS) return false;
  // Of several versions of a name the default one is meant.
  if (tables.versions != nullptr && (tables.versions[index] & kHiddenVersion) != 0) return false;
  return strcmp(tables.strings + symbol.st_name, name) == 0;
}

uint32_t find_by_gnu_hash(const Tables& tables, const char* name) {
  uint32_t hash = 5381;
  for (const char* c = name; *c != '\0'; ++c) hash = hash * 33 + static_cast<unsigned char>(*c);
  const uint32_t bucket_count = tables.gnu_hash[0];
  const uint32_t first = tables.gnu_hash[1];
  const uint32_t filter_words = tables.gnu_hash[2];
  const auto* const filter = reinterpret_cast<const ElfW(Addr)*>(tables.gnu_hash + 4);
  const auto* const buckets = reinterpret_cast<const uint32_t*>(filter + filter_words);
  const uint32_t* const chains = buckets + bucket_count;
  if (bucket_count == 0) return 0;
  constexpr uint32_t kBits = sizeof(ElfW(Addr)) * 8;
  const ElfW(Addr) word = filter[(hash / kBits) % filter_words];
  const ElfW(Addr) mask =
      ElfW(Addr){1} << (hash % kBits) | ElfW(Addr){1} << ((hash >> tables.gnu_hash[3]) % kBits);
  if ((word & mask) != mask) return 0;
  uint32_t index = buckets[hash % bucket_count];
  if (index < first) return 0;
  for (;; ++index) {
    const uint32_t other = chains[index - first];
    if ((other | 1) == (hash | 1) && is_wanted(tables, index, name)) return index;
    if ((other & 1) != 0) return 0;
  }
}

uint32_t find_by_sysv_hash(const Tables& tables, const char* name) {
  uint32_t hash = 0;
  for (const char* c = name; *c != '\0'; ++c) {
    hash = (hash << 4) + static_cast<unsigned char>(*c);
    hash ^= (hash >> 24) & 0xf0;
    hash &= 0x0fffffff;
  }
  const uint32_t bucket_count = tables.sysv_hash[0];
  if (bucket_count == 0) return 0;
  const uint32_t* const chains = tables.sysv_hash + 2 + bucket_count;
  for (uint32_t index = tables.sysv_hash[2 + hash % bucket_count]; index != 0;
       index = chains[index])
    if (is_wanted(tables, index, name)) return index;
  return 0;
}

}  // namespace

bool is_binding(const ElfW(Rela) & relocation) {
#if defined(__aarch64__)
  constexpr uint32_t kBindings[] = {R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT, R_AARCH64_ABS64};
#elif defined(__x86_64__)
  constexpr uint32_t kBindings[] = {R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT, R_X86_64_64};
#endif
  for (const uint32_t type : kBindings)
    if (ELF64_R_TYPE(relocation.r_info) == type) return true;
  return false;
}

Image describe_image(const dl_phdr_info& info) {
  Image image;
  image.path = info.dlpi_name == nullptr ? "" : info.dlpi_name;
  image.base = info.dlpi_addr;
  image.headers = info.dlpi_phdr;
  image.header_count = info.dlpi_phnum;
  image.adds = info.dlpi_adds;
  image.subs = info.dlpi_subs;
  image.begin = UINTPTR_MAX;
  for (size_t i = 0; i < image.header_count; ++i) {
    const ElfW(Phdr)& header = image.headers[i];
    const uintptr_t begin = image.base + header.p_vaddr;
    if (header.p_type == PT_LOAD) {
      if (begin < image.begin) image.begin = begin;
      if (begin + header.p_memsz > image.end) image.end = begin + header.p_memsz;
      if ((header.p_flags & PF_X) != 0 && image.text_end == 0) {
        image.text_begin = begin;
        image.text_end = begin + header.p_memsz;
      }
    } else if (header.p_type == PT_DYNAMIC) {
      image.dynamic = reinterpret_cast<const ElfW(Dyn)*>(begin);
    }
  }
  if (image.end == 0) image.begin = 0;
  return image;
}

void* find_symbol(const Image& image, const char* name) {
  const Tables tables = tables_of(image);
  if (tables.symbols == nullptr || tables.strings == nullptr) return nullptr;
  uint32_t index = 0;
  if (tables.gnu_hash != nullptr) index = find_by_gnu_hash(tables, name);
  else if (tables.sysv_hash != nullptr) index = find_by_sysv_hash(tables, name);
  if (index == 0) return nullptr;
  const ElfW(Sym)& symbol = tables.symbols[index];
  void* const address = reinterpret_cast<void*>(image.base + symbol.st_value);
  if (ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC)
    return reinterpret_cast<void* (*)()>(address)();
  return address;
}

const char* image_string(const Image& image, ElfW(Xword) offset) {
  const Tables tables = tables_of(image);
  return tables.strings == nullptr ? "" : tables.strings + offset;
}

void relocations_of(const Image& image, Relocations (&tables)[2]) {
  size_t bytes[2] = {};
  for (const ElfW(Dyn)* entry = image.dynamic; entry != nullptr && entry->d_tag != DT_NULL;
       ++entry) {
    switch (entry->d_tag) {
      case DT_RELA: tables[0].at = pointer_in<ElfW(Rela)>(image, entry->d_un.d_ptr); break;
      case DT_RELASZ: bytes[0] = entry->d_un.d_val; break;
      case DT_JMPREL: tables[1].at = pointer_in<ElfW(Rela)>(image, entry->d_un.d_ptr); break;
      case DT_PLTRELSZ: bytes[1] = entry->d_un.d_val; break;
      default: break;
    }
  }
  for (int i = 0; i < 2; ++i)
    tables[i].count = tables[i].at == nullptr ? 0 : bytes[i] / sizeof(ElfW(Rela));
}

const char* symbol_name(const Image& image, uint32_t index) {
  const Tables tables = tables_of(image);
  return tables.symbols == nullptr || tables.strings == nullptr
             ? ""
             : tables.strings + tables.symbols[index].st_name;
}

const char* soname_of(const Image& image) {
  for (const ElfW(Dyn)* entry = image.dynamic; entry != nullptr && entry->d_tag != DT_NULL; ++entry)
    if (entry->d_tag == DT_SONAME) return image_string(image, entry->d_un.d_val);
  return "";
}

std::string_view file_name_of(const Image& image) {
  std::string_view path = image.path;
  const size_t slash = path.rfind('/');
  if (slash != std::string_view::npos) path.remove_prefix(slash + 1);
  return path;
}

size_t build_id_of(const Image& image, char* out, size_t size) {
  for (size_t i = 0; i < image.header_count; ++i) {
    const ElfW(Phdr)& header = image.headers[i];
    if (header.p_type != PT_NOTE) continue;
    const char* at = reinterpret_cast<const char*>(image.base + header.p_vaddr);
    const char* const end = at + header.p_memsz;
    while (static_cast<size_t>(end - at) >= sizeof(ElfW(Nhdr))) {
      ElfW(Nhdr) note;
      memcpy(&note, at, sizeof note);
      const char* const name = at + sizeof note;
      const size_t name_bytes = (static_cast<size_t>(note.n_namesz) + 3) & ~size_t{3};
      const size_t bytes = (static_cast<size_t>(note.n_descsz) + 3) & ~size_t{3};
      if (name_bytes + bytes > static_cast<size_t>(end - name)) break;
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(name, "GNU", 4) == 0) {
        size_t length = 0;
        for (uint32_t b = 0; b < note.n_descsz && length + 2 <= size; ++b) {
          const auto byte = static_cast<unsigned char>(name[name_bytes + b]);
          out[length++] = "0123456789abcdef"[byte >> 4];
          out[length++] = "0123456789abcdef"[byte & 15];
        }
        return length;
      }
      at = name + name_bytes + bytes;
    }
  }
  return 0;
}

ImageCounts image_counts() {
  ImageCounts counts;
  find_image([&](const Image& image) {
    counts = {image.adds, image.subs};
    return true;
  });
  return counts;
}

}  // namespace wavetap::record
