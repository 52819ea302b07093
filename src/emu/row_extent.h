// Lowest and highest value of the lanes of a vector register, and which bits they have set.
#pragma once

#include <cstdint>
#include <cstring>

namespace wavetap::emu {

struct RowExtent {
  uint32_t least = 0;
  uint32_t most = 0;
  uint32_t bits = 0;
};

namespace row_extent {

// Vectors of the language, since compilers make scalars of loops this short.
typedef uint32_t Vector __attribute__((vector_size(16)));
constexpr int kStep = 4;

inline Vector vector_at(const uint32_t* from) {
  Vector lanes;
  std::memcpy(&lanes, from, sizeof lanes);
  return lanes;
}
inline Vector higher(Vector a, Vector b) { return a > b ? a : b; }
inline Vector lower(Vector a, Vector b) { return a < b ? a : b; }
// All ones in the lanes whose bit is set; the lowest of `mask` is the first lane's.
inline Vector lanes_of(uint64_t mask) {
  const auto low = static_cast<uint32_t>(mask);
  const Vector bits = Vector{low, low, low, low} & Vector{1, 2, 4, 8};
  return reinterpret_cast<Vector>(bits != 0);
}
template <class F>
uint32_t fold(Vector v, F&& f) {
  v = f(v, Vector{v[2], v[3], v[0], v[1]});
  v = f(v, Vector{v[1], v[0], v[3], v[2]});
  return v[0];
}

}  // namespace row_extent

// Of all lanes, kAll, or of those of `mask`, of which there is one. Only what is wanted, besides `most`, is right.
template <int kLanes, bool kAll, bool kLeast, bool kBits>
[[gnu::always_inline]] inline RowExtent extent_of_row(const uint32_t* row, uint64_t mask) {
  namespace v = row_extent;
  // Two of each, so that none has to wait for the last.
  v::Vector least[2] = {~v::Vector{}, ~v::Vector{}};
  v::Vector most[2] = {};
  v::Vector bits[2] = {};
  for (int lane = 0; lane < kLanes; lane += 2 * v::kStep) {
    for (int i = 0; i < 2; ++i) {
      const int first = lane + v::kStep * i;
      v::Vector high = v::vector_at(row + first);
      v::Vector low = high;
      if (!kAll) {
        const v::Vector is_active = v::lanes_of(mask >> first);
        high &= is_active;
        low |= ~is_active;
      }
      most[i] = v::higher(most[i], high);
      if (kLeast) least[i] = v::lower(least[i], low);
      if (kBits) bits[i] |= high;
    }
  }
  RowExtent all;
  all.most = v::fold(v::higher(most[0], most[1]), v::higher);
  if (kLeast) all.least = v::fold(v::lower(least[0], least[1]), v::lower);
  if (kBits) all.bits = v::fold(bits[0] | bits[1], [](v::Vector a, v::Vector b) { return a | b; });
  return all;
}

template <int kLanes, bool kAll>
[[gnu::always_inline]] inline bool is_same_in_row(const uint32_t* row, uint64_t mask,
                                                  uint32_t value) {
  namespace v = row_extent;
  v::Vector differs[2] = {};
  for (int lane = 0; lane < kLanes; lane += 2 * v::kStep) {
    for (int i = 0; i < 2; ++i) {
      const int first = lane + v::kStep * i;
      v::Vector change = v::vector_at(row + first) ^ value;
      if (!kAll) change &= v::lanes_of(mask >> first);
      differs[i] |= change;
    }
  }
  return v::fold(differs[0] | differs[1], [](v::Vector a, v::Vector b) { return a | b; }) == 0;
}

}  // namespace wavetap::emu
