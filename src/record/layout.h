// How arguments are laid out behind a CallRecord, and the layout string that tells the reader.
//
// Arguments are words of 8 bytes; most begin with zeros, which are left out (Packer). A layout is
// "name:code" for each argument, separated by commas, in the order of the function's parameters:
//
//   code      bytes  meaning
//   p         8      pointer or handle
//   z         8      size or count, unsigned
//   u i       8      unsigned / signed integer of up to 32 bits, widened
//   U I       8      unsigned / signed 64-bit integer
//   b         8      bool
//   f         8      float: its 32 bits in the low half
//   d         8      double
//   e:NAME    8      enumeration of type NAME, signed
//   o<code>   8      out-pointer: what it points to after the call, decoded by code (op oz ou oi oU oI of od oe:NAME);
//                    0 when the call failed or the pointer is null
//   d3        16     dim3: three 32-bit words and a zero
//   x<N>      N*     structure passed by value
//   v<N>      N*     structure passed by const pointer, as it was; zeros when the call failed or it is null
//   s         8 + N* C string: a Text (format/record.h), cut at kMaxString
//
// N* is N rounded up to a multiple of 8. So "dst:p,src:p,sizeBytes:z,kind:e:hipMemcpyKind" is 32
// bytes.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "format/record.h"

namespace wavetap::record {

inline constexpr size_t kMaxString = 512;

// Copies up to `size` bytes from memory that may not be there. The number of bytes copied.
size_t copy_from_unsure(void* out, const void* from, size_t size);

// strnlen for a pointer that may be bad.
size_t unsure_length(const char* text, size_t limit);

// Writes words without the zero bytes at their upper end: of each pair first a byte with the two
// lengths, the first in the low half, then the words' bytes.
class Packer {
 public:
  // What so many words take at most; the last of them is written as a whole.
  static constexpr size_t room(size_t words) { return words * 8 + (words + 1) / 2 + 8; }

  explicit Packer(char* at) : at_(at) {}

  void put(uint64_t word) {
    const unsigned bytes = length_of(word);
    if (lengths_ == nullptr) {
      lengths_ = at_++;
      *lengths_ = static_cast<char>(bytes);
    } else {
      *lengths_ = static_cast<char>(*lengths_ | bytes << 4);
      lengths_ = nullptr;
    }
    // All eight: what lies behind is zero, in the word as in the chunk.
    __builtin_memcpy(at_, &word, sizeof word);
    at_ += bytes;
  }

  void put_bytes(const void* from, size_t size) {
    const char* const bytes = static_cast<const char*>(from);
    for (size_t done = 0; done < size; done += 8) {
      uint64_t word = 0;
      __builtin_memcpy(&word, bytes + done, size - done < 8 ? size - done : 8);
      put(word);
    }
  }

  // The same, of many; no pair may be begun.
  void put_words(const uint64_t* words, size_t count) {
    for (; count >= 2; count -= 2, words += 2) {
      const uint64_t first = words[0];
      const uint64_t second = words[1];
      const size_t first_bytes = length_of(first);
      const size_t second_bytes = length_of(second);
      *at_ = static_cast<char>(first_bytes | second_bytes << 4);
      __builtin_memcpy(at_ + 1, &first, sizeof first);
      __builtin_memcpy(at_ + 1 + first_bytes, &second, sizeof second);
      at_ += 1 + (first_bytes + second_bytes);
    }
    if (count != 0) put(words[0]);
  }

  char* at() const { return at_; }

 private:
  // Bytes without the zeros at the upper end.
  static unsigned length_of(uint64_t word) {
    return (71 - static_cast<unsigned>(std::countl_zero(word))) / 8;
  }

  char* at_;
  char* lengths_ = nullptr;  // of the pair that is begun
};

// Collects words, so that one function can pack those of every call (leave_call_with_words()).
class Words {
 public:
  explicit Words(uint64_t* at) : at_(at) {}

  void put(uint64_t word) { *at_++ = word; }
  void put_bytes(const void* from, size_t size) {
    if (size % 8 != 0) at_[size / 8] = 0;
    __builtin_memcpy(at_, from, size);
    at_ += (size + 7) / 8;
  }

 private:
  uint64_t* at_;
};

// ---- arguments ---------------------------------------------------------------------------------
//
// Each has words(), how many it has at most, and put(), which puts them one by one into a Packer or, where words() is
// known beforehand, into Words.

// Any scalar or pointer.
template <class T>
struct Word {
  T value;

  static constexpr size_t words() { return 1; }
  void put(auto& to) const {
    uint64_t word = 0;
    if constexpr (std::is_pointer_v<T>) word = reinterpret_cast<uintptr_t>(value);
    else if constexpr (std::is_floating_point_v<T>) __builtin_memcpy(&word, &value, sizeof value);
    else word = static_cast<uint64_t>(static_cast<int64_t>(value));
    to.put(word);
  }
};
template <class T>
Word(T) -> Word<T>;

// A structure by value.
template <class T>
struct Bytes {
  const T& value;

  static constexpr size_t words() { return (sizeof(T) + 7) / 8; }
  void put(auto& to) const { to.put_bytes(&value, sizeof(T)); }
};
template <class T>
Bytes(const T&) -> Bytes<T>;

// A dim3 in two registers; the upper half of the second means nothing.
struct Three {
  uint64_t xy;
  uint64_t z;

  static constexpr size_t words() { return 2; }
  void put(auto& to) const {
    to.put(xy);
    to.put(z & 0xffffffffu);
  }
};

// What an out-pointer points to.
template <class T>
struct Out {
  const void* pointer;
  bool valid;

  static constexpr size_t words() { return 1; }
  void put(auto& to) const {
    T value{};
    if (valid && pointer != nullptr) __builtin_memcpy(&value, pointer, sizeof value);
    Word<T>{value}.put(to);
  }
};

// A structure behind a const pointer.
template <size_t kSize>
struct Behind {
  const void* pointer;
  bool valid;

  static constexpr size_t words() { return (kSize + 7) / 8; }
  void put(auto& to) const {
    if (valid && pointer != nullptr) to.put_bytes(pointer, kSize);
    else
      for (size_t i = 0; i < words(); ++i) to.put(0);
  }
};

struct CString {
  const char* text;
  size_t length;
  size_t kept;

  CString(const char* pointer, bool valid) : text(pointer) {
    length = pointer == nullptr ? 0
             : valid            ? __builtin_strlen(pointer)
                                : unsure_length(pointer, kMaxString);
    kept = length < kMaxString ? length : kMaxString;
  }
  size_t words() const { return 1 + (kept + 7) / 8; }
  void put(auto& to) const {
    to.put(uint64_t{kept} | uint64_t{length - kept} << 32);  // a format::Text
    if (kept != 0) to.put_bytes(text, kept);
  }
};

}  // namespace wavetap::record
