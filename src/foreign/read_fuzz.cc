// Files of AMD's tools, damaged or invented: every reader must take what makes sense and refuse the rest. The
// first byte chooses: text of a CSV file, text of a JSON file, behind a sound beginning each, or a list of
// changes to a sound database, four bytes each: where (three) and what (one).
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "foreign/recording.h"
#include "store/sqlite.h"

namespace wavetap::foreign {
namespace {

std::string scratch_path() { return "/tmp/wavetap_read_fuzz." + std::to_string(getpid()); }

std::vector<char> sound_database() {
  const std::string path = scratch_path();
  {
    Result<store::Db> db = store::Db::create(path);
    const char* const fill =
        "create table rocpd_string_x(id, string);"
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 60) insert into rocpd_string_x select i, 'name ' || i from n;"
        "create table rocpd_info_process_x(id, nid, pid, command);insert into rocpd_info_process_x values(1, 1, 7, 'a b');"
        "create table rocpd_info_agent_x(id, nid, type, absolute_index, name, product_name);"
        "insert into rocpd_info_agent_x values(2, 1, 'GPU', 1, 'gfx90a', 'MI210');"
        "create table rocpd_info_kernel_symbol_x(id, kernel_name, display_name, sgpr_count, arch_vgpr_count, accum_vgpr_count);"
        "insert into rocpd_info_kernel_symbol_x values(9, 'k.kd', 'k(int*)', 16, 8, 0);"
        "create table rocpd_info_pmc_x(id, name, symbol);insert into rocpd_info_pmc_x values(1, 'SQ_WAVES', 'SQ_WAVES');"
        "create table rocpd_event_x(id, category_id, stack_id, correlation_id);"
        "insert into rocpd_event_x select id, 1, id, id from rocpd_string_x;"
        "create table rocpd_region_x(id, nid, pid, tid, start, end, name_id, event_id);"
        "insert into rocpd_region_x select id, 1, 1, 1, id * 10, id * 10 + 5, id, id from rocpd_string_x;"
        "create table rocpd_kernel_dispatch_x(id, nid, pid, tid, agent_id, kernel_id, dispatch_id, queue_id, stream_id, start, end, group_segment_size, workgroup_size_x, grid_size_x, event_id);"
        "insert into rocpd_kernel_dispatch_x select id, 1, 1, 1, 2, 9, id, 1, 1, id * 10, id * 10 + 9, 0, 64, 640, id from rocpd_string_x;"
        "create table rocpd_pmc_event_x(id, event_id, pmc_id, value);insert into rocpd_pmc_event_x select id, id, 1, 4.5 from rocpd_string_x;";
    if (!db.ok() || !db->exec(fill).ok()) std::abort();
  }
  std::vector<char> bytes(1 << 18);
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const ssize_t size = read(fd, bytes.data(), bytes.size());
  close(fd);
  unlink(path.c_str());
  if (size <= 0) std::abort();
  bytes.resize(static_cast<size_t>(size));
  return bytes;
}

void read_changed(const uint8_t* data, size_t size, Recording& recording) {
  static const std::vector<char>* const sound = new std::vector<char>(sound_database());
  std::vector<char> bytes = *sound;
  for (size_t i = 0; i + 4 <= size; i += 4) {
    const size_t offset =
        (static_cast<size_t>(data[i]) << 16 | static_cast<size_t>(data[i + 1]) << 8 | data[i + 2]) %
        bytes.size();
    bytes[offset] = static_cast<char>(data[i + 3]);
  }
  const std::string path = scratch_path();
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return;
  const bool written = write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  close(fd);
  if (written) (void)read_rocpd(path, recording);
  unlink(path.c_str());
}

constexpr const char* kHeads[] = {
    "Kind,Agent_Id,Queue_Id,Thread_Id,Dispatch_Id,Kernel_Name,Correlation_Id,Start_Timestamp,End_Timestamp,Workgroup_Size_X,Grid_Size_X\n",
    "Dispatch_Id,Agent_Id,Kernel_Name,Grid_Size,Workgroup_Size,Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp\n",
    "Dispatch_ID,Kernel_Name,GPU_ID,Grid_Size,Workgroup_Size,SQ_WAVES,TCC_HIT[0],Start_Timestamp,End_Timestamp\n",
    "Domain,Function,Process_Id,Thread_Id,Correlation_Id,Start_Timestamp,End_Timestamp\n",
    "",
};

}  // namespace
}  // namespace wavetap::foreign

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace wavetap::foreign;
  if (size < 2) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 2, size - 2);
  Recording recording;
  switch (data[0] % 4) {
    case 0: (void)read_csv("x.csv", kHeads[data[1] % std::size(kHeads)] + text, recording); break;
    case 1: (void)read_json("x.json", "{\"rocprofiler-sdk-tool\":[{" + text, recording); break;
    case 2: (void)read_json("x.json", text, recording); break;
    default: read_changed(data + 2, size - 2, recording); break;
  }
  // What was taken can be written, whatever it is.
  if (data[1] % 16 == 0 && !recording.is_empty()) {
    const std::string path = scratch_path() + ".rpd";
    (void)write_trace(recording, path, /*overwrite=*/true);
    unlink(path.c_str());
  }
  return 0;
}
