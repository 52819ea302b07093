// Expressions over parameters and figures: conditions, constraints, launch sizes.
//
//   TILE * TILE <= 1024 && N % TILE == 0
//   ceil(N / (TILE * 4))
//   layout == 'rows' || vgprs < 64
//
// Numbers are double; / is not a whole-number division (floor and ceil are there). Words stand in single
// or double quotes and can be compared. Functions: floor, ceil, log2, abs, min, max.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "tune/value.h"

namespace wavetap::tune {

class Expression {
 public:
  static Result<Expression> parse(const std::string& text);

  // An error when a name has no value, or a word is used as a number.
  Result<Value> evaluate(const Values& values) const;
  Result<double> number(const Values& values) const;
  Result<bool> holds(const Values& values) const;

  const std::string& text() const { return text_; }
  std::set<std::string> names() const;

 private:
  struct Node {
    std::string op;  // "number", "word", "name", an operator, a function
    Value value;
    std::vector<Node> parts;
  };
  friend class ExpressionParser;
  static Result<Value> evaluate(const Node& node, const Values& values);
  static void add_names(const Node& node, std::set<std::string>& names);

  std::string text_;
  std::shared_ptr<const Node> root_;
};

}  // namespace wavetap::tune
