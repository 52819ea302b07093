// Trace: a whole .rpd file in columns, as analyses and exports want it. Reads schema 2 and 3, ours
// and RPD's own. Immutable once loaded; any thread may read it.
//
// Strings are interned: equal texts have equal Str numbers however many sessions wrote them, so
// analyses compare and group numbers. Argument texts (rocpd_ustring) are unique per call and can
// dwarf everything else; they are loaded only when asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/loaded_rows.h"

namespace wavetap::store {

// Interned texts. Views stay valid for the life of the table.
class Strings {
 public:
  Strings();
  ~Strings();
  Strings(Strings&&) noexcept;
  Strings& operator=(Strings&&) noexcept;
  Str intern(std::string_view text);
  // Number of `text`, or nothing-found = 0xffffffff.
  Str find(std::string_view text) const;
  std::string_view operator[](Str s) const { return texts_[s]; }
  size_t size() const { return texts_.size(); }

 private:
  struct Index;
  std::vector<std::string_view> texts_;
  std::unique_ptr<Index> index_;
};

struct Thread {
  int64_t pid = 0;
  int64_t tid = 0;
  auto operator<=>(const Thread&) const = default;
};

// Rows are in id order, which is not time order. Every vector has one element per row.
struct Apis {
  std::vector<int64_t> id;
  std::vector<int64_t> start;  // ns
  std::vector<int64_t> end;
  std::vector<uint32_t> thread;  // index into Trace::threads
  std::vector<Str> name;
  std::vector<Str> domain;  // "" in schema 2
  std::vector<Str> category;
  size_t size() const { return id.size(); }
};

struct Ops {
  std::vector<int64_t> id;
  std::vector<int32_t> gpu;
  std::vector<int32_t> queue;
  std::vector<int64_t> sequence;
  std::vector<int64_t> start;  // ns, same clock as Apis
  std::vector<int64_t> end;
  std::vector<Str> description;
  std::vector<Str> type;
  size_t size() const { return id.size(); }
  // The name a person wants: the description, or the type when there is none.
  Str name(size_t row) const { return description[row] != 0 ? description[row] : type[row]; }
};

// rocpd_api_ops, resolved to row numbers of Apis and Ops (kNoRow when the id does not exist).
struct Links {
  std::vector<int64_t> id;
  std::vector<uint32_t> api;
  std::vector<uint32_t> op;
  size_t size() const { return id.size(); }
};

struct KernelLaunch {
  uint32_t api = kNoRow;  // row of Apis
  Str stream = 0;
  int32_t grid[3] = {0, 0, 0};
  int32_t workgroup[3] = {0, 0, 0};
  int64_t group_segment_bytes = 0;
  int64_t private_segment_bytes = 0;
  Str kernel = 0;
};

struct Copy {
  uint32_t api = kNoRow;
  Str stream = 0;
  int64_t size_bytes = 0;
  int64_t width = 0;
  int64_t height = 0;
  int64_t kind = 0;
  Str dst = 0;  // as the program called it, also of RPD's own files, which hold them swapped
  Str src = 0;
  int64_t dst_device = 0;
  int64_t src_device = 0;
  bool sync = false;
  bool pinned = false;
};

// Something in the file that could not be taken as it stands. Shown by every command, never fatal.
struct Problem {
  std::string what;  // "rocpd_api.apiName_id names no string"
  uint64_t count = 0;
};

struct LoadOptions {
  bool apis = true;
  bool domains = true;  // Apis::domain and category; left empty otherwise
  bool ops = true;
  bool copies_and_launches = true;
  bool args = false;  // argument texts of calls: Trace::args(row)
  // With `args`: only those of functions for which this holds. Null means all.
  bool (*args_of)(std::string_view function) = nullptr;
  bool stack_frames = false;
  bool monitors = true;
  bool counters = true;
  bool dispatches = false;  // geometry and resources of every kernel execution
  // Called now and then with the share done, 0..1.
  std::function<void(double)> progress = nullptr;
};

// First and last time over calls and ops; both 0 when there are none.
struct Span {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t length() const { return end - begin; }
};

struct ArgTexts;  // arg_texts.h

class Trace {
 public:
  static Result<Trace> load(const std::string& path, const LoadOptions& options = {});

  Trace();
  ~Trace();
  Trace(Trace&&) noexcept;
  Trace& operator=(Trace&&) noexcept;

  std::string path;
  int schema_version = 3;
  std::multimap<std::string, std::string> metadata;
  Strings strings;
  std::vector<Thread> threads;
  Apis apis;
  Ops ops;
  Links links;
  std::vector<KernelLaunch> launches;  // in api order
  std::vector<Copy> copies;
  // Tables that are loaded row by row (loaded_rows.h), in the order of their ids but for libraries and
  // allocations (by time), stack frames (by call and depth) and counters (by op).
#define WT_LOADED_TABLE(table, Row, member, since, text) std::vector<Row> member;
#include "store/tables.inc"
  // The file has the table, even if nothing was allocated; and it tells what the program asked for
  // from what the runtime took for itself.
  bool has_allocations = false;
  bool has_asked_bytes = false;
  std::vector<Problem> problems;
  std::vector<std::string> warnings;  // what to know before believing anything in the file

  // Argument text of an api row; "" unless loaded with `args`.
  std::string_view args(size_t api_row) const;
  std::string_view str(Str s) const { return strings[s]; }
  // True when metadata says the GPU was emulated (key `emulated` = 1).
  bool is_emulated() const;
  Span span() const;
  // The producer key, "" for RPD's own files.
  std::string producer() const;
  // Row of an id, or kNoRow.
  uint32_t api_row(int64_t id) const;
  uint32_t op_row(int64_t id) const;

 private:
  std::unique_ptr<ArgTexts> arg_texts_;
};

}  // namespace wavetap::store
