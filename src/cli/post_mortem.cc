#include "cli/post_mortem.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "analysis/kernel_name.h"
#include "cli/command.h"
#include "store/sqlite.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

constexpr int kLastDispatches = 5;  // per queue
constexpr int kMaxShown = 16;       // of anything

std::string milliseconds(int64_t ns) {
  return fmt::format("{:.3f} ms", static_cast<double>(ns) / 1e6);
}

std::string printable(std::string_view text) { return util::escape_control(text); }

// Runs a query and calls `row` for each of its rows; a trace without the table has none.
template <class Row>
void for_each_row(store::Db& db, const char* sql, Row&& row) {
  Result<store::Stmt> stmt = db.prepare(sql);
  if (!stmt.ok()) return;
  while (stmt->step()) row(*stmt);
}

std::string geometry(const store::Stmt& row, int first) {
  return fmt::format("grid {}x{}x{}, workgroup {}x{}x{}", row.int64(first), row.int64(first + 1),
                     row.int64(first + 2), row.int64(first + 3), row.int64(first + 4),
                     row.int64(first + 5));
}

}  // namespace

void print_post_mortem(const std::string& trace, int status) {
  Result<store::Db> db = store::Db::open_read_only(trace);
  if (!db.ok()) return;
  std::vector<std::string> lines;
  const auto line = [&](std::string text) { lines.push_back(std::move(text)); };

  // The end of a process, which may be long after the last thing it did.
  std::map<int64_t, int64_t> ends;
  int64_t last_end = 0;
  for_each_row(*db, "select pid, max(end) from wavetap_process group by pid",
               [&](const store::Stmt& row) {
                 ends[row.int64(0)] = row.int64(1);
                 last_end = std::max(last_end, row.int64(1));
               });
  const auto before_end = [&](int64_t pid, int64_t time) {
    const auto found = ends.find(pid);
    return milliseconds(
        std::max<int64_t>(0, (found == ends.end() ? last_end : found->second) - time));
  };

  for_each_row(
      *db, "select gpuId, address, what, owner, reason from wavetap_fault order by time limit 16",
      [&](const store::Stmt& row) {
        line(fmt::format("GPU {}: fault at {}: {}; {}", row.int64(0), row.text(1),
                         row.text(2).empty() ? fmt::format("reason {:#x}", row.int64(4))
                                             : printable(row.text(2)),
                         row.text(3)));
      });

  int shown = 0;
  for_each_row(*db,
               "select kind, gpuId, queueId, submitted, name, gridX, gridY, gridZ, workgroupX, "
               "workgroupY, workgroupZ, args, pid from wavetap_inflight "
               "where kind != 'barrier' order by submitted",
               [&](const store::Stmt& row) {
                 if (++shown > kMaxShown) return;
                 std::string text = fmt::format("in flight on GPU {}, queue {}: {}", row.int64(1),
                                                row.int64(2), printable(row.text(4)));
                 if (row.text(0) == "kernel") text += fmt::format(", {}", geometry(row, 5));
                 text += fmt::format(", submitted {} before the end",
                                     before_end(row.int64(12), row.int64(3)));
                 if (!row.text(11).empty()) text += fmt::format("; {}", printable(row.text(11)));
                 line(std::move(text));
               });
  if (shown > kMaxShown)
    line(fmt::format("and {} more in flight; see table wavetap_inflight", shown - kMaxShown));

  int64_t queue = -1;
  shown = 0;
  for_each_row(
      *db,
      "with ranked as (select o.*, d.gridX, d.gridY, d.gridZ, d.workgroupX, d.workgroupY, "
      "d.workgroupZ, row_number() over "
      "(partition by o.queueId order by o.end desc, o.id desc) as back from op o join "
      "wavetap_dispatch d on d.op_id = o.id) "
      "select gpuId, queueId, description, gridX, gridY, gridZ, workgroupX, workgroupY, "
      "workgroupZ, end, end - start, (select pid from wavetap_queue q where q.id = queueId) "
      "from ranked where back <= 5 order by queueId, back desc",
      [&](const store::Stmt& row) {
        if (++shown > kMaxShown) return;
        if (row.int64(1) != queue)
          line(fmt::format("last {} dispatches that finished on GPU {}, queue {}:", kLastDispatches,
                           row.int64(0), row.int64(1)));
        queue = row.int64(1);
        line(fmt::format("  {}, {}, took {}, ended {} before the end",
                         printable(analysis::short_kernel_name(row.text(2))), geometry(row, 3),
                         milliseconds(row.int64(10)), before_end(row.int64(11), row.int64(9))));
      });

  shown = 0;
  for_each_row(
      *db, "select tid, name, start, pid from wavetap_open_call order by start",
      [&](const store::Stmt& row) {
        if (++shown > kMaxShown) return;
        line(fmt::format("thread {} of process {} was in {} for {}", row.int64(0), row.int64(3),
                         printable(row.text(1)), before_end(row.int64(3), row.int64(2))));
      });
  if (lines.empty()) return;

  if (status >= 128 && status < 128 + 65) {
    const char* name = sigabbrev_np(status - 128);
    fmt::print(stderr, "wavetap: post-mortem: the program was ended by {}{}\n",
               name == nullptr ? "signal " : "SIG",
               name == nullptr ? std::to_string(status - 128) : name);
  } else {
    fmt::print(stderr, "wavetap: post-mortem: the program ended with status {}\n", status);
  }
  for (const std::string& text : lines) fmt::print(stderr, "wavetap:   {}\n", text);
}

}  // namespace wavetap::cli
