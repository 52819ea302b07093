#include "store/trace.h"

#include <algorithm>
#include <deque>
#include <unordered_map>

#include "store/arg_texts.h"
#include "store/row_finder.h"

namespace wavetap::store {

// --- Strings

struct Strings::Index {
  std::unordered_map<std::string_view, Str> by_text;
  // Texts live in blocks that never move.
  std::deque<std::string> long_texts;
  std::vector<std::unique_ptr<char[]>> blocks;
  size_t used = 0;
  size_t capacity = 0;
};

Strings::Strings() : index_(std::make_unique<Index>()) { intern(""); }
Strings::~Strings() = default;
Strings::Strings(Strings&&) noexcept = default;
Strings& Strings::operator=(Strings&&) noexcept = default;

Str Strings::intern(std::string_view text) {
  if (const auto found = index_->by_text.find(text); found != index_->by_text.end())
    return found->second;
  constexpr size_t kBlock = 1 << 16;
  std::string_view kept;
  if (text.size() > kBlock / 4) {
    kept = index_->long_texts.emplace_back(text);
  } else {
    if (index_->capacity - index_->used < text.size()) {
      index_->blocks.push_back(std::make_unique<char[]>(kBlock));
      index_->used = 0;
      index_->capacity = kBlock;
    }
    char* at = index_->blocks.empty() ? nullptr : index_->blocks.back().get() + index_->used;
    std::copy(text.begin(), text.end(), at);
    index_->used += text.size();
    kept = {at, text.size()};
  }
  const Str number = static_cast<Str>(texts_.size());
  texts_.push_back(kept);
  index_->by_text.emplace(kept, number);
  return number;
}

Str Strings::find(std::string_view text) const {
  const auto found = index_->by_text.find(text);
  return found == index_->by_text.end() ? 0xffffffffu : found->second;
}

// --- Trace

Trace::Trace() = default;
Trace::~Trace() = default;
Trace::Trace(Trace&&) noexcept = default;
Trace& Trace::operator=(Trace&&) noexcept = default;

std::string_view Trace::args(size_t api_row) const {
  return arg_texts_ == nullptr ? std::string_view()
                               : arg_texts_->texts[arg_texts_->of_api[api_row]];
}

bool Trace::is_emulated() const {
  const auto found = metadata.find("emulated");
  return found != metadata.end() && found->second == "1";
}

Span Trace::span() const {
  Span span;
  bool any = false;
  const auto widen = [&](const std::vector<int64_t>& begins, const std::vector<int64_t>& ends) {
    if (begins.empty()) return;
    const int64_t begin = *std::min_element(begins.begin(), begins.end());
    const int64_t end = *std::max_element(ends.begin(), ends.end());
    span.begin = any ? std::min(span.begin, begin) : begin;
    span.end = any ? std::max(span.end, end) : end;
    any = true;
  };
  widen(apis.start, apis.end);
  widen(ops.start, ops.end);
  return span;
}

std::string Trace::producer() const {
  const auto found = metadata.find("producer");
  return found == metadata.end() ? "" : found->second;
}

uint32_t Trace::api_row(int64_t id) const { return RowFinder(apis.id).find(id); }
uint32_t Trace::op_row(int64_t id) const { return RowFinder(ops.id).find(id); }

}  // namespace wavetap::store
