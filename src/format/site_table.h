// The site table: what the compiler pass says about each place of a kernel that it has instrumented. Text in
// a section of the code object that is not loaded, so that `readelf -p .wavetap.sites` shows it:
//
//   wavetap-sites 3
//   f FILE                                          numbered from 0
//   n FUNCTION
//   k KERNEL SITES WAVE_SIZE                        mangled; its twin is KERNEL.wavetap
//   s KIND SPACE ACCESS BYTES BLOCK TYPE [FUNCTION:FILE:LINE:COLUMN …]   innermost first
//   e BLOCK SUCCESSOR…                              sites that begin blocks; a block with several successors is
//                                                   the only one before each of them
//   u KERNEL REASON                                 code of the kernel that could not be instrumented
//   end CHECKSUM                                    FNV-1a of everything from the first line on
//
// Every compilation writes one; a linker puts several behind each other.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace wavetap::format {

inline constexpr char kSiteSection[] = ".wavetap.sites";
// It also says which records the twins write (probe_ring.h): those of version 2 know no tiles.
inline constexpr uint32_t kSiteTableVersion = 3;
inline constexpr uint32_t kOldestSiteTableVersion = 2;

enum class SiteKind : uint8_t { kBlock = 0, kMemory = 1, kBarrier = 2, kMessage = 3 };
// Numbered as in wavetap/handler.h, but for flat addresses.
enum class SiteSpace : uint8_t { kGlobal = 0, kLds = 1, kScratch = 2, kFlat = 3 };
enum class SiteAccess : uint8_t { kLoad = 0, kStore = 1, kAtomic = 2, kAtomicReturn = 3 };

struct SiteFrame {
  std::string function;
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;
};

struct Site {
  SiteKind kind = SiteKind::kBlock;
  SiteSpace space = SiteSpace::kGlobal;
  SiteAccess access = SiteAccess::kLoad;
  uint32_t bytes = 0;  // of each lane
  uint32_t block = 0;  // the site that begins its block
  std::string type;    // "i32", "<4 x float>"; of a block: its name in the compiler
  std::vector<SiteFrame> frames;
  std::vector<uint32_t> successors;  // of a block
};

struct SiteKernel {
  std::string name;  // mangled, of the original
  uint32_t wave_size = 0;
  std::vector<Site> sites;
  std::vector<std::string> unseen;  // what could not be instrumented
};

std::string write_site_table(const std::vector<SiteKernel>& kernels);

// All tables of a section, by kernel. An error is a sentence about what is wrong with it.
Result<std::map<std::string, SiteKernel>> read_site_tables(std::string_view section);

}  // namespace wavetap::format
