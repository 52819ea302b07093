#include "inspect/probe_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "amd/gfx_target.h"
#include "util/file.h"
#include "util/json.h"
#include "util/text.h"

namespace wavetap::inspect {
namespace {

uint64_t hex(const Json& value) {
  return value.is_string() ? util::parse_unsigned(value.get<std::string>()).value_or(0) : 0;
}

// {"columns": [...], "rows": [[...], ...]}
class Rows {
 public:
  explicit Rows(const Json& table) : table_(table) {
    if (!table.is_object() || !table.contains("columns") || !table["columns"].is_array()) return;
    for (size_t i = 0; i < table["columns"].size(); ++i)
      if (table["columns"][i].is_string()) at_[table["columns"][i].get<std::string>()] = i;
  }
  template <class F>
  void for_each(F&& f) {
    if (!table_.is_object() || !table_.contains("rows") || !table_["rows"].is_array()) return;
    for (const Json& row : table_["rows"]) {
      row_ = &row;
      if (row.is_array() && row.size() >= at_.size()) f(*this);
    }
  }
  const Json& value(const char* column) const {
    static const Json kNothing;
    const auto found = at_.find(column);
    return found == at_.end() ? kNothing : (*row_)[found->second];
  }
  uint64_t count(const char* column) const {
    const Json& found = value(column);
    return found.is_number_unsigned() ? found.get<uint64_t>() : 0;
  }
  uint32_t small(const char* column) const { return static_cast<uint32_t>(count(column)); }
  template <class F>
  void for_each_column(F&& f) const {
    for (const auto& [name, at] : at_) {
      const Json& found = (*row_)[at];
      if (found.is_number_unsigned()) f(name, uint64_t{found});
    }
  }

 private:
  const Json& table_;
  const Json* row_ = nullptr;
  std::map<std::string, size_t> at_;
};

// One process's lines.
class Reader {
 public:
  Reader(ProbeResults& results, const std::string& folder) : results_(results), folder_(folder) {}

  void begin_process() {
    ++results_.processes;
    codes_.clear();
    pending_.clear();
    session_.clear();
  }
  void add(Json line);
  void end_process();

 private:
  void add_code(const Json& line);
  void add_dispatch(const Json& line);
  void add_result(ProbedKernel& kernel, const std::string& handler, const Json& data);
  void add_memory(ProbedKernel& kernel, const Json& data);
  void add_blocks(ProbedKernel& kernel, const Json& data);
  void add_values(ProbedKernel& kernel, const Json& data);
  void add_heat(ProbedKernel& kernel, const Json& data);
  // False: a code that nothing is known about.
  bool key_of(uint64_t code, uint64_t site, SiteKey* key) const {
    const auto found = codes_.find(code);
    if (found == codes_.end()) return false;
    *key = {found->second, static_cast<uint32_t>(site)};
    return true;
  }
  bool key_of(const Rows& row, const char* code, const char* site, SiteKey* key) const {
    return key_of(row.count(code), row.count(site), key);
  }

