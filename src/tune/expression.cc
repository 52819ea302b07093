#include "tune/expression.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>

namespace wavetap::tune {
namespace {

// Deeper than any person writes; keeps a hostile text from using up the stack.
constexpr int kDeepest = 100;

constexpr const char* kFunctions[] = {"floor", "ceil", "log2", "abs", "min", "max"};
// Weakest first.
constexpr const char* kLevels[][4] = {
    {"||"}, {"&&"}, {"==", "!="}, {"<=", ">=", "<", ">"}, {"+", "-"}, {"*", "/", "%"}};

Result<double> as_number(const Value& value) {
  if (is_number(value)) return std::get<double>(value);
  return errorf("'%s' is a word, and a number is needed", std::get<std::string>(value).c_str());
}

Result<Value> compute(const std::string& op, double a, double b) {
  if ((op == "/" || op == "%") && b == 0) return errorf("division by zero");
  if (op == "+") return Value(a + b);
  if (op == "-") return Value(a - b);
  if (op == "*") return Value(a * b);
  if (op == "/") return Value(a / b);
  if (op == "%") return Value(std::fmod(a, b));
  if (op == "<") return Value(a < b ? 1.0 : 0.0);
  if (op == "<=") return Value(a <= b ? 1.0 : 0.0);
  if (op == ">") return Value(a > b ? 1.0 : 0.0);
  if (op == ">=") return Value(a >= b ? 1.0 : 0.0);
  if (op == "min") return Value(std::min(a, b));
  if (op == "max") return Value(std::max(a, b));
  return errorf("%s: not an operator", op.c_str());
}

}  // namespace

class ExpressionParser {
 public:
  using Node = Expression::Node;
  explicit ExpressionParser(const std::string& text) : text_(text) {}

  Result<Node> parse() {
    Result<Node> node = level(0, 0);
    if (!node.ok()) return node;
    skip();
    if (at_ < text_.size()) return wrong();
    return node;
  }

 private:
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool take(const std::string& word) {
    skip();
    if (text_.compare(at_, word.size(), word) != 0) return false;
    at_ += word.size();
    return true;
  }
  Error wrong() const {
    return errorf("%s: not understood from '%s' on", text_.c_str(), text_.substr(at_).c_str());
  }

  Result<Node> level(size_t which, int depth) {
    if (which == std::size(kLevels)) return unary(depth);
    if (depth > kDeepest) return errorf("%s: too deep", text_.c_str());
    Result<Node> left = level(which + 1, depth + 1);
    while (left.ok()) {
      const char* found = nullptr;
      for (const char* op : kLevels[which])
        if (op != nullptr && found == nullptr && take(op)) found = op;
      if (found == nullptr) return left;
      Result<Node> right = level(which + 1, depth + 1);
      if (!right.ok()) return right;
      left = Node{found, 0.0, {std::move(*left), std::move(*right)}};
    }
    return left;
  }

  Result<Node> unary(int depth) {
    if (depth > kDeepest) return errorf("%s: too deep", text_.c_str());
    skip();
    for (const char* op : {"!", "-"}) {
      if (!take(op)) continue;
      Result<Node> part = unary(depth + 1);
      if (!part.ok()) return part;
      return Node{*op == '!' ? "not" : "negative", 0.0, {std::move(*part)}};
    }
    return primary(depth);
  }

  Result<Node> primary(int depth) {
    skip();
    if (take("(")) {
      Result<Node> inner = level(0, depth + 1);
      if (inner.ok() && !take(")")) return wrong();
      return inner;
    }
    if (at_ >= text_.size()) return wrong();
    const char first = text_[at_];
    if (first == '\'' || first == '"') return quoted(first);
    if (std::isdigit(static_cast<unsigned char>(first)) || first == '.') {
      char* end = nullptr;
      const double number = std::strtod(text_.c_str() + at_, &end);
      at_ = static_cast<size_t>(end - text_.c_str());
      return Node{"number", number, {}};
    }
    if (std::isalpha(static_cast<unsigned char>(first)) || first == '_') return name(depth);
    return wrong();
  }

