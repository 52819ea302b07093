#include <fmt/format.h>
#include <CLI/Version.hpp>

#include "cli/help.h"
#include "format/record.h"
#include "store/schema.h"

namespace wavetap::cli {
namespace {

// The compiler and its version, as a person would write them.
std::string compiler() {
#if defined(__clang__)
  return fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return fmt::format("g++ {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

}  // namespace

std::string version_text() {
  return fmt::format(
      "wavetap {}\n"
      "traces: .rpd schema {}, raw recordings of format {}\n"
      "built for {} by {}\n"
      "with LLVM {}, SQLite {}, CLI11 {}, fmt {}.{}.{}\n"
      "MIT licence\n",
      WAVETAP_VERSION, store::kSchemaVersion, format::kFormatVersion, WT_TARGET_PROCESSOR,
      compiler(), WT_LLVM_VERSION, WT_SQLITE_VERSION, CLI11_VERSION, FMT_VERSION / 10000,
      FMT_VERSION / 100 % 100, FMT_VERSION % 100);
}

}  // namespace wavetap::cli
