// libwavetap_audit.so: counts calls of CUDA, HIP and HSA functions at every level, through the
// dynamic linker's audit interface (LD_AUDIT). Every binding of such a function, by the linker or
// by dlsym(), is sent through a stub that counts and jumps on (stubs.S); the function itself is not
// touched.
//
// The library lives in a link namespace of its own, with its own libc: it shares nothing with the
// program.
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "correct/redirect_log.h"

#define WT_EXPORT extern "C" __attribute__((visibility("default")))

using wavetap::correct::kMaxRedirects;
using wavetap::correct::RedirectHeader;
using wavetap::correct::RedirectRow;

// Known to stubs.S: where each stub counts and where it jumps.
extern "C" {
struct WtSlot {
  uint64_t* calls;
  void* target;
};
__attribute__((visibility("hidden"))) WtSlot wt_slots[kMaxRedirects];
extern const char wt_stubs[] __attribute__((visibility("hidden")));
extern const char wt_stubs_end[] __attribute__((visibility("hidden")));
}

namespace {

RedirectHeader* g_header;
RedirectRow* g_rows;
char g_program[4096] = "program";
std::atomic_flag g_busy;

// A spin lock: bindings are rare and short, and this libc must not be asked for threads.
class Lock {
 public:
  Lock() {
    while (g_busy.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~Lock() { g_busy.clear(std::memory_order_release); }
};

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

// cuMemAlloc, cudaMalloc, hipMalloc, hsa_init.
bool is_followed(const char* name) {
  if (std::strncmp(name, "hsa_", 4) == 0) return true;
  if (std::strncmp(name, "hip", 3) == 0) return is_upper(name[3]);
  if (std::strncmp(name, "cuda", 4) == 0) return is_upper(name[4]);
  return std::strncmp(name, "cu", 2) == 0 && is_upper(name[2]);
}

void open_log() {
  const char* folder = std::getenv(wavetap::correct::kRedirectVariable);
  if (folder == nullptr) return;
  char path[4096];
  std::snprintf(path, sizeof path, "%s/%d", folder, static_cast<int>(getpid()));
  const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return;
  void* memory = ftruncate(fd, wavetap::correct::kRedirectFileBytes) == 0
                     ? mmap(nullptr, wavetap::correct::kRedirectFileBytes, PROT_READ | PROT_WRITE,
                            MAP_SHARED, fd, 0)
                     : MAP_FAILED;
  close(fd);
  if (memory == MAP_FAILED) return;
  const ssize_t length = readlink("/proc/self/exe", g_program, sizeof g_program - 1);
  if (length > 0) g_program[length] = '\0';
  g_header = static_cast<RedirectHeader*>(memory);
  g_rows = reinterpret_cast<RedirectRow*>(static_cast<char*>(memory) + sizeof(RedirectHeader));
  g_header->magic = wavetap::correct::kRedirectMagic;
  g_header->version = wavetap::correct::kRedirectVersion;
}

// The end of a path that is too long, which is the part that tells.
void copy_path(char* to, size_t size, const char* path) {
  const size_t length = std::strlen(path);
  std::snprintf(to, size, "%s", length < size ? path : path + (length - size + 1));
}

const char* name_of(uintptr_t cookie) {
  const auto* map = reinterpret_cast<const link_map*>(cookie);
  return map->l_name != nullptr && map->l_name[0] != '\0' ? map->l_name : g_program;
}

void* stub_for(const char* function, const char* from, const char* to, void* target,
               bool by_dlsym) {
  const Lock lock;
  const uint32_t used = g_header->rows;
  for (uint32_t i = 0; i < used; ++i) {
    RedirectRow& row = g_rows[i];
    if (wt_slots[i].target != target || std::strcmp(row.function, function) != 0) continue;
    char text[sizeof row.from];
    copy_path(text, sizeof text, from);
    if (std::strcmp(row.from, text) == 0)
      return const_cast<char*>(wt_stubs + i * ((wt_stubs_end - wt_stubs) / kMaxRedirects));
  }
  if (used == kMaxRedirects) return target;
  RedirectRow& row = g_rows[used];
  std::snprintf(row.function, sizeof row.function, "%s", function);
  copy_path(row.from, sizeof row.from, from);
  copy_path(row.to, sizeof row.to, to);
  row.by_dlsym = by_dlsym ? 1 : 0;
  wt_slots[used] = {&row.calls, target};
  g_header->rows = used + 1;
  return const_cast<char*>(wt_stubs + used * ((wt_stubs_end - wt_stubs) / kMaxRedirects));
}

}  // namespace

WT_EXPORT unsigned la_version(unsigned) {
  open_log();
  return LAV_CURRENT;
}

WT_EXPORT unsigned la_objopen(link_map* map, Lmid_t, uintptr_t* cookie) {
  *cookie = reinterpret_cast<uintptr_t>(map);
  return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

WT_EXPORT uintptr_t la_symbind64(Elf64_Sym* symbol, unsigned, uintptr_t* from, uintptr_t* to,
                                 unsigned* flags, const char* name) {
  if (g_header == nullptr || name == nullptr || symbol->st_value == 0 || !is_followed(name))
    return symbol->st_value;
  if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC) return symbol->st_value;
  // Calls inside one library are no redirection.
  if (*from == *to) return symbol->st_value;
  void* stub = stub_for(name, name_of(*from), name_of(*to),
                        reinterpret_cast<void*>(symbol->st_value), (*flags & LA_SYMB_DLSYM) != 0);
  return reinterpret_cast<uintptr_t>(stub);
}