  Result<Node> quoted(char quote) {
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string::npos) return wrong();
    Node node{"word", text_.substr(at_ + 1, end - at_ - 1), {}};
    at_ = end + 1;
    return node;
  }

  Result<Node> name(int depth) {
    const size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      ++at_;
    const std::string word = text_.substr(begin, at_ - begin);
    if (!take("(")) return Node{"name", word, {}};
    if (std::find(std::begin(kFunctions), std::end(kFunctions), word) == std::end(kFunctions))
      return errorf("%s: %s is not a function; there are floor, ceil, log2, abs, min and max",
                    text_.c_str(), word.c_str());
    Node call{word, 0.0, {}};
    do {
      Result<Node> part = level(0, depth + 1);
      if (!part.ok()) return part;
      call.parts.push_back(std::move(*part));
    } while (take(","));
    if (!take(")")) return wrong();
    if (call.parts.size() != (word == "min" || word == "max" ? 2u : 1u))
      return errorf("%s: %s has another number of arguments", text_.c_str(), word.c_str());
    return call;
  }

  const std::string& text_;
  size_t at_ = 0;
};

Result<Expression> Expression::parse(const std::string& text) {
  Result<Node> root = ExpressionParser(text).parse();
  if (!root.ok()) return root.error();
  Expression expression;
  expression.text_ = text;
  expression.root_ = std::make_shared<const Node>(std::move(*root));
  return expression;
}

Result<Value> Expression::evaluate(const Node& node, const Values& values) {
  if (node.op == "number" || node.op == "word") return node.value;
  if (node.op == "name") {
    const auto found = values.find(std::get<std::string>(node.value));
    if (found == values.end())
      return errorf("%s: no parameter or figure of that name",
                    std::get<std::string>(node.value).c_str());
    return found->second;
  }
  Result<Value> first = evaluate(node.parts[0], values);
  if (!first.ok()) return first;
  if (node.op == "==" || node.op == "!=") {
    Result<Value> second = evaluate(node.parts[1], values);
    if (!second.ok()) return second;
    return Value((*first == *second) == (node.op == "==") ? 1.0 : 0.0);
  }
  const Result<double> a = as_number(*first);
  if (!a.ok()) return a.error();
  if (node.op == "&&" && *a == 0) return Value(0.0);
  if (node.op == "||" && *a != 0) return Value(1.0);
  if (node.op == "not") return Value(*a == 0 ? 1.0 : 0.0);
  if (node.op == "negative") return Value(-*a);
  if (node.op == "floor") return Value(std::floor(*a));
  if (node.op == "ceil") return Value(std::ceil(*a));
  if (node.op == "log2") return Value(std::log2(*a));
  if (node.op == "abs") return Value(std::fabs(*a));
  Result<Value> second = evaluate(node.parts[1], values);
  if (!second.ok()) return second;
  const Result<double> b = as_number(*second);
  if (!b.ok()) return b.error();
  if (node.op == "&&" || node.op == "||") return Value(*b != 0 ? 1.0 : 0.0);
  return compute(node.op, *a, *b);
}

Result<Value> Expression::evaluate(const Values& values) const {
  Result<Value> value = evaluate(*root_, values);
  if (!value.ok()) return errorf("%s: %s", text_.c_str(), value.error().message.c_str());
  return value;
}

Result<double> Expression::number(const Values& values) const {
  const Result<Value> value = evaluate(values);
  if (!value.ok()) return value.error();
  const Result<double> number = as_number(*value);
  if (!number.ok()) return errorf("%s: %s", text_.c_str(), number.error().message.c_str());
  return *number;
}

Result<bool> Expression::holds(const Values& values) const {
  const Result<double> value = number(values);
  if (!value.ok()) return value.error();
  return *value != 0;
}

void Expression::add_names(const Node& node, std::set<std::string>& names) {
  if (node.op == "name") names.insert(std::get<std::string>(node.value));
  for (const Node& part : node.parts) add_names(part, names);
}

std::set<std::string> Expression::names() const {
  std::set<std::string> names;
  add_names(*root_, names);
  return names;
}

}  // namespace wavetap::tune
