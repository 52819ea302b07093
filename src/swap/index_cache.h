// The cache of an index: what was found in which version of which file. A text file that is replaced as a
// whole, so that processes can share it; one that is damaged or of another version counts as empty.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "swap/offers.h"

namespace wavetap::swap {

std::string write_cache(const std::vector<IndexedFile>& files);
// Empty when the text is not whole.
std::vector<IndexedFile> read_cache(std::string_view text);

// Best effort: an index that cannot be kept is made again.
void save_cache(const std::string& path, const std::vector<IndexedFile>& files);

}  // namespace wavetap::swap
