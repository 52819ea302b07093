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
#include "analysis/callstack_tables.h"
#include "analysis/callstack_tree.h"
#include "analysis/marker.h"
#include "store/derived_tables.h"

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

// By operator, kernel and sizes: kernels whose launch an operator's marker directly surrounds.
using KernelsByOperator =
    std::map<std::tuple<std::string_view, store::Str, std::string_view>, KernelSums>;

KernelsByOperator group_kernels(const store::Trace& trace, const CallTree& tree,
                                const std::vector<Call>& operators) {
  std::vector<uint32_t> operator_of(trace.apis.size(), kNoRow);
  for (uint32_t i = 0; i < operators.size(); ++i) operator_of[operators[i].row] = i;
  KernelsByOperator kernels;
  for (const store::KernelLaunch& launch : trace.launches) {
    const uint32_t parent = tree.parent[launch.api];
    if (parent == kNoRow || operator_of[parent] == kNoRow) continue;
    const Call& op = operators[operator_of[parent]];
    KernelSums& sums = kernels[{op.name(trace), launch.kernel, op.sizes(trace)}];
    ++sums.calls;
    sums.gpu += tree.gpu_self[launch.api];
  }
  return kernels;
}

Table kernel_table(const store::Trace& trace, const KernelsByOperator& kernels,
                   const Options& options) {
  Table table{.name = "kernels",
              .title = "Kernels by operator",
              .columns = {{"operator", "OPERATOR"},
                          {"kernel", "KERNEL", Unit::kKernel},
                          {"sizes", "SIZES"},
                          {"calls", "CALLS", Unit::kCount},
                          {"avg_gpu_ns", "AVG", Unit::kNs},
                          {"total_gpu_ns", "TOTAL", Unit::kNs}}};
  for (const auto& [key, sums] : kernels)
    table.rows.push_back({std::string(std::get<0>(key)), std::string(trace.str(std::get<1>(key))),
                          std::string(std::get<2>(key)), sums.calls,
                          static_cast<double>(sums.gpu) / static_cast<double>(sums.calls),
                          sums.gpu});
  sort_rows(table, 5);
  cut_to_top(table, options);
  return table;
}

struct PairSums {
  int64_t calls = 0, forward_gpu = 0, backward_gpu = 0;
};

// By the names of a forward operator and of what the backward pass made of it.
using Pairs = std::map<std::pair<std::string_view, std::string_view>, PairSums>;

// Joined by sequence number within each process.
Pairs group_pairs(const store::Trace& trace, const CallTree& tree,
                  const std::vector<Call>& operators) {
  // Nested operators share the number; the outermost of each side names the pair.
  struct Sides {
    uint32_t forward = kNoRow, backward = kNoRow;  // indices of operators
  };
  std::unordered_map<SequenceKey, Sides, SequenceKey::Hash> by_seq;
  by_seq.reserve(operators.size() / 2);
  const auto begins = [&](uint32_t i) { return trace.apis.start[operators[i].row]; };
  for (uint32_t i = 0; i < operators.size(); ++i) {
    const Call& op = operators[i];
    const std::string_view seq = op.seq(trace);
    if (seq.empty()) continue;
    Sides& sides = by_seq[{trace.threads[trace.apis.thread[op.row]].pid, seq}];
    uint32_t& side =
        op.name(trace).find("Backward") != std::string_view::npos ? sides.backward : sides.forward;
    if (side == kNoRow || begins(i) < begins(side)) side = i;
  }
  Pairs pairs;
  for (const auto& [seq, sides] : by_seq) {
    if (sides.forward == kNoRow || sides.backward == kNoRow) continue;
    const Call& f = operators[sides.forward];
    const Call& b = operators[sides.backward];
    PairSums& pair = pairs[{f.name(trace), b.name(trace)}];
    ++pair.calls;
    pair.forward_gpu += tree.gpu_total[f.row];
    pair.backward_gpu += tree.gpu_total[b.row];
  }
  return pairs;
}

