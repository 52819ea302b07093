#include "optimize/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

namespace wavetap::optimize {
namespace {

using Json = nlohmann::ordered_json;
using Text = std::optional<std::string>;

// Where things of the kernel are in the text: from `__global__` to the brace that ends its body.
struct Span {
  size_t begin = 0, name = 0, open = 0, close = 0, body = 0, end = 0;
};

std::optional<Span> find_kernel(const std::string& text, const std::string& kernel) {
  if (kernel.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") !=
      std::string::npos)
    return std::nullopt;
  const std::regex head("__global__[^;{}]*?\\b(" + kernel + ")\\s*\\(");
  std::smatch match;
  if (!std::regex_search(text, match, head)) return std::nullopt;
  Span span;
  span.begin = static_cast<size_t>(match.position(0));
  span.name = static_cast<size_t>(match.position(1));
  span.open = span.begin + static_cast<size_t>(match.length(0)) - 1;
  int depth = 0;
  size_t at = span.open;
  for (; at < text.size(); ++at) {
    if (text[at] == '(') ++depth;
    if (text[at] == ')' && --depth == 0) break;
  }
  span.close = at;
  span.body = text.find('{', at);
  if (span.body == std::string::npos) return std::nullopt;
  depth = 0;
  for (at = span.body; at < text.size(); ++at) {
    if (text[at] == '{') ++depth;
    if (text[at] == '}' && --depth == 0) break;
  }
  if (at >= text.size()) return std::nullopt;
  span.end = at + 1;
  return span;
}

Text replace_body(const std::string& source, const Span& span, const std::string& body) {
  if (body == source.substr(span.body, span.end - span.body)) return std::nullopt;
  return source.substr(0, span.body) + body + source.substr(span.end);
}

Text restrict_pointers(const std::string& source, const RuleFacts& facts) {
  const auto span = find_kernel(source, facts.kernel);
  if (!span) return std::nullopt;
  const std::string old = source.substr(span->open, span->close - span->open);
  if (old.find("__restrict__") != std::string::npos) return std::nullopt;
  const std::string made =
      std::regex_replace(old, std::regex("\\*\\s*(\\w+)"), "* __restrict__ $1");
  if (made == old) return std::nullopt;
  return source.substr(0, span->open) + made + source.substr(span->close);
}

Text launch_bounds(const std::string& source, const RuleFacts& facts) {
  const auto span = find_kernel(source, facts.kernel);
  if (!span) return std::nullopt;
  const std::string head = source.substr(span->begin, span->name - span->begin);
  if (head.find("__launch_bounds__") != std::string::npos) return std::nullopt;
  const uint32_t items = facts.workgroup[0] * facts.workgroup[1] * facts.workgroup[2];
  const size_t at = span->begin + std::string("__global__").size();
  return source.substr(0, at) + fmt::format(" __launch_bounds__({})", items) + source.substr(at);
}

Text unroll(const std::string& source, const RuleFacts& facts) {
  const auto span = find_kernel(source, facts.kernel);
  if (!span) return std::nullopt;
  std::string body = source.substr(span->body, span->end - span->body);
  body = std::regex_replace(body, std::regex("#pragma unroll 1\\b"), "#pragma unroll");
  if (body.find("#pragma unroll") == std::string::npos)
    body = std::regex_replace(body, std::regex("\\n([ \\t]*)(for \\()"), "\n#pragma unroll\n$1$2");
  return replace_body(source, *span, body);
}

// A row of LDS one element longer moves columns to different banks.
Text pad_lds(const std::string& source, const RuleFacts& facts) {
  const auto span = find_kernel(source, facts.kernel);
  if (!span) return std::nullopt;
  const std::string body = source.substr(span->body, span->end - span->body);
  return replace_body(
      source, *span,
      std::regex_replace(body, std::regex("(__shared__[^;\\[]*\\[[^\\]]+\\]\\[)([^\\]+]+)(\\])"),
                         "$1$2 + 1$3"));
}

// first = (B * S + T) * K; … at = first + i  becomes  first = B * S * K + T; … at = first + i * S: what
// neighbours in a wave access lies side by side.
Text interchange(const std::string& source, const RuleFacts& facts) {
  const auto span = find_kernel(source, facts.kernel);
  if (!span) return std::nullopt;
  std::string body = source.substr(span->body, span->end - span->body);
  const std::regex first("(\\w+) = \\((blockIdx\\.x \\* (\\w+)) \\+ threadIdx\\.x\\) \\* (\\w+);");
  std::smatch match;
  if (!std::regex_search(body, match, first)) return std::nullopt;
  const std::string name = match[1], block = match[2], size = match[3], count = match[4];
  const std::string made = match.prefix().str() + name + " = " + block + " * " + count +
                           " + threadIdx.x;" + match.suffix().str();
  const std::regex use("\\b" + name + " \\+ (\\w+)\\b");
  return replace_body(source, *span, std::regex_replace(made, use, name + " + $1 * " + size));
}

// The type that a pointer of the kernel's parameters points to; "" when it is none of them.
std::string element_of(const std::string& parameters, const std::string& pointer) {
  std::smatch match;
  const std::regex declared("(\\w+)\\s*\\*\\s*(?:__restrict__\\s*)?" + pointer + "\\b");
  return std::regex_search(parameters, match, declared) ? match[1].str() : "";
}

// out[x * n + y] = in[y * n + x] with x and y from square workgroups, with or without an `if` before it:
// by way of a tile in LDS, so that both sides are accessed along rows. What is written is another
// work-item's, so that the condition is asked again, of its x and y.
Text transpose_by_tile(const std::string& source, const RuleFacts& facts) {
  const auto span = find_kernel(source, facts.kernel);
  const uint32_t edge = facts.workgroup[0];
  if (!span || edge < 2 || edge != facts.workgroup[1]) return std::nullopt;
  const std::string body = source.substr(span->body, span->end - span->body);
  const std::regex store(
      "(if \\([^;{}]*\\)\\s*)?(\\{\\s*)?"
      "(\\w+)\\[(\\w+) \\* (\\w+) \\+ (\\w+)\\] = (\\w+)\\[\\6 \\* \\5 \\+ \\4\\];(\\s*\\})?");
  std::smatch match;
  if (!std::regex_search(body, match, store)) return std::nullopt;
  const std::string condition = match[1], out = match[3], x = match[4], n = match[5], y = match[6],
                    in = match[7];
  const std::string type = element_of(source.substr(span->open, span->close - span->open), in);
  if (type.empty()) return std::nullopt;
  // Braces around the statement go with it; those of the kernel, or of one of two, stay.
  const bool is_block = match[2].matched && match[8].matched && match[1].matched;
  const std::string before = is_block ? "" : match[2].str();
  const std::string after = is_block ? "" : match[8].str();
  const std::string made = fmt::format(
      "__shared__ {type} tile[{edge}][{edge} + 1];\n"
      "  {condition}tile[threadIdx.y][threadIdx.x] = {in}[{y} * {n} + {x}];\n"
      "  __syncthreads();\n"
      "  {{\n"
      "    const int {x} = blockIdx.x * {edge} + threadIdx.y, {y} = blockIdx.y * {edge} + "
      "threadIdx.x;\n"
      "    {condition}{out}[{x} * {n} + {y}] = tile[threadIdx.x][threadIdx.y];\n"
      "  }}",
      fmt::arg("type", type), fmt::arg("edge", edge), fmt::arg("condition", condition),
      fmt::arg("in", in), fmt::arg("out", out), fmt::arg("x", x), fmt::arg("y", y),
      fmt::arg("n", n));
  return replace_body(source, *span,
                      match.prefix().str() + before + made + after + match.suffix().str());
}

// Records of K numbers, one to a work-item, read number by number: in[i * K + field]. Neighbours are K
// numbers apart. The workgroup copies its records to LDS side by side first, rows one longer against bank
// conflicts, and reads them there.
Text stage_records(const std::string& source, const RuleFacts& facts) {
  const auto span = find_kernel(source, facts.kernel);
  if (!span) return std::nullopt;
  std::string body = source.substr(span->body, span->end - span->body);
  std::smatch own, guard, use;
  const std::regex index("(\\w+) = blockIdx\\.x \\* (\\d+) \\+ threadIdx\\.x;");
  if (!std::regex_search(body, own, index)) return std::nullopt;
  const std::string i = own[1], size = own[2];
  const std::regex leave("if \\(" + i + " >= (\\w+)\\) return;");
  const std::regex access("\\b(\\w+)\\[" + i + " \\* (\\d+) \\+ (\\w+)\\](?!\\s*=[^=])");
  if (std::stoul(size) != facts.workgroup[0] || !std::regex_search(body, guard, leave) ||
      !std::regex_search(body, use, access))
    return std::nullopt;
  const std::string n = guard[1], in = use[1], count = use[2];
  const std::string type = element_of(source.substr(span->open, span->close - span->open), in);
  if (type.empty() || count.size() > 2 || std::stoul(count) < 2 ||
      facts.workgroup[0] * (std::stoul(count) + 1) > 8192)
    return std::nullopt;
  const std::string copy = fmt::format(
      "__shared__ {0} staged[{1} * ({2} + 1)];\n"
      "  for (int at = threadIdx.x; at < {1} * {2}; at += {1})\n"
      "    if ((int)(blockIdx.x * {1} * {2}) + at < {3} * {2})\n"
      "      staged[at / {2} * ({2} + 1) + at % {2}] = {4}[blockIdx.x * {1} * {2} + at];\n"
      "  __syncthreads();\n  ",
      type, size, count, n, in);
  const std::regex same("\\b" + in + "\\[" + i + " \\* " + count + " \\+ (\\w+)\\]");
  const size_t at = static_cast<size_t>(guard.position(0));
  const std::string rest =
      std::regex_replace(body.substr(at), same, "staged[threadIdx.x * (" + count + " + 1) + $1]");
  return replace_body(source, *span, body.substr(0, at) + copy + rest);
}

// The loop in `body` that begins at `at` with "for (…)": where its statement or block begins and ends.
std::optional<std::pair<size_t, size_t>> statement_of(const std::string& body, size_t at) {
  const size_t begin = body.find_first_not_of(" \t\n", at);
  if (begin == std::string::npos) return std::nullopt;
  if (body[begin] != '{') {
    const size_t end = body.find(';', begin);
    if (end == std::string::npos) return std::nullopt;
    return std::pair(begin, end + 1);
  }
  int depth = 0;
  for (size_t end = begin; end < body.size(); ++end) {
    if (body[end] == '{') ++depth;
    if (body[end] == '}' && --depth == 0) return std::pair(begin, end + 1);
  }
  return std::nullopt;
}

// p[i * S + B] in a loop over i from 0: a pointer that starts at p + B and goes on by S, instead of a
// multiplication, an extension to 64 bits and a shift for every access.
Text walk_pointers(const std::string& source, const RuleFacts& facts) {
  const auto span = find_kernel(source, facts.kernel);
  if (!span) return std::nullopt;
  const std::string body = source.substr(span->body, span->end - span->body);
  std::smatch loop;
  const std::regex head(
      "(?:[ \\t]*#pragma unroll[^\\n]*\\n)?[ \\t]*for \\(int (\\w+) = 0; \\1 < \\w+; \\+\\+\\1\\)");
  if (!std::regex_search(body, loop, head)) return std::nullopt;
  const auto begin = static_cast<size_t>(loop.position(0));
  const auto inside = statement_of(body, begin + static_cast<size_t>(loop.length(0)));
  if (!inside) return std::nullopt;
  std::string statement = body.substr(inside->first, inside->second - inside->first);
  if (statement.find("continue") != std::string::npos ||
      statement.find("break") != std::string::npos)
    return std::nullopt;
  const std::regex access("\\b(\\w+)\\[" + loop[1].str() + " \\* (\\w+) \\+ (\\w+)\\]");
  std::string before, steps;
  std::smatch use;
  for (int number = 0; std::regex_search(statement, use, access); ++number) {
    const std::string pointer = use[1], stride = use[2], base = use[3];
    const std::string name = fmt::format("{}_at{}", pointer, number);
    before += fmt::format("  auto {} = {} + {};\n", name, pointer, base);
    steps += fmt::format(" {} += {};", name, stride);
    const std::string text = use[0];
    for (size_t at = statement.find(text); at != std::string::npos; at = statement.find(text))
      statement.replace(at, text.size(), "(*" + name + ")");
  }
  if (before.empty()) return std::nullopt;
  if (statement.front() == '{') statement.insert(statement.size() - 1, steps + "\n  ");
  else statement = "{ " + statement + steps + " }";
  const std::string made = body.substr(0, begin) + before +
                           body.substr(begin, inside->first - begin) + statement +
                           body.substr(inside->second);
  return replace_body(source, *span, made);
}

// A loop over K numbers that lie side by side, in[r * K + i]: four of them at once, in one load. The sums keep
// their order, and so their bits.
Text load_vectors(const std::string& source, const RuleFacts& facts) {
  const auto span = find_kernel(source, facts.kernel);
  if (!span) return std::nullopt;
  const std::string body = source.substr(span->body, span->end - span->body);
  std::smatch loop, use;
  const std::regex head("for \\(int (\\w+) = 0; \\1 < (\\d+); \\+\\+\\1\\)");
  if (!std::regex_search(body, loop, head)) return std::nullopt;
  const std::string i = loop[1], count = loop[2];
  const auto begin = static_cast<size_t>(loop.position(0));
  const auto inside = statement_of(body, begin + static_cast<size_t>(loop.length(0)));
  if (!inside || count.size() > 6 || std::stoul(count) % 4 != 0) return std::nullopt;
  std::string statement = body.substr(inside->first, inside->second - inside->first);
  const std::regex access("\\b(\\w+)\\[(\\w+) \\* " + count + " \\+ " + i +
                          "\\](?!\\s*([-+*/%&|^]|<<|>>)?=[^=])");
  if (statement.find("continue") != std::string::npos ||
      statement.find("break") != std::string::npos || !std::regex_search(statement, use, access))
    return std::nullopt;
  const std::string in = use[1], record = use[2];
  const std::string type = element_of(source.substr(span->open, span->close - span->open), in);
  if (type != "float" && type != "int") return std::nullopt;
  const std::regex same("\\b" + in + "\\[" + record + " \\* " + count + " \\+ " + i + "\\]");
  statement = std::regex_replace(statement, same, "four[@]");
  std::string made = fmt::format(
      "for (int {0} = 0; {0} < {1}; {0} += 4) {{\n"
      "    typedef {2} Four __attribute__((ext_vector_type(4), aligned(4)));\n"
      "    const Four four = *(const Four*)({3} + {4} * {1} + {0});\n",
      i, count, type, in, record);
  for (int lane = 0; lane < 4; ++lane) {
    std::string one = std::regex_replace(statement, std::regex("\\b" + i + "\\b"),
                                         fmt::format("({} + {})", i, lane));
    for (size_t at = one.find('@'); at != std::string::npos; at = one.find('@'))
      one.replace(at, 1, std::to_string(lane));
    made += "    { " + one + " }\n";
  }
  return replace_body(source, *span,
                      body.substr(0, begin) + made + "  }" + body.substr(inside->second));
}

class RuleProvider final : public Provider {
 public:
  std::string name() const override { return "rules"; }

