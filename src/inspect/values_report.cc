// The report of `values`: ranges by instruction, and arguments that are the same in all dispatches.
#include <fmt/format.h>

#include <algorithm>

#include "inspect/reports.h"
#include "util/table.h"
#include "util/text.h"

namespace wavetap::inspect {
namespace {

using util::Align;
using util::Table;

std::string integers_text(const ValueRow& row) {
  if (!row.least) return "";
  if (*row.least_signed < 0 && *row.most_signed >= 0)
    return fmt::format("{} … {}", *row.least_signed, *row.most_signed);
  return fmt::format("{} … {}", *row.least, *row.most);
}

std::string floats_text(const FloatSummary& floats) {
  if (!floats.seen) return "";
  std::string text =
      floats.least ? fmt::format("{:.4g} … {:.4g}", *floats.least, *floats.most) : "none finite";
  if (floats.nan != 0) text += fmt::format(", {} NaN", util::group_digits(floats.nan));
  if (floats.infinite != 0) text += fmt::format(", {} inf", util::group_digits(floats.infinite));
  return text;
}

// One of the kernel's visible arguments over all dispatches.
struct Argument {
  size_t number;  // from 0
  codeobj::KernelArg described;
  std::map<std::string, uint64_t> values;  // hexadecimal as in memory
};

std::vector<Argument> arguments_of(const ProbeResults& results, const ProbedKernel& kernel) {
  // The kernel's own code is where its waves begin or, without that, the first of its values.
  std::vector<Argument> arguments;
  const ProbedCode* code = nullptr;
  for (const auto& [key, row] : kernel.values)
    if (key.code < results.codes.size() && !results.codes[key.code].arguments.empty()) {
      code = &results.codes[key.code];
      break;
    }
  if (code == nullptr) return arguments;
  for (size_t i = 0; i < code->arguments.size(); ++i) {
    const codeobj::KernelArg& arg = code->arguments[i];
    if (arg.is_hidden()) continue;
    Argument& argument = arguments.emplace_back(Argument{i, arg, {}});
    for (const auto& [bytes, count] : kernel.arguments)
      if (bytes.size() >= 2 * (arg.offset + arg.size_bytes))
        argument.values[bytes.substr(2 * arg.offset, 2 * arg.size_bytes)] += count;
  }
  return arguments;
}

// Little-endian bytes as a number, where there are few enough.
std::string number_text(const std::string& bytes) {
  if (bytes.size() > 16 || bytes.empty()) return bytes;
  std::string digits;
  for (size_t i = bytes.size(); i >= 2; i -= 2) digits += bytes.substr(i - 2, 2);
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
  return "0x" + digits;
}

bool is_suspicious(const ValueRow& row) {
  // Dwords that are integers look like NaN now and then; those loaded as such always are.
  return row.f32.nan + row.f64.nan + row.f16.nan != 0;
}

}  // namespace

std::string values_text(const ProbeResults& results, const ProbedKernel& kernel,
                        const TextOptions& options) {
  std::string text;
  const std::vector<Argument> arguments = arguments_of(results, kernel);
  for (const Argument& argument : arguments) {
    const std::string name = argument.described.name.empty()
                                 ? fmt::format("argument {}", argument.number)
                                 : argument.described.name;
    if (argument.values.size() == 1)
      text += fmt::format("values: {} was {} in {}\n", name,
                          number_text(argument.values.begin()->first),
                          kernel.dispatches == 1 ? "the dispatch" : "all dispatches");
    else if (argument.values.size() > 1)
      text += fmt::format("values: {} had {} values\n", name, argument.values.size());
  }
  if (arguments.empty())
    text += "values: the layout of the arguments is not known, so nothing is said about them\n";
  if (kernel.values.empty())
    return text + "values: nothing was loaded or stored, so there are no ranges\n";
  Table table({{"  WHERE", Align::kLeft, true},
               {"INSTRUCTION"},
               {"COUNT", Align::kRight},
               {"ZERO", Align::kRight},
               {"AS INTEGER"},
               {"AS FLOAT"},
               {"NOTE"}});
  size_t shown = 0;
  for (const auto& [key, row] : kernel.values) {
    if (shown++ == options.rows) break;
    std::string note = row.constant && row.count > 1 ? "always the same" : "";
    if (note.empty() && row.executions > 1 && row.uniform == row.executions &&
        row.count > row.executions)
      note = "same in all lanes";
    if (row.unknown != 0) note = "values not known";
    const FloatSummary& floats = row.f16.seen ? row.f16 : row.f32;
    std::string float_text = floats_text(floats);
    if (row.element_bytes == 8 && row.f64.seen) float_text += " (f64 " + floats_text(row.f64) + ")";
    table.add({"  " + place_of(results, key), mnemonic_of(results, key),
               util::group_digits(row.count), percent(row.zeros, std::max(row.count, row.zeros)),
               integers_text(row), float_text, note});
  }
  text += table.text(options.columns);
  if (kernel.values.size() > options.rows)
    text += fmt::format("  … and {} more\n", kernel.values.size() - options.rows);
  const auto suspicious = std::count_if(kernel.values.begin(), kernel.values.end(),
                                        [](const auto& row) { return is_suspicious(row.second); });
  text += suspicious == 0
              ? fmt::format("values: read as floats, none of what {} instructions moved is NaN\n",
                            kernel.values.size())
              : fmt::format("values: {} moved values that are NaN when read as floats\n",
                            util::count_of(static_cast<uint64_t>(suspicious), "instruction"));
  return text;
}

Json values_json(const ProbeResults& results, const ProbedKernel& kernel) {
  Json arguments = Json::array();
  for (const Argument& argument : arguments_of(results, kernel)) {
    Json values = Json::array();
    for (const auto& [bytes, count] : argument.values)
      values.push_back({{"bytes", bytes}, {"dispatches", count}});
    arguments.push_back({{"argument", argument.number},
                         {"name", argument.described.name},
                         {"kind", argument.described.value_kind},
                         {"offset", argument.described.offset},
                         {"size_bytes", argument.described.size_bytes},
                         {"constant", argument.values.size() == 1},
                         {"values", std::move(values)}});
  }
  const auto floats = [](const FloatSummary& summary) -> Json {
    if (!summary.seen) return nullptr;
    Json described = {
        {"nan", summary.nan}, {"infinite", summary.infinite}, {"denormal", summary.denormal}};
    if (summary.least) described["min"] = *summary.least, described["max"] = *summary.most;
    return described;
  };
  Json sites = Json::array();
  for (const auto& [key, row] : kernel.values) {
    Json site = describe_site(results, key);
    site["space"] = space_name(row.space);
    site["access"] = access_name(row.access);
    site["element_bytes"] = row.element_bytes;
    site["count"] = row.count;
    site["executions"] = row.executions;
    site["uniform_executions"] = row.uniform;
    site["zeros"] = row.zeros;
    site["executions_without_values"] = row.unknown;
    site["constant"] = row.constant && row.count != 0;
    if (row.least) {
      site["unsigned"] = {{"min", *row.least}, {"max", *row.most}};
      site["signed"] = {{"min", *row.least_signed}, {"max", *row.most_signed}};
    }
    site["f16"] = floats(row.f16);
    site["f32"] = floats(row.f32);
    site["f64"] = floats(row.f64);
    sites.push_back(std::move(site));
  }
  return {{"arguments", std::move(arguments)}, {"sites", std::move(sites)}};
}

}  // namespace wavetap::inspect
