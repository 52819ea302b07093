// The next multiple of a number.
#pragma once

#include <type_traits>

namespace wavetap {

template <class T>
constexpr T round_up(T value, std::type_identity_t<T> to) {
  return (value + to - 1) / to * to;
}

}  // namespace wavetap
