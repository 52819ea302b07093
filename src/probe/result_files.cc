#include "probe/result_files.h"

#include "amd/gfx_target.h"
#include "base/log.h"
#include "base/sys_files.h"
#include "base/whole_io.h"
#include "probe/handlers/json_text.h"

namespace wavetap::probe {
namespace {

std::string pid_text() { return std::to_string(sys::pid()); }

template <class T>
void put_extent(JsonText& json, const char* key, const T (&extent)[3]) {
  json.key(key).begin_array();
  for (const T size : extent) json.number(size);
  json.end_array();
}

const char* status_name(uint32_t status) {
  switch (status) {
    case WAVETAP_COMPLETE: return "complete";
    case WAVETAP_FAULTED: return "faulted";
    case WAVETAP_ABANDONED: return "abandoned";
    default: return "unknown";
  }
}

}  // namespace

bool ResultFiles::append(const std::string& name, std::string_view bytes) {
  const std::string path = folder_ + "/" + name;
  const int fd = sys::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT, 0600);
  const bool written = fd >= 0 && sys::write_whole(fd, bytes);
  if (fd >= 0) sys::close(fd);
  if (!written && !complained_.exchange(true, std::memory_order_relaxed))
    log::complain("%s: cannot be written; results of probes are lost", path.c_str());
  return written;
}

void ResultFiles::line(const std::string& text) {
  // What a killed writer left unfinished before it stays a line of its own.
  append(pid_text() + ".lines", "\n" + text + "\n");
}

void ResultFiles::result(const char* handler, uint64_t dispatch, std::string_view json) noexcept {
  JsonText text;
  text.begin_object().key("type").text("result").key("handler").text(handler);
  text.key("dispatch").number(dispatch).key("data").raw(json).end_object();
  line(text.string());
}

bool ResultFiles::write(const char* handler, const char* suffix, std::string_view bytes) noexcept {
  return append(pid_text() + "." + handler + "." + suffix, bytes);
}

void ResultFiles::lose(const char* handler, uint64_t count) noexcept {
  JsonText text;
  text.begin_object().key("type").text("lost").key("handler").text(handler);
  text.key("count").number(count).end_object();
  line(text.string());
}

void ResultFiles::refused(const std::string& handler, const std::string& why) {
  JsonText text;
  text.begin_object().key("type").text("refused").key("handler").text(handler);
  text.key("why").text(why).end_object();
  line(text.string());
}

void ResultFiles::left_out() { line("{\"type\":\"left_out\"}"); }

void ResultFiles::dispatch(const DispatchRecord& record, const emu::Dispatch& dispatch,
                           const DispatchFacts& facts, uint32_t status) {
  JsonText text;
  text.begin_object().key("type").text("dispatch").key("format").number(kResultFormat);
  text.key("dispatch").number(record.id).key("launch").number(record.launch);
  text.key("kernel").text(facts.kernel).key("model").text(facts.gpu_model);
  text.key("target").text(amd::to_string(dispatch.target));
  text.key("wave_size").number(facts.wave64 ? 64 : 32);
  text.key("line_bytes").number(facts.line_bytes);
  text.key("gpu").number(facts.gpu).key("queue").number(facts.queue);
  text.key("dispatch_id").number(record.dispatch_id);
  put_extent(text, "grid_size", dispatch.grid_size);
  put_extent(text, "workgroup_size", dispatch.workgroup_size);
  text.key("lds_bytes").number(dispatch.group_segment_bytes);
  text.key("status").text(status_name(status));
  if (!record.fault.empty()) text.key("fault").text(record.fault);
  if (!record.clock.empty()) {
    text.key("clock").text(record.clock).key("clock_bits").number(record.clock_bits);
    text.key("clock_is_emulated").number(record.clock_is_emulated ? 1 : 0);
  }
  text.end_object();
  line(text.string());
}

std::string ResultFiles::keep(std::span<const std::byte> bytes, const char* suffix) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const std::byte byte : bytes)
    hash = (hash ^ std::to_integer<uint64_t>(byte)) * 0x100000001b3;
  char name[64];
  std::snprintf(name, sizeof name, "code/%016llx.%s", static_cast<unsigned long long>(hash),
                suffix);
  {
    const std::lock_guard lock(mutex_);
    if (!kept_.insert(name).second) return name;
  }
  // Another process may write the same bytes at the same time; the last one wins.
  const std::string path = folder_ + "/" + name;
  const std::string part = path + "." + pid_text();
  sys::make_directories(folder_ + "/code");
  const std::string_view content(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (sys::write_file(part, content) == 0)
    sys::call(SYS_renameat2, AT_FDCWD, part.c_str(), AT_FDCWD, path.c_str(), 0);
  return name;
}

void ResultFiles::code(const Code& code, std::span<const std::byte> image, uint64_t linked,
                       std::span<const std::byte> bytes) {
  JsonText text;
  text.begin_object().key("type").text("code").key("code").number(code.described.id);
  text.key("file").text(image.empty() ? keep(bytes, "bin") : keep(image, "co"));
  text.key("linked").hex(image.empty() ? 0 : linked).key("address").hex(code.described.address);
  text.key("size_bytes").number(code.size_bytes).key("target").text(code.target);
  text.key("wave_size").number(code.described.wave_size);
  text.key("sites").number(code.described.site_count).end_object();
  line(text.string());
}

void ResultFiles::code(const Code& code, const std::string& file, const std::string& kernel) {
  JsonText text;
  text.begin_object().key("type").text("code").key("code").number(code.described.id);
  text.key("file").text(file).key("sites_of").text(kernel).key("target").text(code.target);
  text.key("wave_size").number(code.described.wave_size);
  text.key("sites").number(code.described.site_count).end_object();
  line(text.string());
}

}  // namespace wavetap::probe
