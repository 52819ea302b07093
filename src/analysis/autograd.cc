// autograd: which PyTorch operator launched which kernels. PyTorch's profiler markers carry the
// operator in their text, "aten::mm, seq = 3, op_id = 17, sizes = [[8, 8], [8, 8]], input_op_ids =
// [...]"; a kernel belongs to the operator whose marker directly surrounds its launch. Operators of
// one forward pass and their backward counterparts share a sequence number.
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "analysis/analysis.h"
#include "analysis/callstack_tree.h"
#include "analysis/marker.h"
#include "store/sqlite.h"

namespace wavetap::analysis {
namespace {

using store::kNoRow;

// The texts are parts of the marker's own.
struct Operator {
  std::string_view name;
  std::string_view seq;  // digits, or "" when the marker has none
  std::string_view op_id;
  std::string_view sizes;
  std::string_view inputs;
};

bool all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Splits `text` at its last `mark` when what follows is all digits: "<head><mark><digits>".
bool take_number(std::string_view& text, std::string_view mark, std::string_view& digits) {
  const size_t at = text.rfind(mark);
  if (at == std::string_view::npos || !all_digits(text.substr(at + mark.size()))) return false;
  digits = text.substr(at + mark.size());
  text = text.substr(0, at);
  return true;
}

// The name with its numbers: "<name>[, seq = N], op_id = N".
bool parse_head(std::string_view head, bool with_seq, Operator& out) {
  out.seq = {};
  if (!take_number(head, kMarkerOpId, out.op_id)) return false;
  if (with_seq && !take_number(head, kMarkerSeq, out.seq)) return false;
  out.name = head;
  return !out.name.empty();
}

std::optional<Operator> parse_operator(std::string_view text) {
  Operator out;
  // Long form. The texts of sizes and names may themselves contain the marks; the last fit wins.
  if (const size_t inputs = text.rfind(kMarkerInputs); inputs != std::string_view::npos) {
    const std::string_view before = text.substr(0, inputs);
    for (const bool with_seq : {true, false})
      for (size_t at = before.rfind(kMarkerSizes); at != std::string_view::npos;
           at = at == 0 ? std::string_view::npos : before.rfind(kMarkerSizes, at - 1))
        if (parse_head(before.substr(0, at), with_seq, out)) {
          out.sizes = before.substr(at + kMarkerSizes.size());
          out.inputs = text.substr(inputs + kMarkerInputs.size());
          return out;
        }
  }
  for (const bool with_seq : {true, false})
    if (parse_head(text, with_seq, out)) return out;
  return std::nullopt;
}

// What most of the analysis needs of an operator; there may be millions, so they know where in the
// marker's text each part lies.
class Call {
 public:
  Call(uint32_t api_row, std::string_view text, const Operator& op)
      : row(api_row), name_(text, op.name), seq_(text, op.seq), sizes_(text, op.sizes) {}

  uint32_t row;
  std::string_view name(const store::Trace& trace) const { return name_.of(trace.args(row)); }
  std::string_view seq(const store::Trace& trace) const { return seq_.of(trace.args(row)); }
  std::string_view sizes(const store::Trace& trace) const { return sizes_.of(trace.args(row)); }

