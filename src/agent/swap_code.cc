#include "agent/swap_code.h"

#include "agent/hsa_facts.h"
#include "agent/hsa_table.h"
#include "agent/recording.h"
#include "base/result.h"
#include "codeobj/code_object.h"

namespace wavetap::agent {
namespace {

using swap::Reason;
using swap::Verdict;

// Reads [offset, offset + bytes) of a file, or all of it from the offset on.
bool read_part(const char* path, uint64_t offset, uint64_t bytes, std::vector<std::byte>& to) {
  const int fd = sys::open(path, O_RDONLY);
  if (fd < 0) return false;
  struct stat status {};
  bool good = sys::fstat(fd, &status) == 0 && offset <= static_cast<uint64_t>(status.st_size);
  const uint64_t rest = good ? static_cast<uint64_t>(status.st_size) - offset : 0;
  good = good && bytes <= rest;
  if (good) {
    to.resize(bytes == 0 ? rest : bytes);
    for (uint64_t done = 0; done < to.size() && good;) {
      const int64_t count =
          sys::call(SYS_pread64, fd, to.data() + done, to.size() - done, offset + done);
      if (count == -EINTR) continue;
      good = count > 0;
      done += good ? static_cast<uint64_t>(count) : 0;
    }
  }
  sys::close(fd);
  return good;
}

// hsa_profile_t, hsa_default_float_rounding_mode_t, as HIP asks for them.
constexpr uint32_t kProfileFull = 1;
constexpr uint32_t kRoundingDefault = 0;

struct Load {
  uint64_t executable = 0;  // frozen; 0: none
  uint64_t reader = 0;
};

Load load_code(const SwapCode& code, uint64_t agent, Verdict& why) {
  if (!can_load_swap_code()) {
    why = {Reason::kRefused, "this GPU runtime is too old to load it"};
    return {};
  }
  const Hsa& next = hsa();
  Load load;
  HsaStatus status = next.hsa_code_object_reader_create_from_memory(
      code.content.data(), code.content.size(), &load.reader);
  if (status == kHsaSuccess)
    status =
        next.hsa_executable_create_alt(kProfileFull, kRoundingDefault, nullptr, &load.executable);
  const bool is_made = status == kHsaSuccess;
  if (status == kHsaSuccess)
    status = next.hsa_executable_load_agent_code_object(load.executable, agent, load.reader,
                                                        nullptr, nullptr);
  if (status == kHsaSuccess) status = next.hsa_executable_freeze(load.executable, nullptr);
  if (status == kHsaSuccess) return load;
  if (is_made) next.hsa_executable_destroy(load.executable);
  if (load.reader != 0) next.hsa_code_object_reader_destroy(load.reader);
  why = {Reason::kRefused, errorf("the GPU runtime does not load it: status 0x%x", status).message};
  return {};
}

}  // namespace

const swap::KernelInfo* SwapCode::find(const std::string& symbol) const {
  for (const swap::KernelInfo& kernel : kernels)
    if (kernel.name == symbol) return &kernel;
  return nullptr;
}

bool stat_swap_file(const char* path, int64_t& time_ns, uint64_t& bytes) {
  struct stat status {};
  if (sys::call(SYS_newfstatat, AT_FDCWD, path, &status, 0) != 0) return false;
  time_ns = int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
  bytes = static_cast<uint64_t>(status.st_size);
  return true;
}

Verdict read_swap_code(const swap::Candidate& candidate, bool any_version,
                       std::unique_ptr<SwapCode>& code) {
  auto fresh = std::make_unique<SwapCode>();
  fresh->path = candidate.path;
  fresh->offset = candidate.offset;
  const char* const path = candidate.path.c_str();
  if (!stat_swap_file(path, fresh->time_ns, fresh->file_bytes))
    return {Reason::kMissing, "its file is gone"};
  const bool is_same =
      fresh->time_ns == candidate.file_time_ns && fresh->file_bytes == candidate.file_bytes;
  if (!is_same && !any_version)
    return {Reason::kChanged,
            "its file has changed since the program was started; start it again, or use "
            "--swap-watch"};
  if (!is_same && !candidate.is_whole_file())
    return {Reason::kChanged,
            "its file has changed since the program was started; only files that are code objects "
            "are watched"};
  if (!read_part(path, candidate.offset, candidate.bytes, fresh->content))
    return {Reason::kMissing, "its file cannot be read"};
  const Result<codeobj::CodeObject> object = codeobj::CodeObject::open(fresh->content);
  if (!object.ok()) return {Reason::kDamaged, object.error().message};
  fresh->kernels = swap::describe_all(*object);
  fresh->variables = swap::exported_variables(*object);
  code = std::move(fresh);
  return {};
}

bool can_load_swap_code() {
  const Hsa& next = hsa();
  return next.hsa_code_object_reader_create_from_memory != nullptr &&
         next.hsa_executable_create_alt != nullptr &&
         next.hsa_executable_load_agent_code_object != nullptr &&
         next.hsa_executable_get_symbol_by_name != nullptr;
}

bool try_swap_code(const SwapCode& code, uint64_t agent, Verdict& why) {
  const Load load = load_code(code, agent, why);
  if (load.executable == 0) return false;
  hsa().hsa_executable_destroy(load.executable);
  hsa().hsa_code_object_reader_destroy(load.reader);
  return true;
}

uint64_t load_swap_code(const SwapCode& code, uint64_t agent, Verdict& why) {
  const Load load = load_code(code, agent, why);
  if (load.executable != 0)
    note_executable(load.executable, code.path.c_str(), code.offset, code.content.size());
  return load.executable;  // the reader stays, as the bytes do
}

uint64_t kernel_object_in(uint64_t executable, uint64_t agent, const std::string& symbol) {
  const Hsa& next = hsa();
  uint64_t handle = 0, object = 0;
  if (next.hsa_executable_get_symbol_by_name(executable, (symbol + ".kd").c_str(), &agent,
                                             &handle) != kHsaSuccess)
    return 0;
  next.hsa_executable_symbol_get_info(handle, kSymbolKernelObject, &object);
  return object;
}

}  // namespace wavetap::agent
