// A trace file with bytes changed must load or be refused, whatever the bytes. The input is a list
// of changes to a sound file, four bytes each: where (three) and what (one); so that even random
// inputs get past the file's header and reach the readers of pages and records.
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "store/schema.h"
#include "store/sqlite.h"
#include "store/trace.h"

namespace wavetap::store {
namespace {

// SQLite resolves links, so a memfd will not do: it is a file, written anew for each input.
std::string scratch_path() { return "/tmp/wavetap_load_fuzz." + std::to_string(getpid()); }

// A few hundred rows in every table the loader reads from pages, with one text that needs overflow
// pages.
std::vector<char> sound_file() {
  const std::string path = scratch_path();
  {
    Result<Db> db = Db::create(path);
    if (!db.ok() || !create_schema(*db).ok()) std::abort();
    const Status filled = db->exec(
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 300)"
        "insert into rocpd_string select i, case i when 1 then '' when 2 then 'UserMarker' else "
        "'name ' || i "
        "end from n;"
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 300)"
        "insert into rocpd_ustring select i, case i when 7 then printf('%.*c', 20000, 'x') else "
        "'ptr = ' || "
        "i end from n;"
        "insert into rocpd_api select id, 1, id % 3, id * 10, id * 10 + 5, id, 1, 1, id from "
        "rocpd_string;"
        "insert into rocpd_op select id, id % 2, 0, 0, id * 10, id * 10 + 9, id, 3 from "
        "rocpd_string;"
        "insert into rocpd_api_ops select id, id, id from rocpd_string;"
        "insert into rocpd_kernelapi select id, '0x1', 1, 1, 1, 1, 1, 1, 0, 0, id from "
        "rocpd_string where id "
        "< 90;"
        "insert into rocpd_copyapi select id, '0x1', 9, 0, 0, 1, '0x1', '0x2', 0, 0, 0, 0 from "
        "rocpd_string "
        "where id > 250;");
    if (!filled.ok()) std::abort();
  }
  std::vector<char> bytes(1 << 20);
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const ssize_t size = read(fd, bytes.data(), bytes.size());
  close(fd);
  unlink(path.c_str());
  if (size <= 0) std::abort();
  bytes.resize(static_cast<size_t>(size));
  return bytes;
}

}  // namespace
}  // namespace wavetap::store

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace wavetap::store;
  static const std::vector<char>* const sound = new std::vector<char>(sound_file());
  std::vector<char> bytes = *sound;
  for (size_t i = 0; i + 4 <= size; i += 4) {
    const size_t offset =
        (static_cast<size_t>(data[i]) << 16 | static_cast<size_t>(data[i + 1]) << 8 | data[i + 2]) %
        bytes.size();
    bytes[offset] = static_cast<char>(data[i + 3]);
  }
  const std::string path = scratch_path();
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return 0;
  const bool written = write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  close(fd);
  if (written) {
    LoadOptions options;
    options.args = true;
    options.stack_frames = true;
    const wavetap::Result<Trace> trace = Trace::load(path, options);
    if (trace.ok())
      for (size_t row = 0; row < trace->apis.size(); ++row)
        // Longer than the file: cannot be.
        if (trace->args(row).size() > bytes.size()) std::abort();
  }
  unlink(path.c_str());
  return 0;
}