 private:
  struct Part {
    Part(std::string_view text, std::string_view part)
        : at(part.empty() ? 0 : static_cast<uint32_t>(part.data() - text.data())),
          size(static_cast<uint32_t>(part.size())) {}
    std::string_view of(std::string_view text) const { return text.substr(at, size); }
    uint32_t at, size;
  };
  Part name_, seq_, sizes_;
};

struct Found {
  std::vector<Call> operators;
  uint64_t unreadable = 0;
};

Found find_operators(const store::Trace& trace) {
  Found found;
  const store::Str marker = trace.strings.find("UserMarker");
  found.operators.reserve(
      static_cast<size_t>(std::count(trace.apis.name.begin(), trace.apis.name.end(), marker)));
  for (uint32_t row = 0; row < trace.apis.size(); ++row) {
    const std::string_view text = trace.args(row);
    if (find_marker_numbers(text) == std::string_view::npos) continue;
    if (const std::optional<Operator> op = parse_operator(text)) {
      found.operators.emplace_back(row, text, *op);
    } else {
      ++found.unreadable;
    }
  }
  return found;
}

struct SequenceKey {
  int64_t pid = 0;
  std::string_view seq;
  bool operator==(const SequenceKey&) const = default;
  struct Hash {
    size_t operator()(const SequenceKey& key) const {
      return std::hash<std::string_view>()(key.seq) ^
             static_cast<size_t>(key.pid) * 0x9e3779b97f4a7c15u;
    }
  };
};

struct KernelSums {
  int64_t calls = 0;
  int64_t gpu = 0;
};

Result<Report> run(const store::Trace& trace, const Options& options) {
  const Found found = find_operators(trace);
  const CallTree tree = build_call_tree(trace);
  std::vector<uint32_t> operator_of(trace.apis.size(), kNoRow);
  for (uint32_t i = 0; i < found.operators.size(); ++i) operator_of[found.operators[i].row] = i;

  std::map<std::tuple<std::string_view, store::Str, std::string_view>, KernelSums> kernels;
  for (const store::KernelLaunch& launch : trace.launches) {
    const uint32_t parent = tree.parent[launch.api];
    if (parent == kNoRow || operator_of[parent] == kNoRow) continue;
    const Call& op = found.operators[operator_of[parent]];
    KernelSums& sums = kernels[{op.name(trace), launch.kernel, op.sizes(trace)}];
    ++sums.calls;
    sums.gpu += tree.gpu_self[launch.api];
  }

  Report report;
  report.facts.push_back(
      {"operators", "operator calls", Unit::kCount, static_cast<int64_t>(found.operators.size())});
  Table table{"kernels",
              "Kernels by operator",
              {{"operator", "OPERATOR"},
               {"kernel", "KERNEL", Unit::kKernel},
               {"sizes", "SIZES"},
               {"calls", "CALLS", Unit::kCount},
               {"avg_gpu_ns", "AVG", Unit::kNs},
               {"total_gpu_ns", "TOTAL", Unit::kNs}},
              {},
              0};
  for (const auto& [key, sums] : kernels)
    table.rows.push_back({std::string(std::get<0>(key)), std::string(trace.str(std::get<1>(key))),
                          std::string(std::get<2>(key)), sums.calls,
                          static_cast<double>(sums.gpu) / static_cast<double>(sums.calls),
                          sums.gpu});
  std::stable_sort(table.rows.begin(), table.rows.end(), [](const auto& a, const auto& b) {
    return std::get<int64_t>(a[5]) > std::get<int64_t>(b[5]);
  });
  cut_to_top(table, options);
  report.tables.push_back(std::move(table));

  // Forward operators and what the backward pass made of them, joined by sequence number per
  // process.
  struct Pair {
    int64_t calls = 0, forward_gpu = 0, backward_gpu = 0;
  };
  // Nested operators share the number; the outermost of each side names the pair.
  struct Sides {
    uint32_t forward = kNoRow, backward = kNoRow;  // indices of operators
  };
  std::unordered_map<SequenceKey, Sides, SequenceKey::Hash> by_seq;
  by_seq.reserve(found.operators.size() / 2);
  const auto begins = [&](uint32_t i) { return trace.apis.start[found.operators[i].row]; };
  for (uint32_t i = 0; i < found.operators.size(); ++i) {
    const Call& op = found.operators[i];
    const std::string_view seq = op.seq(trace);
    if (seq.empty()) continue;
    Sides& sides = by_seq[{trace.threads[trace.apis.thread[op.row]].pid, seq}];
    uint32_t& side =
        op.name(trace).find("Backward") != std::string_view::npos ? sides.backward : sides.forward;
    if (side == kNoRow || begins(i) < begins(side)) side = i;
  }
  std::map<std::pair<std::string_view, std::string_view>, Pair> pairs;
  for (const auto& [seq, sides] : by_seq) {
    if (sides.forward == kNoRow || sides.backward == kNoRow) continue;
    const Call& f = found.operators[sides.forward];
    const Call& b = found.operators[sides.backward];
    Pair& pair = pairs[{f.name(trace), b.name(trace)}];
    ++pair.calls;
    pair.forward_gpu += tree.gpu_total[f.row];
    pair.backward_gpu += tree.gpu_total[b.row];
  }
  Table paired{"pairs",
               "Forward operators and their backward counterparts",
               {{"forward", "FORWARD"},
                {"backward", "BACKWARD"},
                {"calls", "CALLS", Unit::kCount},
                {"forward_gpu_ns", "FWD GPU", Unit::kNs},
                {"backward_gpu_ns", "BWD GPU", Unit::kNs}},
               {},
               0};
  for (const auto& [names, pair] : pairs)
    paired.rows.push_back({std::string(names.first), std::string(names.second), pair.calls,
                           pair.forward_gpu, pair.backward_gpu});
  std::stable_sort(paired.rows.begin(), paired.rows.end(), [](const auto& a, const auto& b) {
    return std::get<int64_t>(a[3]) + std::get<int64_t>(a[4]) >
           std::get<int64_t>(b[3]) + std::get<int64_t>(b[4]);
  });
  cut_to_top(paired, options);
  if (!paired.rows.empty()) report.tables.push_back(std::move(paired));

  if (found.operators.empty())
    report.notes.push_back(
        "no operator markers; run PyTorch with "
        "torch.autograd.profiler.emit_nvtx(record_shapes=True)");
  if (found.unreadable > 0)
    report.notes.push_back(std::to_string(found.unreadable) +
                           " markers look like operators but cannot be read");
  report.notes.push_back(
      "a kernel counts for the operator whose marker directly surrounds its launch");
  return report;
}

constexpr const char* kTables = R"sql(
drop view if exists autogradKernel;
drop view if exists _autogradKernel;
drop view if exists _callstack_autograd_kernel_exclusive;
drop view if exists _callstack_autograd_kernel;
drop view if exists autograd;
drop table if exists ext_autogradapi;
create table ext_autogradapi (api_ptr_id integer not null primary key references rocpd_api (id) deferrable initially deferred,
  autogradName_id integer not null references rocpd_string (id) deferrable initially deferred,
  seq integer not null, op_id integer not null, sizes varchar(4096) not null, input_op_ids varchar(4096) not null);
create view autograd as
  select a.id, a.pid, a.tid, a.start, a.end, a.apiName, a.args, n.string as autogradName, x.seq, x.op_id, x.sizes, x.input_op_ids
  from ext_autogradapi x join api a on a.id = x.api_ptr_id join rocpd_string n on n.id = x.autogradName_id;
create view _callstack_autograd_kernel as
  select c.parent_id, c.child_id, c.depth, c.cpu_time, c.gpu_time, x.autogradName_id, x.sizes, k.kernelName_id
  from ext_callstack c join ext_autogradapi x on x.api_ptr_id = c.parent_id
  join rocpd_kernelapi k on k.api_ptr_id = c.child_id;
create view _callstack_autograd_kernel_exclusive as select * from _callstack_autograd_kernel where depth = 1;
create view _autogradKernel as
  select autogradName_id, kernelName_id, sizes, count(*) as calls, avg(gpu_time) as avg_gpu, sum(gpu_time) as total_gpu
  from _callstack_autograd_kernel_exclusive group by autogradName_id, kernelName_id, sizes;
create view autogradKernel as
  select n.string as autogradName, k.string as kernelName, g.sizes, g.calls, g.avg_gpu, g.total_gpu
  from _autogradKernel g join rocpd_string n on n.id = g.autogradName_id join rocpd_string k on k.id = g.kernelName_id;
)sql";

Status write(const std::string& path, const store::Trace& trace, const Options& options) {
  // The views stand on the call-stack table.
  if (Status s = find_analysis("callstack")->write(path, trace, options); !s.ok()) return s;
  Result<store::Db> db = store::Db::open_read_write(path);
  if (!db.ok()) return db.error();
  if (Status s = db->exec("begin immediate"); !s.ok()) return s;
  if (Status s = db->exec(kTables); !s.ok()) return s;

  std::unordered_map<std::string_view, int64_t> string_ids;
  Result<store::Stmt> known =
      db->prepare("select id from rocpd_string where string = ? order by id limit 1");
  if (!known.ok()) return known.error();
  Result<store::Stmt> add =
      db->prepare("insert into rocpd_string (string) values (?) returning id");
  if (!add.ok()) return add.error();
  const auto string_id = [&](std::string_view text) {
    const auto [it, is_new] = string_ids.emplace(text, 0);
    if (!is_new) return it->second;
    known->reset();
    known->bind(1, text);
    if (known->step()) return it->second = known->int64(0);
    add->reset();
    add->bind(1, text);
    if (add->step()) it->second = add->int64(0);
    add->reset();
    return it->second;
  };
  Result<store::Stmt> insert = db->prepare("insert into ext_autogradapi values (?, ?, ?, ?, ?, ?)");
  if (!insert.ok()) return insert.error();
  for (uint32_t row = 0; row < trace.apis.size(); ++row) {
    if (find_marker_numbers(trace.args(row)) == std::string_view::npos) continue;
    const std::optional<Operator> parsed = parse_operator(trace.args(row));
    if (!parsed) continue;
    const Operator& op = *parsed;
    insert->bind(1, trace.apis.id[row]);
    insert->bind(2, string_id(op.name));
    insert->bind(3, op.seq);
    insert->bind(4, op.op_id);
    insert->bind(5, op.sizes);
    insert->bind(6, op.inputs);
    insert->run();
  }
  if (!insert->status().ok()) return insert->status();
  if (Status s = db->exec(
          "delete from rocpd_metadata where tag in ('Autograd::Table', 'Autograd::Generated');"
          "insert into rocpd_metadata (tag, value) values ('Autograd::Table', 'True'), "
          "('Autograd::Generated', 'True'), "
          "('references::rocpd_string.id', '(\"ext_autogradapi\", \"autogradName_id\")')");
      !s.ok())
    return s;
  known->reset();
  return db->exec("commit");
}

}  // namespace

extern const Analysis kAutograd{"autograd",
                                "which PyTorch operator launched which kernels",
                                "",
                                /*needs_args=*/true,
                                false,
                                run,
                                write};

}  // namespace wavetap::analysis
