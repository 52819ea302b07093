// Argument texts of calls: the one thing of a trace that can dwarf all the rest.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "store/trace.h"

namespace wavetap::store {

// Keeps texts in blocks that never move.
class TextBlocks {
 public:
  std::string_view keep(std::string_view text) {
    if (text.empty()) return {};
    if (capacity_ - used_ < text.size()) {
      capacity_ = std::max(kBlockBytes, text.size());
      blocks_.push_back(std::make_unique_for_overwrite<char[]>(capacity_));
      used_ = 0;
    }
    char* at = blocks_.back().get() + used_;
    std::memcpy(at, text.data(), text.size());
    used_ += text.size();
    return {at, text.size()};
  }

 private:
  static constexpr size_t kBlockBytes = 1 << 18;
  std::vector<std::unique_ptr<char[]>> blocks_;
  size_t used_ = 0, capacity_ = 0;
};

struct ArgTexts {
  std::vector<std::string_view> texts;  // the first is ""
  std::vector<uint32_t> of_api;         // index into texts, per api row
  std::vector<TextBlocks> blocks;       // what the texts point into; one per thread that read
};

}  // namespace wavetap::store