  Result<Proposed> propose(const Json& request) override {
    RuleFacts facts;
    try {
      facts.kernel = request.at("kernel").at("short_name").get<std::string>();
      for (size_t axis = 0; axis < 3; ++axis)
        facts.workgroup[axis] = request.at("kernel").at("workgroup").at(axis).get<uint32_t>();
      for (const Rule& rule : rules()) {
        if (was_tried(rule, request.at("history"))) continue;
        for (const auto& [name, text] : request.at("sources").items()) {
          const Text made = rule.apply(text.get<std::string>(), facts);
          if (!made) continue;
          return Proposed{false, std::string(rule.name) + ": " + rule.what, {{name, *made}}};
        }
      }
    } catch (const Json::exception&) {
      return errorf("rules: the request lacks the kernel or its sources");
    }
    return Proposed{true, "no rule applies any more", {}};
  }

 private:
  // A rule is not tried again: what it made was accepted, or was no good.
  static bool was_tried(const Rule& rule, const Json& history) {
    return std::any_of(history.begin(), history.end(), [&](const Json& attempt) {
      return attempt.at("rationale").get<std::string>().starts_with(std::string(rule.name) + ": ");
    });
  }
};

}  // namespace

const std::vector<Rule>& rules() {
  static const std::vector<Rule> all = {
      {"tile", "transpose by way of a tile in LDS", transpose_by_tile},
      {"interchange", "neighbouring work-items access neighbouring elements", interchange},
      {"stage", "records copied to LDS side by side, and read there", stage_records},
      {"pad", "rows of LDS arrays one element longer, against bank conflicts", pad_lds},
      {"vectors", "four numbers side by side in one load", load_vectors},
      {"restrict", "pointers that do not overlap", restrict_pointers},
      {"walk", "pointers go along with the loop instead of indices that are multiplied",
       walk_pointers},
      {"unroll", "loops unrolled", unroll},
      {"launch-bounds", "the workgroup's size is known to the compiler", launch_bounds},
  };
  return all;
}

std::unique_ptr<Provider> make_rules() { return std::make_unique<RuleProvider>(); }

}  // namespace wavetap::optimize
