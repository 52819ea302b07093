// What libwavetap_audit.so writes about one process: which library answers each CUDA, HIP and HSA
// function, for whom, and how often it was called. A file of fixed rows, mapped and counted in
// place, so that nothing is lost however the process ends.
//
// offset size
//      0    8  magic
//      8    4  version
//     12    4  rows used; written last
//     16   48  reserved
//     64  512  first row
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace wavetap::correct {

inline constexpr char kRedirectVariable[] =
    "WAVETAP_REDIRECTS";  // the folder; one file per process, named by its id
inline constexpr uint64_t kRedirectMagic = 0x3130726964657257;  // "Wredir01"
inline constexpr uint32_t kRedirectVersion = 1;
inline constexpr uint32_t kMaxRedirects = 4096;

struct RedirectRow {
  uint64_t calls;
  uint32_t by_dlsym;  // bound by dlsym() rather than by the linker
  uint32_t reserved;
  char function[112];
  char from[192];  // the end of a longer path
  char to[192];
};
static_assert(sizeof(RedirectRow) == 512 && std::is_trivially_copyable_v<RedirectRow>);

struct RedirectHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t rows;
  char reserved[48];
};
static_assert(sizeof(RedirectHeader) == 64);

inline constexpr size_t kRedirectFileBytes =
    sizeof(RedirectHeader) + size_t{kMaxRedirects} * sizeof(RedirectRow);

}  // namespace wavetap::correct
