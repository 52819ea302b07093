// Space: all combinations of parameter values that satisfy the conditions, numbered.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "tune/expression.h"
#include "tune/value.h"

namespace wavetap::tune {

struct Parameter {
  std::string name;
  std::vector<Value> values;
  bool is_ordered = false;  // numbers in rising order: values next to each other are alike
};

// More than this are not listed.
inline constexpr uint64_t kMostCombinations = 5'000'000;

// Immutable.
class Space {
 public:
  static Result<Space> make(std::vector<Parameter> parameters,
                            const std::vector<Expression>& conditions);

  size_t size() const { return combinations_.size(); }
  uint64_t combinations() const { return all_; }  // without conditions
  const std::vector<Parameter>& parameters() const { return parameters_; }

  Values values(size_t point) const;
  // Where a point lies, for models of the objective: ordered parameters by rank in [0, 1], each value of
  // the others on an axis of its own.
  std::vector<double> coordinates(size_t point) const;
  // What coordinates belong to one parameter.
  std::vector<size_t> axes() const;  // of each coordinate, its parameter
  // Points that differ in one parameter: the next value up or down of an ordered one, any of another.
  std::vector<size_t> neighbours(size_t point) const;
  // The point with these values; SIZE_MAX when there is none.
  size_t find(const Values& values) const;

 private:
  uint32_t digit(size_t point, size_t parameter) const;

  std::vector<Parameter> parameters_;
  std::vector<uint64_t> strides_;
  uint64_t all_ = 0;
  std::vector<uint32_t> combinations_;             // of each point
  std::unordered_map<uint32_t, uint32_t> points_;  // of each combination
};

}  // namespace wavetap::tune
