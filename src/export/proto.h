// Protocol buffers, writing side: enough of the wire format for one trace format, nothing
// generated.
//
//   ProtoWriter out;
//   const size_t packet = out.begin(1);   // a message within
//   out.varint(8, time);
//   out.end(packet);
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace wavetap::exporter {

// Messages one after another and inside each other, in one buffer. Fields come in any order.
class ProtoWriter {
 public:
  void varint(uint32_t field, uint64_t value) {
    char* at = room(2 * kLongestVarint);
    at = put_varint(at, field << 3);
    size_ = static_cast<size_t>(put_varint(at, value) - data_.get());
  }
  void fixed64(uint32_t field, uint64_t value) {
    char* at = put_varint(room(2 * kLongestVarint), field << 3 | 1);
    for (int i = 0; i < 8; ++i) *at++ = static_cast<char>(value >> (8 * i));
    size_ = static_cast<size_t>(at - data_.get());
  }
  void bytes(uint32_t field, std::string_view value) {
    char* at = room(2 * kLongestVarint + value.size());
    at = put_varint(at, field << 3 | 2);
    at = put_varint(at, value.size());
    if (!value.empty()) std::memcpy(at, value.data(), value.size());
    size_ = static_cast<size_t>(at - data_.get()) + value.size();
  }

  // A message as a field: what is written until end(). Its length is put before it then; nearly all
  // are short, so one byte is left for it, and the message moves when it needs more.
  size_t begin(uint32_t field) {
    char* at = put_varint(room(2 * kLongestVarint), field << 3 | 2);
    size_ = static_cast<size_t>(at - data_.get()) + 1;
    return size_;
  }
  void end(size_t begun) {
    const size_t length = size_ - begun;
    if (length < 0x80) {
      data_[begun - 1] = static_cast<char>(length);
      return;
    }
    char digits[kLongestVarint];
    const auto more = static_cast<size_t>(put_varint(digits, length) - digits) - 1;
    room(more);
    std::memmove(data_.get() + begun + more, data_.get() + begun, length);
    std::memcpy(data_.get() + begun - 1, digits, more + 1);
    size_ += more;
  }

  std::string_view str() const { return {data_.get(), size_}; }
  bool empty() const { return size_ == 0; }
  void clear() { size_ = 0; }

 private:
  static constexpr size_t kLongestVarint = 10;

  static char* put_varint(char* at, uint64_t value) {
    for (; value >= 0x80; value >>= 7) *at++ = static_cast<char>(value | 0x80);
    *at++ = static_cast<char>(value);
    return at;
  }
  char* room(size_t bytes) {
    if (capacity_ - size_ < bytes) {
      capacity_ = std::max(capacity_ * 2, size_ + bytes);
      std::unique_ptr<char[]> larger = std::make_unique_for_overwrite<char[]>(capacity_);
      if (size_ > 0) std::memcpy(larger.get(), data_.get(), size_);
      data_ = std::move(larger);
    }
    return data_.get() + size_;
  }

  std::unique_ptr<char[]> data_;
  size_t size_ = 0, capacity_ = 0;
};

}  // namespace wavetap::exporter
