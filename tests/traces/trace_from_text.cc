// Makes a trace from a text that a person can read and review; the fixtures of the command-line
// tests.
//
//   trace_from_text IN.txt OUT.rpd
//
// One row per line; what a word means depends on the first one:
//   meta KEY VALUE…
//   thread PID TID                             the calls below are made by it
//   call START END FUNCTION ARGS…
//   marker START END TEXT…
//   launch STREAM GRID WORKGROUP KERNEL…       what the call above launched
//   copy STREAM BYTES KIND                     what the call above copied
//   op GPU QUEUE START END TYPE DESCRIPTION…   what a GPU did for the call above
//   lone-op …                                  the same, for no call
//   frame DEPTH TEXT…                          a stack frame of the call above
//   monitor DEVICE KIND START END VALUE
//   library PID TIME HOW PATH SONAME FAMILY…
//   sql STATEMENT…                             run when all rows are in
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "store/schema.h"
#include "store/sqlite.h"

namespace {

using wavetap::Result;
using wavetap::Status;
using wavetap::store::Db;
using wavetap::store::Stmt;

[[noreturn]] void die(const std::string& message) {
  std::fprintf(stderr, "trace_from_text: %s\n", message.c_str());
  std::exit(1);
}

class Maker {
 public:
  explicit Maker(Db& db) : db_(db) {
    string_id("");
    text_id("");
  }

  void line(const std::string& text) {
    std::istringstream in(text);
    std::string kind;
    if (!(in >> kind) || kind[0] == '#') return;
    if (kind == "meta") {
      const std::string key = word(in);
      insert("rocpd_metadata (tag, value)", {key, rest(in)});
    } else if (kind == "thread") {
      pid_ = word(in);
      tid_ = word(in);
    } else if (kind == "call" || kind == "marker") {
      const std::string start = word(in), end = word(in);
      const std::string name = kind == "marker" ? "UserMarker" : word(in);
      const std::string domain = kind == "marker" ? "UserMarker" : "hip";
      call_ =
          std::to_string(kind == "marker" ? wavetap::store::kFirstMarkerId + markers_++ : ++calls_);
      insert("rocpd_api", {call_, pid_, tid_, start, end, string_id(name), string_id(""),
                           string_id(domain), text_id(rest(in))});
    } else if (kind == "launch") {
      const std::string stream = word(in), grid = word(in), workgroup = word(in);
      insert("rocpd_kernelapi",
             {call_, stream, grid, "1", "1", workgroup, "1", "1", "0", "0", string_id(rest(in))});
    } else if (kind == "copy") {
      const std::string stream = word(in), bytes = word(in);
      insert("rocpd_copyapi",
             {call_, stream, bytes, "0", "0", word(in), "0x10", "0x20", "0", "0", "0", "0"});
    } else if (kind == "op" || kind == "lone-op") {
      const std::string op = std::to_string(++ops_), gpu = word(in), queue = word(in),
                        start = word(in), end = word(in), type = word(in);
      insert("rocpd_op", {op, gpu, queue, "0", start, end, string_id(rest(in)), string_id(type)});
      if (kind == "op") insert("rocpd_api_ops (api_id, op_id)", {call_, op});
    } else if (kind == "frame") {
      const std::string depth = word(in);
      insert("rocpd_stackframe (api_ptr_id, depth, name_id)", {call_, depth, string_id(rest(in))});
    } else if (kind == "monitor") {
      const std::string device = word(in), what = word(in), start = word(in), end = word(in);
      insert("rocpd_monitor (deviceType, deviceId, monitorType, start, end, value)",
             {"gpu", device, what, start, end, word(in)});
    } else if (kind == "library") {
      if (!db_.has_table_or_view("wavetap_library"))
        if (Status s = create_wavetap_tables(db_); !s.ok()) die(s.error().message);
      const std::string pid = word(in), time = word(in), how = word(in), path = word(in),
                        soname = word(in);
      insert("wavetap_library (pid, time, how, path, soname, build_id, answers_for)",
             {pid, time, how, path, soname, "", rest(in)});
    } else if (kind == "sql") {
      sql_ += rest(in) + ";";
    } else {
      die("unknown line: " + text);
    }
  }

  void finish() {
    if (Status s = db_.exec(sql_); !s.ok()) die(s.error().message);
  }

 private:
  static std::string word(std::istringstream& in) {
    std::string out;
    if (!(in >> out)) die("a word is missing: " + in.str());
    return out;
  }
  static std::string rest(std::istringstream& in) {
    std::string out;
    std::getline(in >> std::ws, out);
    return out;
  }

  void insert(const char* table, std::initializer_list<std::string> values) {
    std::string sql = std::string("insert into ") + table + " values (";
    for (size_t i = 0; i < values.size(); ++i) sql += i == 0 ? "?" : ", ?";
    Result<Stmt> stmt = db_.prepare(sql + ")");
    if (!stmt.ok()) die(stmt.error().message);
    int index = 0;
    // Column affinity turns digits into numbers where the table wants them.
    for (const std::string& value : values) stmt->bind(++index, std::string_view(value));
    if (!stmt->run()) die(stmt->status().error().message);
  }

  std::string intern(std::map<std::string, std::string>& known, const char* table,
                     const std::string& text) {
    const auto [it, is_new] = known.emplace(text, std::to_string(known.size() + 1));
    if (is_new) insert(table, {it->second, text});
    return it->second;
  }
  std::string string_id(const std::string& text) { return intern(strings_, "rocpd_string", text); }
  std::string text_id(const std::string& text) { return intern(texts_, "rocpd_ustring", text); }

  Db& db_;
  std::map<std::string, std::string> strings_, texts_;
  std::string pid_ = "100", tid_ = "100", call_ = "0", sql_;
  int64_t calls_ = 0, markers_ = 0, ops_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) die("usage: trace_from_text IN.txt OUT.rpd");
  std::ifstream in(argv[1]);
  if (!in) die(std::string(argv[1]) + ": cannot be read");
  Result<Db> db = Db::create(argv[2]);
  if (!db.ok()) die(db.error().message);
  if (Status s = db->exec("pragma synchronous = off"); !s.ok()) die(s.error().message);
  if (Status s = create_schema(*db); !s.ok()) die(s.error().message);
  if (Status s = db->exec("begin"); !s.ok()) die(s.error().message);
  Maker maker(*db);
  for (std::string line; std::getline(in, line);) maker.line(line);
  maker.finish();
  if (Status s = db->exec("commit"); !s.ok()) die(s.error().message);
  if (Status s = create_indexes(*db); !s.ok()) die(s.error().message);
  return 0;
}
