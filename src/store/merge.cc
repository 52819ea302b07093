#include "store/merge.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>

#include "store/schema.h"
#include "store/sqlite.h"

namespace wavetap::store {
namespace {

struct Input {
  std::string path;
  int version = 3;
  std::map<std::string, std::string> metadata;
  int64_t first = 0;              // start of the first call
  int64_t sessions = 1;           // blocks of 2^32 ids it uses
  int64_t max_pid = 0, max_gpu = 0;
  bool has_libraries = false;
};

Result<Input> inspect(const std::string& path) {
  Result<Db> db = Db::open_read_only(path);
  if (!db.ok()) return db.error();
  Result<int> version = schema_version(*db);
  if (!version.ok()) return version.error();
  Input input;
  input.path = path;
  input.version = *version;
  input.has_libraries = db->has_table_or_view("wavetap_library");
  if (db->has_table_or_view("rocpd_metadata")) {
    Result<Stmt> stmt = db->prepare("select tag, value from rocpd_metadata");
    if (!stmt.ok()) return stmt.error();
    while (stmt->step()) input.metadata[std::string(stmt->text(0))] = stmt->text(1);
  }
  const auto number = [&](const char* sql) {
    Result<int64_t> value = db->query_int(sql);
    return value.ok() ? *value : 0;
  };
  input.first = number("select coalesce(min(start), 0) from rocpd_api");
  int64_t highest = 0;
  for (const char* table : {"rocpd_api", "rocpd_op", "rocpd_string", "rocpd_ustring"})
    if (db->has_table_or_view(table)) highest = std::max(highest, number((std::string("select coalesce(max(id), 0) from ") + table).c_str()));
  input.sessions = (highest >> kSessionShift) + 1;
  input.max_pid = number("select coalesce(max(max(pid, tid)), 0) from rocpd_api");
  input.max_gpu = number("select coalesce(max(gpuId), 0) from rocpd_op");
  return input;
}

std::optional<int64_t> number_of(const Input& input, const char* key) {
  const auto found = input.metadata.find(key);
  if (found == input.metadata.end()) return std::nullopt;
  return std::strtoll(found->second.c_str(), nullptr, 10);
}

std::string text_of(const Input& input, const char* key) {
  const auto found = input.metadata.find(key);
  return found == input.metadata.end() ? "" : found->second;
}

// What to add to `input`'s times so that they can be compared with those of `base`.
void align(const Input& base, const Input& input, Align how, MergedFile& file) {
  const std::optional<int64_t> here = number_of(input, "epoch_offset_ns"), there = number_of(base, "epoch_offset_ns");
  if (how == Align::kNone) {
    file.method = "none";
  } else if (how == Align::kAuto && here && there) {
    file.shift_ns = *here - *there;
    file.method = "wall clock";
  } else if (how == Align::kAuto && (&base == &input || (!text_of(base, "boot_id").empty() && text_of(base, "boot_id") == text_of(input, "boot_id")))) {
    file.method = "same clock";
  } else {
    file.shift_ns = base.first - input.first;
    file.method = &base == &input ? "same clock" : "first event (inferred)";
  }
}

// One attached file into the output. `id` shifts every id, `t` every time, `p` every pid and tid, `g` every gpu.
Status copy_rows(Db& db, const Input& input, int64_t id, int64_t t, int64_t p, int64_t g) {
  const auto n = [](int64_t value) { return std::to_string(value); };
  const std::string I = " + " + n(id), T = " + " + n(t), P = " + " + n(p), G = " + " + n(g);
  const bool v3 = input.version >= 3;
  // RPD's own files hold source and destination of copies swapped; ours do not, so put them right on the way.
  const bool swapped = text_of(input, "producer").empty();
  std::string sql = "insert into rocpd_string select id" + I + ", string from src.rocpd_string;";
  if (v3) {
    sql += "insert into rocpd_ustring select id" + I + ", string from src.rocpd_ustring;"
           "insert into rocpd_api select id" + I + ", pid" + P + ", tid" + P + ", start" + T + ", end" + T + ", apiName_id" + I +
           ", category_id" + I + ", domain_id" + I + ", args_id" + I + " from src.rocpd_api;";
  } else {
    sql += "insert into rocpd_ustring select id" + I + ", string from src.rocpd_string where id in (select args_id from src.rocpd_api);"
           "insert into rocpd_api select id" + I + ", pid" + P + ", tid" + P + ", start" + T + ", end" + T + ", apiName_id" + I +
           ", (select min(id) from src.rocpd_string where string = '')" + I + ", (select min(id) from src.rocpd_string where string = '')" + I +
           ", args_id" + I + " from src.rocpd_api;";
  }
  sql += "insert into rocpd_op select id" + I + ", gpuId" + G + ", queueId" + G + ", sequenceId, start" + T + ", end" + T +
         ", description_id" + I + ", opType_id" + I + " from src.rocpd_op;"
         "insert into rocpd_api_ops (api_id, op_id) select api_id" + I + ", op_id" + I + " from src.rocpd_api_ops;"
         "insert or ignore into rocpd_kernelapi select api_ptr_id" + I + ", stream, gridX, gridY, gridZ, workgroupX, workgroupY, workgroupZ, "
         "groupSegmentSize, privateSegmentSize, kernelName_id" + I + " from src.rocpd_kernelapi;"
         "insert or ignore into rocpd_copyapi select api_ptr_id" + I + ", stream, size, width, height, kind, " +
         (swapped ? "src, dst, srcDevice, dstDevice" : "dst, src, dstDevice, srcDevice") + ", sync, pinned from src.rocpd_copyapi;"
         "insert into rocpd_monitor (deviceType, deviceId, monitorType, start, end, value) select deviceType, deviceId" + G +
         ", monitorType, start" + T + ", end" + T + ", value from src.rocpd_monitor;";
  if (v3)
    sql += "insert into rocpd_stackframe (api_ptr_id, depth, name_id) select api_ptr_id" + I + ", depth, name_id" + I + " from src.rocpd_stackframe;"
           "insert into rocpd_counter (value, op_id, name_id) select value, op_id" + I + ", name_id" + I + " from src.rocpd_counter;";
  if (Status s = db.exec(sql); !s.ok()) return s;
  if (!input.has_libraries) return {};
  if (!db.has_table_or_view("wavetap_library"))
    if (Status s = create_wavetap_tables(db); !s.ok()) return s;
  return db.exec("insert into wavetap_library (pid, time, path, soname, build_id, answers_for, how) select pid" + P + ", time" + T +
                 ", path, soname, build_id, answers_for, how from src.wavetap_library");
}

Result<std::vector<MergedFile>> write_merged(const std::vector<std::string>& paths, const std::string& output, const MergeOptions& options) {
  std::vector<Input> inputs;
  for (const std::string& path : paths) {
    Result<Input> input = inspect(path);
    if (!input.ok()) return input.error();
    inputs.push_back(std::move(*input));
  }
  // Strides that keep ranks apart: powers of ten above anything in the files, at least RPD's.
  int64_t pid_stride = 10'000'000, gpu_stride = 1000;
  constexpr int64_t kLargestStride = 1'000'000'000'000'000;
  for (const Input& input : inputs) {
    if (input.max_pid >= kLargestStride || input.max_gpu >= kLargestStride)
      return errorf("%s: process or GPU numbers up to %lld leave no room for ranks; the file is damaged", input.path.c_str(),
                    static_cast<long long>(std::max(input.max_pid, input.max_gpu)));
    while (input.max_pid >= pid_stride) pid_stride *= 10;
    while (input.max_gpu >= gpu_stride) gpu_stride *= 10;
  }

  if (access(output.c_str(), F_OK) == 0) return errorf("%s: exists already; name another file with -o", output.c_str());
  const std::string part = output + ".part-" + std::to_string(getpid());
  std::vector<MergedFile> files;
  const auto fill = [&]() -> Status {
    Result<Db> db = Db::create(part);
    if (!db.ok()) return db.error();
    if (Status s = db->exec("pragma journal_mode = off; pragma synchronous = off"); !s.ok()) return s;
    if (Status s = create_schema(*db); !s.ok()) return s;
    int64_t session = 0;
    bool emulated = false;
    int64_t losses = 0;
    for (size_t rank = 0; rank < inputs.size(); ++rank) {
      MergedFile file;
      file.path = paths[rank];
      align(inputs[0], inputs[rank], options.align, file);
      Result<Stmt> attach = db->prepare("attach ? as src");
      if (!attach.ok()) return attach.error();
      attach->bind(1, std::string_view(paths[rank]));
      if (!attach->run()) return attach->status();
      if (Status s = db->exec("begin"); !s.ok()) return s;
      const auto r = static_cast<int64_t>(rank);
      if (Status s = copy_rows(*db, inputs[rank], session << kSessionShift, file.shift_ns, r * pid_stride, r * gpu_stride); !s.ok()) return s;
      if (Status s = db->exec("commit"); !s.ok()) return s;
      Result<int64_t> calls = db->query_int("select count(*) from src.rocpd_api"), ops = db->query_int("select count(*) from src.rocpd_op");
      if (!calls.ok()) return calls.error();
      if (!ops.ok()) return ops.error();
      file.calls = static_cast<uint64_t>(*calls);
      file.ops = static_cast<uint64_t>(*ops);
      if (Status s = db->exec("detach src"); !s.ok()) return s;
      session += inputs[rank].sessions;
      emulated = emulated || text_of(inputs[rank], "emulated") == "1";
      losses += number_of(inputs[rank], "losses").value_or(0);
      files.push_back(file);
    }
    Result<Stmt> metadata = db->prepare("insert into rocpd_metadata (tag, value) values (?, ?)");
    if (!metadata.ok()) return metadata.error();
    const auto put = [&](std::string_view tag, const std::string& value) {
      metadata->bind(1, tag);
      metadata->bind(2, std::string_view(value));
      metadata->run();
    };
    if (Status s = db->exec("delete from rocpd_metadata where tag in ('pid_stride', 'gpu_stride')"); !s.ok()) return s;
    put("pid_stride", std::to_string(pid_stride));
    put("gpu_stride", std::to_string(gpu_stride));
    put("session_count", std::to_string(session));
    put("producer", "wavetap " WAVETAP_VERSION);
    if (emulated) put("emulated", "1");
    put("losses", std::to_string(losses));
    for (size_t rank = 0; files.size() > 1 && rank < files.size(); ++rank)
      put("merged::" + std::to_string(rank), files[rank].path + " shift " + std::to_string(files[rank].shift_ns) + " by " + files[rank].method);
    if (!metadata->status().ok()) return metadata->status();
    return create_indexes(*db);
  };
  std::error_code ignored;
  std::filesystem::remove(part, ignored);
  if (Status status = fill(); !status.ok()) {
    std::filesystem::remove(part, ignored);
    return status.error();
  }
  if (std::rename(part.c_str(), output.c_str()) != 0) return errorf("%s: cannot be put in place; name another file with -o", output.c_str());
  return files;
}

}  // namespace

Result<std::vector<MergedFile>> merge_traces(const std::vector<std::string>& paths, const std::string& output, const MergeOptions& options) {
  if (paths.size() < 2) return errorf("merge: %zu input; give at least two", paths.size());
  return write_merged(paths, output, options);
}

Result<MergedFile> convert_trace(const std::string& input, const std::string& output) {
  Result<std::vector<MergedFile>> files = write_merged({input}, output, {.align = Align::kNone});
  if (!files.ok()) return files.error();
  return (*files)[0];
}

}  // namespace wavetap::store
