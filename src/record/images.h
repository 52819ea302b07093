// The ELF files loaded in this process, read from their own tables in memory.
//
// dlsym() is not used to find functions: we interpose it, it takes the loader's lock (a constructor
// that waits for a thread of ours would hang), and it cannot be asked for one particular library
// that was opened RTLD_LOCAL. Thread-safe; nothing is kept between calls, so a library may be
// closed at any time later.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace wavetap::record {

struct Image {
  const char* path = nullptr;  // "" for the program itself
  uintptr_t base = 0;          // address - base = the file's own virtual address
  uintptr_t begin = 0;         // of what is mapped
  uintptr_t end = 0;
  uintptr_t text_begin = 0;  // of the executable segment
  uintptr_t text_end = 0;
  const ElfW(Dyn) * dynamic = nullptr;
  const ElfW(Phdr) * headers = nullptr;
  size_t header_count = 0;
  unsigned long long adds = 0;  // libraries ever loaded and unloaded by this process
  unsigned long long subs = 0;

  bool contains(uintptr_t address) const { return address >= begin && address < end; }
};

// Calls visit(const Image&) for each, in the loader's order, until it returns true. Returns whether
// it did.
template <class Visit>
bool find_image(Visit visit);

// Address of a defined dynamic symbol in this image alone; null when it has none.
void* find_symbol(const Image& image, const char* name);

// "libamdhip64.so.5" of "/usr/lib/libamdhip64.so.5.2.3"; DT_SONAME, "" when there is none.
const char* soname_of(const Image& image);
std::string_view file_name_of(const Image& image);

// Calls visit(const char* name) for each DT_NEEDED entry.
template <class Visit>
void for_each_needed(const Image& image, Visit visit);

// Calls visit(const ElfW(Rela)&, const char* symbol) for each relocation that refers to a symbol.
template <class Visit>
void for_each_relocation(const Image& image, Visit visit);

// The relocation binds a reference to a function or an object of another library.
bool is_binding(const ElfW(Rela) & relocation);

// The build id as hex digits; the number of characters written.
size_t build_id_of(const Image& image, char* out, size_t size);

// Counts of dl_iterate_phdr: changed means that libraries came or went.
struct ImageCounts {
  unsigned long long adds = 0;
  unsigned long long subs = 0;
  bool operator==(const ImageCounts&) const = default;
};
ImageCounts image_counts();

// ---- implementation ----------------------------------------------------------------------------

struct Relocations {
  const ElfW(Rela) * at = nullptr;
  size_t count = 0;
};
// The ordinary ones and those of the procedure linkage table.
void relocations_of(const Image& image, Relocations (&tables)[2]);
const char* symbol_name(const Image& image, uint32_t index);

Image describe_image(const dl_phdr_info& info);
const char* image_string(const Image& image, ElfW(Xword) offset);

template <class Visit>
bool find_image(Visit visit) {
  const auto each = [](dl_phdr_info* info, size_t, void* context) -> int {
    const Image image = describe_image(*info);
    return (*static_cast<Visit*>(context))(image) ? 1 : 0;
  };
  return dl_iterate_phdr(each, &visit) != 0;
}

template <class Visit>
void for_each_needed(const Image& image, Visit visit) {
  for (const ElfW(Dyn)* entry = image.dynamic; entry != nullptr && entry->d_tag != DT_NULL; ++entry)
    if (entry->d_tag == DT_NEEDED) visit(image_string(image, entry->d_un.d_val));
}

template <class Visit>
void for_each_relocation(const Image& image, Visit visit) {
  Relocations tables[2];
  relocations_of(image, tables);
  for (const Relocations& table : tables)
    for (size_t i = 0; i < table.count; ++i)
      if (const uint32_t symbol = ELF64_R_SYM(table.at[i].r_info))
        visit(table.at[i], symbol_name(image, symbol));
}

}  // namespace wavetap::record
