// Which kernels a folder, a file or a manifest has to offer. Offline: the command line makes it before a
// program starts. Reading a thousand code objects takes a second, so what was found is kept in a cache
// file, and only files whose time or size has changed are read again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "swap/offers.h"
#include "swap/table.h"

namespace wavetap::swap {

struct Index {
  std::vector<IndexedFile> files;
  std::vector<Rule> rules;
  std::vector<std::string> problems;  // of a file: "PATH: …"
  size_t read = 0;                    // files that the cache did not know

  size_t kernel_count() const;
};

// `source`: a folder (searched with all below it for .hsaco, .co and .hipfb files, and for programs and
// libraries with device code), one such file, or a manifest. `cache`: file to keep the index in; "":
// none. Fails when `source` cannot be read; files that cannot be are problems.
Result<Index> make_index(const std::string& source, const std::string& cache);

// One replacement per kernel and rule, in the order they are to be tried. `extract`: folder for code
// objects that lie compressed in their file; "": they are left out.
std::vector<Candidate> candidates_of(Index& index, const std::string& extract);

// Reads a file that may hold code objects. Nothing but problems when it cannot be read.
IndexedFile index_file(const std::string& path);

// A file's time of change and size; false when there is none.
bool stat_file(const std::string& path, int64_t& time_ns, uint64_t& bytes);

}  // namespace wavetap::swap
