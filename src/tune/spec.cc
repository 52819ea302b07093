#include "tune/spec.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "proof/trial.h"
#include "util/file.h"
#include "util/pattern.h"
#include "util/text.h"

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

namespace wavetap::tune {
namespace {

// Reads keys of a table, and knows afterwards which were never asked for.
class Reader {
 public:
  Reader(const toml::table* table, std::string name) : table_(table), name_(std::move(name)) {}

  const toml::node* find(const char* key) {
    known_.emplace_back(key);
    return table_ == nullptr ? nullptr : table_->get(key);
  }
  std::string shown(const char* key) const { return name_.empty() ? key : name_ + "." + key; }

  Status text(const char* key, std::string& value) {
    const toml::node* node = find(key);
    if (node == nullptr) return {};
    const auto found = node->value_exact<std::string>();
    if (!found) return errorf("%s: not a text in quotes", shown(key).c_str());
    value = *found;
    return {};
  }
  template <class Number>
  Status number(const char* key, Number& value, double least, double most) {
    const toml::node* node = find(key);
    if (node == nullptr) return {};
    const auto found = node->is_number() ? node->value<double>() : std::nullopt;
    if (!found || !(*found >= least && *found <= most))
      return errorf("%s: not a number from %g to %g", shown(key).c_str(), least, most);
    value = static_cast<Number>(*found);
    return {};
  }
  Status number(const char* key, std::optional<uint32_t>& value, double least, double most) {
    uint32_t found = UINT32_MAX;
    const Status status = number(key, found, least, most);
    if (found != UINT32_MAX) value = found;
    return status;
  }
  Status expressions(const char* key, std::vector<Expression>& list, size_t most) {
    const toml::node* node = find(key);
    if (node == nullptr) return {};
    const toml::array* array = node->as_array();
    if (array == nullptr || array->size() > most)
      return errorf("%s: not a list of at most %zu expressions", shown(key).c_str(), most);
    for (const toml::node& item : *array) {
      std::string words;
      if (const auto word = item.value_exact<std::string>()) words = *word;
      else if (const auto number = item.value<double>(); number && item.is_number())
        words = to_text(Value(*number));
      else return errorf("%s: not a list of expressions in quotes", shown(key).c_str());
      Result<Expression> parsed = Expression::parse(words);
      if (!parsed.ok()) return errorf("%s: %s", shown(key).c_str(), parsed.error().message.c_str());
      list.push_back(std::move(*parsed));
    }
    return {};
  }
  // What was read last; an error when a key is in the table that nobody asked for.
  Status finish() const {
    if (table_ == nullptr) return {};
    for (const auto& [key, node] : *table_) {
      const std::string word(key.str());
      if (std::find(known_.begin(), known_.end(), word) != known_.end()) continue;
      const std::string near = util::nearest_name(word, known_);
      return errorf("%s: not known%s%s", shown(word.c_str()).c_str(),
                    near.empty() ? "" : "; did you mean ", near.c_str());
    }
    return {};
  }

