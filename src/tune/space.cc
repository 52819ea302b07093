#include "tune/space.h"

namespace wavetap::tune {

Result<Space> Space::make(std::vector<Parameter> parameters,
                          const std::vector<Expression>& conditions) {
  Space space;
  space.parameters_ = std::move(parameters);
  space.all_ = 1;
  for (const Parameter& parameter : space.parameters_) {
    if (parameter.values.empty()) return errorf("parameters.%s: no values", parameter.name.c_str());
    space.strides_.push_back(space.all_);
    space.all_ *= parameter.values.size();
    if (space.all_ > kMostCombinations)
      return errorf("parameters: more than %llu combinations; give them fewer values",
                    static_cast<unsigned long long>(kMostCombinations));
  }
  for (uint32_t combination = 0; combination < space.all_; ++combination) {
    space.combinations_.push_back(combination);
    const Values values = space.values(space.combinations_.size() - 1);
    bool holds = true;
    for (const Expression& condition : conditions) {
      const Result<bool> held = condition.holds(values);
      if (!held.ok()) return errorf("conditions: %s", held.error().message.c_str());
      holds = holds && *held;
    }
    if (!holds) space.combinations_.pop_back();
    else space.points_.emplace(combination, static_cast<uint32_t>(space.combinations_.size() - 1));
  }
  if (space.combinations_.empty())
    return errorf(
        "conditions: no combination of the parameters satisfies them all; loosen one of them");
  return space;
}

uint32_t Space::digit(size_t point, size_t parameter) const {
  return static_cast<uint32_t>(combinations_[point] / strides_[parameter] %
                               parameters_[parameter].values.size());
}

Values Space::values(size_t point) const {
  Values values;
  for (size_t i = 0; i < parameters_.size(); ++i)
    values[parameters_[i].name] = parameters_[i].values[digit(point, i)];
  return values;
}

std::vector<double> Space::coordinates(size_t point) const {
  std::vector<double> made;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const size_t count = parameters_[i].values.size();
    const size_t at = digit(point, i);
    if (count == 1) continue;
    if (parameters_[i].is_ordered) {
      made.push_back(static_cast<double>(at) / static_cast<double>(count - 1));
      continue;
    }
    for (size_t value = 0; value < count; ++value) made.push_back(value == at ? 0.5 : 0.0);
  }
  return made;
}

std::vector<size_t> Space::axes() const {
  std::vector<size_t> made;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const size_t count = parameters_[i].values.size();
    if (count == 1) continue;
    made.insert(made.end(), parameters_[i].is_ordered ? 1 : count, i);
  }
  return made;
}

std::vector<size_t> Space::neighbours(size_t point) const {
  std::vector<size_t> made;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const auto count = static_cast<uint32_t>(parameters_[i].values.size());
    const uint32_t at = digit(point, i);
    for (uint32_t value = 0; value < count; ++value) {
      if (value == at) continue;
      if (parameters_[i].is_ordered && value + 1 != at && at + 1 != value) continue;
      const uint64_t combination = combinations_[point] + strides_[i] * value - strides_[i] * at;
      const auto found = points_.find(static_cast<uint32_t>(combination));
      if (found != points_.end()) made.push_back(found->second);
    }
  }
  return made;
}

size_t Space::find(const Values& values) const {
  uint64_t combination = 0;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const auto value = values.find(parameters_[i].name);
    if (value == values.end()) return SIZE_MAX;
    size_t at = 0;
    while (at < parameters_[i].values.size() && parameters_[i].values[at] != value->second) ++at;
    if (at == parameters_[i].values.size()) return SIZE_MAX;
    combination += strides_[i] * at;
  }
  const auto found = points_.find(static_cast<uint32_t>(combination));
  return found == points_.end() ? SIZE_MAX : found->second;
}

}  // namespace wavetap::tune