Table pair_table(const Pairs& pairs, const Options& options) {
  Table table{.name = "pairs",
              .title = "Forward operators and their backward counterparts",
              .columns = {{"forward", "FORWARD"},
                          {"backward", "BACKWARD"},
                          {"calls", "CALLS", Unit::kCount},
                          {"forward_gpu_ns", "FWD GPU", Unit::kNs},
                          {"backward_gpu_ns", "BWD GPU", Unit::kNs}}};
  for (const auto& [names, pair] : pairs)
    table.rows.push_back({std::string(names.first), std::string(names.second), pair.calls,
                          pair.forward_gpu, pair.backward_gpu});
  std::stable_sort(table.rows.begin(), table.rows.end(), [](const auto& a, const auto& b) {
    return std::get<int64_t>(a[3]) + std::get<int64_t>(a[4]) >
           std::get<int64_t>(b[3]) + std::get<int64_t>(b[4]);
  });
  cut_to_top(table, options);
  return table;
}

Result<Report> analyze_autograd(const store::Trace& trace, const Options& options) {
  const Found found = find_operators(trace);
  const CallTree tree = build_call_tree(trace);
  Report report;
  report.facts.push_back(
      {"operators", "operator calls", Unit::kCount, static_cast<int64_t>(found.operators.size())});
  report.tables.push_back(
      kernel_table(trace, group_kernels(trace, tree, found.operators), options));
  if (Table pairs = pair_table(group_pairs(trace, tree, found.operators), options);
      !pairs.rows.empty())
    report.tables.push_back(std::move(pairs));
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

// Numbers of texts in the file's rocpd_string; one that is not there yet is added.
class FileStrings {
 public:
  static Result<FileStrings> open(store::Db& db) {
    Result<store::Stmt> known =
        db.prepare("select id from rocpd_string where string = ? order by id limit 1");
    if (!known.ok()) return known.error();
    Result<store::Stmt> add =
        db.prepare("insert into rocpd_string (string) values (?) returning id");
    if (!add.ok()) return add.error();
    return FileStrings(std::move(*known), std::move(*add));
  }

  int64_t id(std::string_view text) {
    const auto [it, is_new] = ids_.emplace(text, 0);
    if (!is_new) return it->second;
    for (store::Stmt* stmt : {&known_, &add_}) {
      stmt->bind(1, text);
      const bool found = stmt->step();
      if (found) it->second = stmt->int64(0);
      stmt->reset();
      if (found) break;
    }
    return it->second;
  }

  Status status() const { return known_.status().ok() ? add_.status() : known_.status(); }

 private:
  FileStrings(store::Stmt known, store::Stmt add)
      : known_(std::move(known)), add_(std::move(add)) {}
  store::Stmt known_, add_;
  std::unordered_map<std::string_view, int64_t> ids_;
};

Status write_autograd(const std::string& path, const store::Trace& trace, const Options& options) {
  // The views stand on the call-stack table.
  if (Status s = write_callstack(path, trace, options); !s.ok()) return s;
  Result<store::DerivedWriter> writer = store::DerivedWriter::begin(path, store::kAutogradTables);
  if (!writer.ok()) return writer.error();
  Result<FileStrings> strings = FileStrings::open(writer->db());
  if (!strings.ok()) return strings.error();
  Result<store::Stmt> insert =
      writer->db().prepare("insert into ext_autogradapi values (?, ?, ?, ?, ?, ?)");
  if (!insert.ok()) return insert.error();
  for (uint32_t row = 0; row < trace.apis.size(); ++row) {
    if (find_marker_numbers(trace.args(row)) == std::string_view::npos) continue;
    const std::optional<Operator> op = parse_operator(trace.args(row));
    if (!op) continue;
    insert->bind(1, trace.apis.id[row]);
    insert->bind(2, strings->id(op->name));
    insert->bind(3, op->seq);
    insert->bind(4, op->op_id);
    insert->bind(5, op->sizes);
    insert->bind(6, op->inputs);
    insert->run();
  }
  if (!insert->status().ok()) return insert->status();
  if (Status s = strings->status(); !s.ok()) return s;
  return writer->commit();
}

}  // namespace

extern const Analysis kAutograd{.name = "autograd",
                                .help = "which PyTorch operator launched which kernels",
                                .needs_args = true,
                                .run = analyze_autograd,
                                .write = write_autograd};

}  // namespace wavetap::analysis