 private:
  const toml::table* table_;
  std::string name_;
  std::vector<std::string> known_;
};

std::optional<Value> value_of(const toml::node& node) {
  if (const auto word = node.value_exact<std::string>()) return Value(*word);
  if (const auto flag = node.value_exact<bool>()) return Value(*flag ? 1.0 : 0.0);
  if (node.is_number())
    if (const auto number = node.value<double>(); number && std::isfinite(*number))
      return Value(*number);
  return std::nullopt;
}

// { from = 1, to = 8, step = 1 } or { powers = [1, 64] }.
Status read_range(const toml::table& table, const std::string& name, Parameter& parameter) {
  Reader reader(&table, "parameters." + name);
  double from = NAN, to = NAN, step = 1;
  Status status = reader.number("from", from, -1e15, 1e15);
  if (status.ok()) status = reader.number("to", to, -1e15, 1e15);
  if (status.ok()) status = reader.number("step", step, 1e-9, 1e15);
  const toml::node* powers = reader.find("powers");
  if (status.ok()) status = reader.finish();
  if (!status.ok()) return status;
  parameter.is_ordered = true;
  if (powers != nullptr) {
    const toml::array* ends = powers->as_array();
    const auto low =
        ends != nullptr && ends->size() == 2 ? (*ends)[0].value<double>() : std::nullopt;
    const auto high = low ? (*ends)[1].value<double>() : std::nullopt;
    if (!high || !(*low > 0) || !(*high >= *low) || !std::isfinite(*high))
      return errorf("parameters.%s.powers: not [LEAST, MOST], both above 0", name.c_str());
    for (double value = *low; value <= *high; value *= 2) parameter.values.emplace_back(value);
    return {};
  }
  if (!(to >= from) || (to - from) / step > 1e6)
    return errorf(
        "parameters.%s: not a range; write { from = 1, to = 8, step = 1 }, or "
        "{ powers = [1, 64] }, or a list",
        name.c_str());
  for (int i = 0; from + i * step <= to + step * 1e-9; ++i)
    parameter.values.emplace_back(from + i * step);
  return {};
}

Status read_parameter(const std::string& name, const toml::node& node, Parameter& parameter) {
  parameter.name = name;
  if (const toml::table* table = node.as_table()) return read_range(*table, name, parameter);
  const toml::array* list = node.as_array();
  if (list == nullptr || list->empty())
    return errorf("parameters.%s: not a list of values or a range", name.c_str());
  bool is_rising = true;
  for (const toml::node& item : *list) {
    const std::optional<Value> value = value_of(item);
    if (!value) return errorf("parameters.%s: values are numbers and words", name.c_str());
    is_rising = is_rising && is_number(*value) &&
                (parameter.values.empty() || parameter.values.back() < *value);
    if (std::find(parameter.values.begin(), parameter.values.end(), *value) !=
        parameter.values.end())
      return errorf("parameters.%s: %s is there twice", name.c_str(), to_text(*value).c_str());
    parameter.values.push_back(*value);
  }
  parameter.is_ordered = is_rising;
  return {};
}

Status read_parameters(const toml::node* node, Spec& spec) {
  const toml::table* table = node == nullptr ? nullptr : node->as_table();
  if (table == nullptr || table->empty())
    return errorf("parameters: none; name at least one, as in [parameters] TILE = [8, 16]");
  for (const auto& [key, value] : *table) {
    Parameter& parameter = spec.parameters.emplace_back();
    const std::string name(key.str());
    if (name == "out") return errorf("parameters.out: {out} is what the build makes; rename it");
    if (const Status status = read_parameter(name, value, parameter); !status.ok()) return status;
  }
  return {};
}

Status read_words(const toml::node* node, const char* name,
                  std::vector<std::pair<std::string, std::string>>& list) {
  if (node == nullptr) return {};
  const toml::table* table = node->as_table();
  if (table == nullptr) return errorf("%s: not a table", name);
  for (const auto& [key, value] : *table) {
    const std::optional<Value> found = value_of(value);
    if (!found) return errorf("%s.%s: not a text", name, std::string(key.str()).c_str());
    list.emplace_back(std::string(key.str()), to_text(*found));
  }
  return {};
}

Status check_pattern(const char* name, const std::string& pattern, bool wants_group) {
  const Result<util::Pattern> made = util::compile_pattern(pattern);
  if (!made.ok()) return errorf("%s: %s is not a regular expression", name, pattern.c_str());
  if (wants_group && made->groups() != 1)
    return errorf("%s: needs one group, the number, as in 'time: ([0-9.]+)'", name);
  return {};
}

Status read_measure(Reader reader, Spec& spec) {
  std::string sanitize;
  bool has_sanitize = false;
  Status status = reader.text("capture", spec.capture);
  if (status.ok()) status = reader.number("number", spec.capture_number, 1, 1e9);
  if (status.ok()) status = reader.text("gpu", spec.gpu);
  if (status.ok()) status = reader.text("program", spec.program);
  if (status.ok()) status = reader.text("kernel", spec.kernel);
  if (status.ok()) status = reader.text("metric", spec.metric);
  if (status.ok()) status = reader.text("check", spec.output_check);
  if (status.ok()) status = reader.number("runs", spec.runs, 1, 1000);
  if (status.ok()) status = reader.number("warmup", spec.warmup, 0, 1000);
  if (status.ok()) status = reader.number("timeout", spec.run_seconds, 0.1, 1e6);
  if (status.ok()) status = reader.text("verify", spec.verify);
  if (const toml::node* node = reader.find("sanitize")) {
    has_sanitize = !node->is_boolean() || node->value_or(false);
    if (const auto tools = node->value_exact<std::string>()) sanitize = *tools;
  }
  if (status.ok()) status = reader.finish();
  if (!status.ok()) return status;
  if (spec.capture.empty() == spec.program.empty())
    return errorf("measure: name either a capture or a program");
  if (!spec.program.empty()) {
    if (spec.kernel.empty() == spec.metric.empty())
      return errorf("measure: of a program, name either a kernel or a metric");
    spec.subject = spec.kernel.empty() ? Subject::kMetric : Subject::kKernel;
    if (spec.subject == Subject::kKernel && spec.gpu.empty()) spec.gpu = "rx6800xt";
  }
  if (!spec.metric.empty())
    if (status = check_pattern("measure.metric", spec.metric, true); !status.ok()) return status;
  status = check_pattern("measure.check", spec.output_check, false);
  if (!status.ok()) return status;
  const Result<replay::Tolerance> tolerance = replay::parse_tolerance(spec.verify);
  if (!tolerance.ok())
    return errorf("measure.verify: %s: not understood; write bits, abs=X, rel=X or ulp=N",
                  spec.verify.c_str());
  spec.tolerance = *tolerance;
  if (has_sanitize) {
    const Result<sanitize::ToolSet> tools = sanitize.empty()
                                                ? sanitize::ToolSet::dispatch_defaults()
                                                : sanitize::ToolSet::parse(sanitize);
    if (!tools.ok()) return errorf("measure.sanitize: %s", tools.error().message.c_str());
    spec.tools = *tools;
  }
  return {};
}

Status read_search(Reader reader, Spec& spec) {
  std::string strategy = "bayesian";
  Status status = reader.text("strategy", strategy);
  if (status.ok()) status = reader.number("seed", spec.search.seed, 0, 9e15);
  if (status.ok()) status = reader.number("budget", spec.budget, 1, 1e9);
  if (status.ok()) status = reader.number("batch", spec.batch, 1, 1024);
  if (status.ok()) status = reader.number("keep", spec.search.keep, 0.05, 0.9);
  if (status.ok()) status = reader.number("rounds", spec.search.rounds, 1, 10);
  if (status.ok()) status = reader.finish();
  if (!status.ok()) return status;
  const Result<Strategy> parsed = parse_strategy(strategy);
  if (!parsed.ok()) return errorf("search.strategy: %s", parsed.error().message.c_str());
  spec.search.strategy = *parsed;
  // Every point means every point.
  if (spec.budget == 0) spec.budget = *parsed == Strategy::kExhaustive ? 1e9 : 100;
  spec.search.budget = spec.budget;
  if (*parsed == Strategy::kHalving && spec.subject != Subject::kCapture)
    return errorf("search.strategy: halving runs parts of a dispatch, so it needs a capture");
  return {};
}

// What is known of what is measured.
std::vector<std::string> figure_names(Subject subject) {
  if (subject == Subject::kMetric) return {"metric"};
  std::vector<std::string> known;
  for (const proof::FigureRow& row : proof::kFigures)
    if (subject == Subject::kCapture || row.is_of_programs) known.emplace_back(row.name);
  return known;
}

Status read_objective(Reader reader, Spec& spec) {
  std::string minimise, maximise;
  Status status = reader.text("minimize", minimise);
  if (status.ok()) status = reader.text("maximize", maximise);
  if (status.ok()) status = reader.finish();
  if (!status.ok()) return status;
  if (!minimise.empty() && !maximise.empty())
    return errorf("objective: name either minimize or maximize");
  spec.maximise = !maximise.empty();
  if (spec.subject == Subject::kMetric) spec.objective = "metric";
  if (spec.maximise) spec.objective = maximise;
  if (!minimise.empty()) spec.objective = minimise;
  const std::vector<std::string> known = figure_names(spec.subject);
  if (std::find(known.begin(), known.end(), spec.objective) == known.end())
    return errorf("objective: %s is not a figure; there are %s", spec.objective.c_str(),
                  util::join(known, ", ").c_str());
  return {};
}

// Names in braces that no parameter has are left alone by substitute(): most likely a mistake.
Status check_names(const std::string& key, const std::vector<Expression>& list,
                   const std::vector<std::string>& known) {
  for (const Expression& expression : list)
    for (const std::string& name : expression.names())
      if (std::find(known.begin(), known.end(), name) == known.end())
        return errorf("%s: %s: no parameter or figure %s of what is measured; there are %s",
                      key.c_str(), expression.text().c_str(), name.c_str(),
                      util::join(known, ", ").c_str());
  return {};
}

Status check_all_names(const Spec& spec) {
  std::vector<std::string> known;
  for (const Parameter& parameter : spec.parameters) known.push_back(parameter.name);
  Status status = check_names("conditions", spec.conditions, known);
  if (status.ok()) status = check_names("launch.workgroup", spec.workgroup, known);
  if (status.ok()) status = check_names("launch.workgroups", spec.workgroups, known);
  for (const std::string& figure : figure_names(spec.subject)) known.push_back(figure);
  if (status.ok()) status = check_names("constraints", spec.constraints, known);
  return status;
}

Status read_baseline(const toml::node* node, Spec& spec) {
  std::vector<std::pair<std::string, std::string>> ignored;
  if (node == nullptr) return {};
  const toml::table* table = node->as_table();
  if (table == nullptr) return errorf("baseline: not a table of parameters");
  for (const auto& [key, value] : *table) {
    const std::optional<Value> found = value_of(value);
    if (!found) return errorf("baseline.%s: not a value", std::string(key.str()).c_str());
    spec.baseline[std::string(key.str())] = *found;
  }
  return {};
}

Status read_tables(const toml::table& root, Spec& spec) {
  Reader top(&root, "");
  Status status = top.text("name", spec.name);
  const auto part = [&](const char* name) {
    const toml::node* node = top.find(name);
    if (status.ok() && node != nullptr && !node->is_table())
      status = errorf("%s: not a table; write [%s]", name, name);
    return Reader(node == nullptr ? nullptr : node->as_table(), name);
  };
  if (status.ok()) status = read_parameters(top.find("parameters"), spec);
  if (status.ok()) status = top.expressions("conditions", spec.conditions, 1000);
  if (status.ok()) status = top.expressions("constraints", spec.constraints, 1000);
  if (status.ok()) status = read_words(top.find("environment"), "environment", spec.environment);
  Reader build = part("build");
  if (status.ok()) status = build.text("command", spec.build);
  if (status.ok()) status = build.number("timeout", spec.build_seconds, 0.1, 1e6);
  if (status.ok()) status = build.finish();
  Reader launch = part("launch");
  if (status.ok()) status = launch.expressions("workgroup", spec.workgroup, 3);
  if (status.ok()) status = launch.expressions("workgroups", spec.workgroups, 3);
  if (status.ok()) status = launch.finish();
  const Reader measure = part("measure"), objective = part("objective"), search = part("search");
  if (status.ok()) status = read_measure(measure, spec);
  if (status.ok()) status = read_objective(objective, spec);
  if (status.ok()) status = read_search(search, spec);
  if (status.ok()) status = read_baseline(top.find("baseline"), spec);
  if (status.ok()) status = top.finish();
  if (status.ok()) status = check_all_names(spec);
  if (!status.ok()) return status;
  if (spec.subject == Subject::kCapture && spec.build.empty())
    return errorf("build.command: a captured kernel needs a command that builds another one");
  if (!spec.build.empty() && spec.build.find("{out}") == std::string::npos)
    return errorf("build.command: nowhere {out}, the file that it is to make");
  return {};
}

uint64_t hash_of(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace

std::string Spec::full_path(const std::string& relative) const {
  return relative.empty() || relative[0] == '/' ? relative : folder + "/" + relative;
}

Result<Spec> parse_spec(const std::string& text, const std::string& path) {
  Spec spec;
  spec.path = path;
  const std::filesystem::path place = std::filesystem::absolute(path);
  spec.folder = place.parent_path().string();
  spec.name = place.stem().string();
  spec.hash = hash_of(text);
  const toml::parse_result parsed = toml::parse(std::string_view(text));
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    return errorf("%s:%u: %s", path.c_str(), static_cast<unsigned>(error.source().begin.line),
                  std::string(error.description()).c_str());
  }
  if (const Status status = read_tables(parsed.table(), spec); !status.ok())
    return errorf("%s: %s", path.c_str(), status.error().message.c_str());
  return spec;
}

Result<Spec> read_spec(const std::string& path) {
  const Result<std::vector<std::byte>> bytes = util::read_file(path);
  if (!bytes.ok()) return bytes.error();
  return parse_spec({reinterpret_cast<const char*>(bytes->data()), bytes->size()}, path);
}

}  // namespace wavetap::tune
