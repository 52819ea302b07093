#pragma once

#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

namespace wavetap {

// Reads a foreign byte sequence front to back. Every take either succeeds whole or takes nothing.
class ByteCursor {
 public:
  explicit ByteCursor(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <class T>
  requires std::is_trivially_copyable_v<T> std::optional<T> take() {
    if (rest_.size() < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, rest_.data(), sizeof(T));
    rest_ = rest_.subspan(sizeof(T));
    return value;
  }

  std::optional<std::span<const std::byte>> take_bytes(size_t count) {
    if (rest_.size() < count) return std::nullopt;
    const std::span<const std::byte> head = rest_.first(count);
    rest_ = rest_.subspan(count);
    return head;
  }

  bool skip(size_t count) { return take_bytes(count).has_value(); }
  std::span<const std::byte> rest() const { return rest_; }
  size_t size() const { return rest_.size(); }
  bool empty() const { return rest_.empty(); }

 private:
  std::span<const std::byte> rest_;
};

// Reads a T at `offset`, or nothing when it would cross the end.
template <class T>
requires std::is_trivially_copyable_v<T> std::optional<T> read_at(std::span<const std::byte> bytes,
                                                                  size_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

}  // namespace wavetap
