// How arguments are laid out behind a CallRecord, and the layout string that tells the reader.
//
// A layout is "name:code" for each argument, separated by commas, in the order of the function's parameters:
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
// N* is N rounded up to a multiple of 8. So "dst:p,src:p,sizeBytes:z,kind:e:hipMemcpyKind" is 32 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "format/record.h"

namespace wavetap::agent {

inline constexpr size_t kMaxString = 512;

// Copies up to `size` bytes from memory that may not be there. The number of bytes copied.
size_t copy_from_unsure(void* out, const void* from, size_t size);

// strnlen for a pointer that may be bad.
size_t unsure_length(const char* text, size_t limit);

// Any scalar or pointer.
template <class T>
struct Word {
  T value;

  static constexpr size_t bytes() { return 8; }
  void store(char* at) const {
    uint64_t word = 0;
    if constexpr (std::is_pointer_v<T>)
      word = reinterpret_cast<uintptr_t>(value);
    else if constexpr (std::is_floating_point_v<T>)
      __builtin_memcpy(&word, &value, sizeof value);
    else
      word = static_cast<uint64_t>(static_cast<int64_t>(value));
    __builtin_memcpy(at, &word, sizeof word);
  }
};
template <class T>
Word(T) -> Word<T>;

// A structure by value.
template <class T>
struct Bytes {
  const T& value;

  static constexpr size_t bytes() { return (sizeof(T) + 7) & ~size_t{7}; }
  void store(char* at) const { __builtin_memcpy(at, &value, sizeof(T)); }  // the chunk is zero behind it
};
template <class T>
Bytes(const T&) -> Bytes<T>;

// A dim3 in two registers; the upper half of the second means nothing.
struct Three {
  uint64_t xy;
  uint64_t z;

  static constexpr size_t bytes() { return 16; }
  void store(char* at) const {
    const uint64_t words[2] = {xy, z & 0xffffffffu};
    __builtin_memcpy(at, words, sizeof words);
  }
};

// What an out-pointer points to.
template <class T>
struct Out {
  const void* pointer;
  bool valid;

  static constexpr size_t bytes() { return 8; }
  void store(char* at) const {
    T value{};
    if (valid && pointer != nullptr) __builtin_memcpy(&value, pointer, sizeof value);
    Word<T>{value}.store(at);
  }
};

// A structure behind a const pointer.
template <size_t kSize>
struct Behind {
  const void* pointer;
  bool valid;

  static constexpr size_t bytes() { return (kSize + 7) & ~size_t{7}; }
  void store(char* at) const {
    if (valid && pointer != nullptr) __builtin_memcpy(at, pointer, kSize);
  }
};

struct CString {
  const char* text;
  size_t length;
  size_t kept;

  CString(const char* pointer, bool valid) : text(pointer) {
    length = pointer == nullptr ? 0 : valid ? __builtin_strlen(pointer) : unsure_length(pointer, kMaxString);
    kept = length < kMaxString ? length : kMaxString;
  }
  size_t bytes() const { return sizeof(format::Text) + ((kept + 7) & ~size_t{7}); }
  void store(char* at) const {
    const format::Text head{static_cast<uint32_t>(kept), static_cast<uint32_t>(length - kept)};
    __builtin_memcpy(at, &head, sizeof head);
    if (kept != 0) __builtin_memcpy(at + sizeof head, text, kept);
  }
};

}  // namespace wavetap::agent
