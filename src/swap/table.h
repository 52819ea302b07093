// What the library in the program is told: which kernels are to be replaced, and by which code. A text
// file, one line per replacement, made by the command line before the program starts and named by
// WAVETAP_SWAP.
//
//   wavetap-swap 1 [watch] [turns]
//   exact  _Z5saxpyifPKfPf _Z5saxpyifPKfPf gfx90a 0 5432 0 0 1718000000123456789 5432 /tuned/saxpy.hsaco
//   named  gemm*           gemm_fast       gfx90a 0 9000 0 0 1718000000123456789 9000 /tuned/gemm.hsaco
//
// Words are separated by blanks: how the name is matched, the pattern, the kernel to run, its target id,
// where its code object begins in the file and how long it is (0 bytes: the whole file, whatever it holds
// then), the hash that the original's code must have (0: any), what is permitted, time and size of the
// file when it was looked at, its path. Bytes that would end a word are written %XX.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace wavetap::swap {

inline constexpr char kTableVariable[] = "WAVETAP_SWAP";

// What Candidate::allowed says besides the permissions of legality.h, kAllow….
inline constexpr uint8_t kOfferWhole = 4;
inline constexpr uint8_t kOnlyWhole = 8;

struct Candidate {
  // Its whole symbol; or a pattern with * and ? that symbol, demangled or short name must match.
  bool is_exact = true;
  std::string pattern;
  std::string kernel;  // the symbol to run instead
  std::string target_id;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  uint64_t original_hash = 0;
  uint8_t allowed = 0;  // kAllow… of legality.h, kOfferWhole, kOnlyWhole
  int64_t file_time_ns = 0;
  uint64_t file_bytes = 0;
  std::string path;

  // Its code object may be loaded in the place of the program's; its kernels are not run one by one.
  bool offers_whole() const { return (allowed & kOfferWhole) != 0; }
  bool is_only_whole() const { return (allowed & kOnlyWhole) != 0; }
  // The file is a code object, so that another version of it can be used as it is.
  bool is_whole_file() const { return bytes == 0; }
};

struct TableSettings {
  bool watch = false;
  bool turns = false;
};

class Table {
 public:
  Table() = default;
  explicit Table(std::vector<Candidate> candidates, TableSettings settings = {});
  static Result<Table> parse(std::string_view text);
  std::string text() const;

  bool empty() const { return candidates_.empty(); }
  // Changed files are to be used from the next launch on.
  bool watches() const { return settings_.watch; }
  // Every other launch runs the original.
  bool takes_turns() const { return settings_.turns; }
  const std::vector<Candidate>& candidates() const { return candidates_; }

  // Those whose name fits a kernel's symbol, in the order they are to be tried.
  std::vector<const Candidate*> find(std::string_view symbol) const;

 private:
  std::vector<Candidate> candidates_;
  std::vector<uint32_t> exact_;  // by pattern, then by order
  std::vector<uint32_t> named_;
  TableSettings settings_;
};

// * stands for any text, ? for any character.
bool matches(std::string_view pattern, std::string_view text);
// Symbol, demangled name ("scale(float*, int)") or short name ("scale") match.
bool matches_kernel(std::string_view pattern, std::string_view symbol);

// A word without blanks and control characters, and back.
std::string escape_word(std::string_view text);
std::string unescape_word(std::string_view word);

}  // namespace wavetap::swap
