// Which files there are: by their first bytes and names, in a folder and those below it.
#include <algorithm>
#include <cstring>
#include <filesystem>

#include "foreign/csv_table.h"
#include "foreign/recording.h"
#include "store/sqlite.h"
#include "util/file.h"

namespace wavetap::foreign {
namespace {

namespace fs = std::filesystem;

enum class Kind { kNone, kRocpd, kCsv, kJson };

// A database that is a trace of RPD's or ours is none of AMD's.
bool is_rocpd(const std::string& path) {
  Result<store::Db> db = store::Db::open_read_only(path);
  if (!db.ok()) return false;
  if (db->has_table_or_view("rocpd_api") || db->has_table_or_view("rocpd_op")) return false;
  const Result<int64_t> tables = db->query_int(
      "select count(*) from sqlite_master where name like 'rocpd\\_kernel\\_dispatch%' escape '\\' or "
      "name like 'rocpd\\_region%' escape '\\'");
  return tables.ok() && *tables > 0;
}

Kind kind_of(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  if (name.ends_with(".csv")) return Kind::kCsv;
  if (name.ends_with(".json")) return name.ends_with("results.json") ? Kind::kJson : Kind::kNone;
  if (name.ends_with(".db") || name.ends_with(".rpd") || name.ends_with(".rocpd"))
    return is_rocpd(path) ? Kind::kRocpd : Kind::kNone;
  return Kind::kNone;
}

std::vector<std::string> files_of(const std::string& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<std::string> files;
  std::error_code error;
  for (fs::recursive_directory_iterator
           it(path, fs::directory_options::skip_permission_denied, error),
       end;
       !error && it != end; it.increment(error)) {
    if (it.depth() > 6) it.disable_recursion_pending();
    if (it->is_regular_file(error)) files.push_back(it->path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool is_named(const std::string& path, const char* word) {
  return fs::path(path).filename().string().find(word) != std::string::npos;
}

}  // namespace

bool is_foreign(const std::string& path) {
  if (!fs::is_directory(path)) {
    // A file that is named may be JSON under any name.
    if (path.ends_with(".json")) return true;
    return kind_of(path) != Kind::kNone;
  }
  for (const std::string& file : files_of(path)) {
    const Kind kind = kind_of(file);
    if (kind == Kind::kRocpd || kind == Kind::kJson) return true;
    for (const char* const word :
         {"kernel_trace", "counter_collection", "pmc_perf", "api_trace", "memory_copy_trace"})
      if (kind == Kind::kCsv && is_named(file, word)) return true;
  }
  return false;
}

Result<bool> read_all(const std::string& path, Recording& recording) {
  std::vector<std::string> files = files_of(path);
  // Shapes and times of kernels come before their counters, the GPU's figures last.
  std::stable_sort(files.begin(), files.end(), [](const std::string& a, const std::string& b) {
    const auto rank = [](const std::string& name) {
      return is_named(name, "kernel_trace") ? 0 : is_named(name, "sysinfo") ? 2 : 1;
    };
    return rank(a) < rank(b);
  });
  // One run in several formats counts once: a database has all, then JSON, then CSV.
  const bool is_single = files.size() == 1;
  for (const Kind wanted : {Kind::kRocpd, Kind::kJson, Kind::kCsv}) {
    for (const std::string& file : files) {
      const Kind kind = is_single && file.ends_with(".json") ? Kind::kJson : kind_of(file);
      if (kind != wanted) continue;
      if (kind == Kind::kRocpd) {
        if (const Status read = read_rocpd(file, recording); !read.ok()) return read.error();
        continue;
      }
      const Result<std::vector<std::byte>> bytes = util::read_file(file);
      if (!bytes.ok()) return bytes.error();
      const std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
      const Status read =
          kind == Kind::kJson ? read_json(file, text, recording) : read_csv(file, text, recording);
      if (!read.ok()) return read.error();
    }
    if (!recording.is_empty()) return true;
  }
  return !recording.is_empty();
}

}  // namespace wavetap::foreign