  ProbeResults& results_;
  const std::string& folder_;
  std::map<uint64_t, uint32_t> codes_;                                     // to results_.codes
  std::map<uint64_t, std::vector<std::pair<std::string, Json>>> pending_;  // by dispatch
  std::map<std::string, Json> session_;
  std::map<std::tuple<std::string, uint64_t>, uint32_t> known_codes_;
  std::map<std::tuple<std::string, std::string, uint32_t>, size_t> known_kernels_;
};

void Reader::add(Json line) {
  const std::string type = line.is_object() ? util::text_in(line, "type") : "";
  if (type == "dispatch") {
    add_dispatch(line);
  } else if (type == "left_out") {
    ++results_.left_out;
  } else if (type == "code") {
    add_code(line);
  } else if (type == "result" && line.contains("data")) {
    const uint64_t dispatch = util::count_in(line, "dispatch");
    if (dispatch == 0) session_[util::text_in(line, "handler")] = std::move(line["data"]);
    else pending_[dispatch].emplace_back(util::text_in(line, "handler"), std::move(line["data"]));
  } else if (type == "refused") {
    results_.refused.emplace(util::text_in(line, "handler"), util::text_in(line, "why"));
  } else if (type == "lost") {
    results_.lost[util::text_in(line, "handler")] += util::count_in(line, "count");
  } else {
    ++results_.damaged;
  }
}

void Reader::end_process() {
  for (auto& [handler, data] : session_) results_.session[handler].push_back(std::move(data));
  // Results whose dispatch line is missing: killed in between.
  results_.damaged += pending_.size();
}

void Reader::add_code(const Json& line) {
  const std::string file = util::text_in(line, "file");
  const uint64_t linked = hex(line.value("linked", Json()));
  const std::string sites_of = util::text_in(line, "sites_of");
  const std::tuple place(file + sites_of, linked);
  const auto [known, is_new] =
      known_codes_.emplace(place, static_cast<uint32_t>(results_.codes.size()));
  codes_[util::count_in(line, "code")] = known->second;
  if (!is_new) return;
  ProbedCode& code = results_.codes.emplace_back();
  code.file = file;
  code.linked = linked;
  code.size_bytes = util::count_in(line, "size_bytes");
  code.address = hex(line.value("address", Json()));
  const bool wave64 = util::count_in(line, "wave_size") != 32;
  const std::optional<amd::GfxTarget> target = amd::parse_gfx_target(util::text_in(line, "target"));
  const Result<std::vector<std::byte>> bytes = util::read_file(folder_ + "/" + file);
  if (!bytes.ok() || !target) {
    code.problem = bytes.ok() ? "its target is not known" : bytes.error().message;
    return;
  }
  if (!sites_of.empty()) {
    Result<Listing> listing = list_sites(*bytes, sites_of, *target, wave64);
    if (!listing.ok()) {
      code.problem = listing.error().message;
      return;
    }
    code.listing = std::move(*listing);
    code.pass_kernel = code.listing.function;
    const Result<codeobj::CodeObject> object = codeobj::CodeObject::open(*bytes);
    const auto tables = read_sites(*bytes);
    if (object.ok() && tables.ok()) code.merged = find_merged(*object, tables->at(sites_of));
    return;
  }
  if (!file.ends_with(".co")) {
    code.listing = make_listing(*bytes, code.address, *target, wave64, nullptr);
    return;
  }
  const Result<codeobj::CodeObject> object = codeobj::CodeObject::open(*bytes);
  if (!object.ok()) {
    code.problem = object.error().message;
    return;
  }
  const codeobj::SourceMap map(object->elf());
  const std::span<const std::byte> at = object->elf().at_address(linked, code.size_bytes);
  code.listing = make_listing(at, linked, *target, wave64, &map);
  if (const codeobj::CodeSymbol* symbol = object->function_at(linked))
    code.listing.function = codeobj::demangle(symbol->name);
  for (const codeobj::Kernel& kernel : object->kernels())
    if (kernel.entry_address >= linked && kernel.entry_address < linked + code.size_bytes)
      code.arguments = kernel.args;
}

void Reader::add_dispatch(const Json& line) {
  ++results_.dispatches;
  const auto wave_size = static_cast<uint32_t>(util::count_in(line, "wave_size"));
  const std::tuple identity(util::text_in(line, "kernel"), util::text_in(line, "model"), wave_size);
  const auto [known, is_new] = known_kernels_.emplace(identity, results_.kernels.size());
  if (is_new) {
    ProbedKernel& made = results_.kernels.emplace_back();
    made.kernel = util::text_in(line, "kernel");
    made.model = util::text_in(line, "model");
    made.target = util::text_in(line, "target");
    made.wave_size = wave_size;
    made.line_bytes = static_cast<uint32_t>(util::count_in(line, "line_bytes"));
  }
  ProbedKernel& kernel = results_.kernels[known->second];
  ++kernel.dispatches;
  const std::string status = util::text_in(line, "status");
  kernel.faulted += status == "faulted";
  kernel.abandoned += status == "abandoned";
  if (kernel.fault.empty()) kernel.fault = util::text_in(line, "fault");
  if (line.contains("clock"))
    kernel.clock = {util::text_in(line, "clock"), util::count_in(line, "clock_bits"),
                    util::count_in(line, "clock_is_emulated") != 0};
  const auto pending = pending_.find(util::count_in(line, "dispatch"));
  if (pending == pending_.end()) return;
  for (const auto& [handler, data] : pending->second) add_result(kernel, handler, data);
  pending_.erase(pending);
}

void Reader::add_result(ProbedKernel& kernel, const std::string& handler, const Json& data) {
  ++kernel.told[handler];
  if (handler == "memory") return add_memory(kernel, data);
  if (handler == "blocks") return add_blocks(kernel, data);
  if (handler == "values") return add_values(kernel, data);
  if (handler == "heatmap") return add_heat(kernel, data);
  if (handler == "latency") {
    Rows(data).for_each([&](const Rows& row) {
      SiteKey key;
      if (!key_of(row, "code", "block", &key)) return;
      LatencyRow& sum = kernel.latency[key];
      sum.end = row.small("end");
      sum.count += row.count("count"), sum.lanes += row.count("lanes");
      sum.ticks += row.count("ticks"), sum.most = std::max(sum.most, row.count("most"));
    });
    return;
  }
  if (handler == "log") {
    kernel.log_records = std::max(kernel.log_records, util::count_in(data, "records"));
    return;
  }
  if (handler == "instructions") {
    Rows(data).for_each([&](const Rows& row) {
      SiteKey key;
      if (!key_of(row, "code", "site", &key)) return;
      ExecutionRow& sum = kernel.instructions[key];
      sum.count += row.count("count");
      sum.lanes += row.count("lanes");
    });
    return;
  }
  kernel.others[handler].push_back(data);
}

void Reader::add_memory(ProbedKernel& kernel, const Json& data) {
  Rows(data).for_each([&](const Rows& row) {
    SiteKey key;
    if (!key_of(row, "code", "site", &key)) return;
    const MemoryKind kind{row.small("space"), row.small("access"), row.small("flags"),
                          row.small("element_bytes")};
    MemoryRow& sum = kernel.memory[{key, kind}];
    row.for_each_column([&](const std::string& name, uint64_t value) { sum.sums[name] += value; });
    const uint64_t alignment = row.count("alignment");
    if (alignment != 0)
      sum.alignment = sum.alignment == 0 ? alignment : std::min(sum.alignment, alignment);
    if (row.count("ways") > sum.ways) {
      sum.ways = row.count("ways");
      sum.bank = row.count("bank");
      sum.conflicting = row.value("conflicting").is_string()
                            ? row.value("conflicting").get<std::string>()
                            : "0x0";
    }
    for (const Json& stride : row.value("strides"))
      if (stride.is_array() && stride.size() == 2 && stride[0].is_number_integer() &&
          stride[1].is_number_unsigned())
        sum.strides[stride[0].get<int64_t>()] += stride[1].get<uint64_t>();
    const Json& reuse = row.value("reuse");
    if (!reuse.is_array()) return;
    if (sum.reuse.size() < reuse.size()) sum.reuse.resize(reuse.size());
    for (size_t i = 0; i < reuse.size(); ++i)
      if (reuse[i].is_number_unsigned()) sum.reuse[i] += reuse[i].get<uint64_t>();
  });
}

void Reader::add_blocks(ProbedKernel& kernel, const Json& data) {
  Rows(data.value("blocks", Json())).for_each([&](const Rows& row) {
    SiteKey key;
    if (!key_of(row, "code", "block", &key)) return;
    BlockRow& sum = kernel.blocks[key];
    sum.end = row.small("end");
    sum.count += row.count("count");
    sum.lanes += row.count("lanes");
    sum.empty += row.count("empty");
  });
  Rows(data.value("edges", Json())).for_each([&](const Rows& row) {
    SiteKey from, to;
    if (!key_of(row, "code", "block", &to)) return;
    const Json& from_code = row.value("from_code");
    if (from_code.is_number_integer() && from_code.get<int64_t>() < 0)
      kernel.entries[to] += row.count("count");
    else if (key_of(row, "from_code", "from_block", &from))
      kernel.edges[{from, to}] += row.count("count");
  });
  Rows(data.value("masks", Json())).for_each([&](const Rows& row) {
    SiteKey key;
    if (!key_of(row, "code", "site", &key)) return;
    MaskRow& sum = kernel.masks[key];
    sum.kept += row.count("kept"), sum.none += row.count("none");
    sum.split += row.count("split"), sum.other += row.count("other");
    sum.lanes_before += row.count("lanes_before"), sum.lanes_after += row.count("lanes_after");
  });
}

template <class T>
void widen(std::optional<T>& least, std::optional<T>& most, const Json& range) {
  if (!range.is_array() || range.size() != 2) return;
  const T low = range[0].get<T>();
  const T high = range[1].get<T>();
  least = least ? std::min(*least, low) : low;
  most = most ? std::max(*most, high) : high;
}

void add_floats(FloatSummary& sum, const Json& range) {
  if (!range.is_array() || range.size() < 3) return;
  sum.seen = true;
  sum.nan += range[0].get<uint64_t>();
  sum.infinite += range[1].get<uint64_t>();
  sum.denormal += range[2].get<uint64_t>();
  if (range.size() == 5) widen(sum.least, sum.most, Json::array({range[3], range[4]}));
}

void Reader::add_values(ProbedKernel& kernel, const Json& data) {
  ++kernel.arguments[util::text_in(data, "arguments")];
  Rows(data).for_each([&](const Rows& row) {
    SiteKey key;
    if (!key_of(row, "code", "site", &key)) return;
    ValueRow& sum = kernel.values[key];
    sum.space = row.small("space"), sum.access = row.small("access");
    sum.element_bytes = row.small("element_bytes");
    sum.count += row.count("count"), sum.executions += row.count("executions");
    sum.uniform += row.count("uniform"), sum.zeros += row.count("zeros");
    sum.unknown += row.count("unknown");
    widen(sum.least, sum.most, row.value("unsigned"));
    widen(sum.least_signed, sum.most_signed, row.value("signed"));
    sum.constant = sum.constant && row.count("constant") != 0 && sum.least == sum.most;
    add_floats(sum.f16, row.value("f16"));
    add_floats(sum.f32, row.value("f32"));
    add_floats(sum.f64, row.value("f64"));
  });
}

void Reader::add_heat(ProbedKernel& kernel, const Json& data) {
  for (const Json& buffer : data.value("buffers", Json::array())) {
    const uint64_t address = hex(buffer.value("address", Json()));
    HeatBuffer& sum = kernel.heat[{address, util::count_in(buffer, "size_bytes")}];
    sum.address = address;
    sum.size_bytes = util::count_in(buffer, "size_bytes");
    sum.page_bytes = util::count_in(buffer, "page_bytes");
    sum.kind = util::text_in(buffer, "kind");
    Rows(buffer).for_each([&](const Rows& row) {
      HeatBuffer::Cell& cell =
          sum.cells[{row.count("page"), kernel.heat_times + row.count("time")}];
      cell.loads += row.count("loads");
      cell.stores += row.count("stores");
      cell.atomics += row.count("atomics");
    });
  }
  kernel.heat_times += util::count_in(data, "time_parts");
}

}  // namespace

const ListedSite* ProbeResults::site(SiteKey key) const {
  if (key.code >= codes.size() || key.site >= codes[key.code].listing.sites.size()) return nullptr;
  return &codes[key.code].listing.sites[key.site];
}

const wavetap_site* ProbeResults::facts(SiteKey key) const {
  if (key.code >= codes.size() || key.site >= codes[key.code].listing.facts.size()) return nullptr;
  return &codes[key.code].listing.facts[key.site];
}

Result<ProbeResults> read_probe_results(const std::string& folder) {
  ProbeResults results;
  std::error_code error;
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().extension() == ".lines") files.push_back(entry.path().string());
  if (error) return errorf("%s: cannot be read: %s", folder.c_str(), error.message().c_str());
  std::sort(files.begin(), files.end());
  Reader reader(results, folder);
  for (const std::string& file : files) {
    const Result<std::vector<std::byte>> bytes = util::read_file(file);
    if (!bytes.ok()) return bytes.error();
    const std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
    reader.begin_process();
    for (const std::string& line : util::split(text, '\n'))
      if (!line.empty()) reader.add(util::read_json(line));
    reader.end_process();
  }
  return results;
}

}  // namespace wavetap::inspect
