// "Is this CUDA call really going to HIP?" A library called libcuda.so.1 may be a translation
// layer, a stub or the real thing, and a symbol may be defined by several libraries at once. So for
// each API one well-known function is looked up as the loader does it, and the library that has it
// is said to answer for the API.
#include "agent/libraries.h"

#include <stdio.h>
#include <string.h>

#include "agent/deepbind.h"
#include "agent/image_walk.h"
#include "agent/real_functions.h"
#include "agent/recording.h"

namespace wavetap::agent {
namespace {

struct Api {
  const char* name;
  const char* function;
};
constexpr Api kApis[] = {
    {"libamdhip64", "hipLaunchKernel"},  {"libhiprtc", "hiprtcCompileProgram"},
    {"libhsa-runtime64", "hsa_init"},    {"libroctx64", "roctxRangePushA"},
    {"libcuda", "cuLaunchKernel"},       {"libcudart", "cudaLaunchKernel"},
    {"libnvrtc", "nvrtcCompileProgram"}, {"libOpenCL", "clEnqueueNDRangeKernel"},
    {"librccl", "ncclAllReduce"},
};
constexpr size_t kApiCount = sizeof kApis / sizeof kApis[0];

constexpr size_t kMaxKnown = 2048;

struct Known {
  uintptr_t begin;
  uint64_t identity;  // of path and address
  bool present;       // seen by the scan that is going on
  bool fresh;         // found by it
  char path[256];     // for the event when it goes; the end of a longer one
};

// Under library_lock.
Known* g_known = nullptr;
size_t g_known_count = 0;
bool g_first = true;
ImageCounts g_counts;

uint64_t identity_of(const Image& image) {
  uint64_t hash = 1469598103934665603u;
  for (const char* c = image.path; *c != '\0'; ++c)
    hash = (hash ^ static_cast<unsigned char>(*c)) * 1099511628211u;
  return hash ^ image.begin;
}

// The APIs that an image answers for, separated by blanks.
size_t answers_of(const Image& image, const Definition (&definitions)[kApiCount], char* out,
                  size_t size) {
  size_t used = 0;
  for (size_t i = 0; i < kApiCount; ++i) {
    void* const function = find_symbol(image, kApis[i].function);
    if (function == nullptr || definitions[i].function == nullptr) continue;
    if (definitions[i].is_unambiguous && definitions[i].function != function) continue;
    const size_t length = strlen(kApis[i].name);
    if (used + length + 1 > size) break;
    if (used > 0) out[used++] = ' ';
    memcpy(out + used, kApis[i].name, length);
    used += length;
  }
  return used;
}

void write_library(const Image& image, format::LibraryEvent event,
                   const Definition (&definitions)[kApiCount]) {
  char build_id[128];
  char answers[256];
  char executable[4096];
  std::string_view path = image.path;
  if (path.empty()) {
    const int64_t length =
        sys::call(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", executable, sizeof executable);
    path = {executable, length > 0 ? static_cast<size_t>(length) : 0};
  }
  format::LibraryFact library{};
  library.time = ticks();
  library.base = image.base;
  fact(library, format::Kind::kLibrary, static_cast<uint8_t>(event),
       {path,
        soname_of(image),
        {build_id, record::build_id_of(image, build_id, sizeof build_id)},
        {answers, answers_of(image, definitions, answers, sizeof answers)}});
  if ((record::session_options() & format::kOptionStacks) == 0) return;
  format::ImageFact range{};
  range.time = library.time;
  range.begin = image.begin;
  range.end = image.end;
  range.file_offset_delta = image.base;
  fact(range, format::Kind::kImage, 0, {path});
}

void write_gone(const Known& known) {
  format::LibraryFact library{};
  library.time = ticks();
  library.base = known.begin;
  fact(library, format::Kind::kLibrary, static_cast<uint8_t>(format::LibraryEvent::kClosed),
       {known.path, "", "", ""});
}

void write_bypass(const Known& known) {
  char text[512];
  const int length = snprintf(
      text, sizeof text,
      "calls from %s are not recorded (RTLD_DEEPBIND); its kernels and copies are", known.path);
  report_loss(format::Loss::kBypassed, {text, static_cast<size_t>(length)});
}

void scan(format::LibraryEvent event) {
  Definition definitions[kApiCount];
  for (size_t i = 0; i < kApiCount; ++i) definitions[i] = find_definition(kApis[i].function);
  for (size_t i = 0; i < g_known_count; ++i) g_known[i].present = g_known[i].fresh = false;
  find_image([&](const Image& image) {
    if (image.dynamic == nullptr) return false;
    const uint64_t identity = identity_of(image);
    for (size_t i = 0; i < g_known_count; ++i) {
      if (g_known[i].identity != identity) continue;
      g_known[i].present = true;
      return false;
    }
    if (g_known_count == kMaxKnown) return true;
    Known& fresh = g_known[g_known_count++];
    fresh.begin = image.begin;
    fresh.identity = identity;
    fresh.present = fresh.fresh = true;
    const size_t length = strlen(image.path);
    const size_t kept = length < sizeof fresh.path ? length : sizeof fresh.path - 1;
    memcpy(fresh.path, image.path + (length - kept), kept);
    fresh.path[kept] = '\0';
    write_library(image, event, definitions);
    return false;
  });
  // Outside of the walk above: this takes locks that come before the loader's.
  for (size_t i = 0; i < g_known_count && has_deepbind_libraries(); ++i)
    if (g_known[i].fresh && bypasses_us(g_known[i].begin)) write_bypass(g_known[i]);
  for (size_t i = 0; i < g_known_count;) {
    if (g_known[i].present) {
      ++i;
      continue;
    }
    write_gone(g_known[i]);
    g_known[i] = g_known[--g_known_count];
  }
}

}  // namespace

void write_library_changes() {
  const Inside inside;
  if (g_fork_wiped.session_open.load(std::memory_order_acquire) == 0) return;
  const ImageCounts counts = image_counts();
  const Locked lock(g_fork_wiped.library_lock);
  if (!g_first && counts == g_counts) return;
  if (g_known == nullptr) {
    g_known = reinterpret_cast<Known*>(sys::map(kMaxKnown * sizeof(Known), PROT_READ | PROT_WRITE,
                                                MAP_PRIVATE | MAP_ANONYMOUS, -1));
    if (g_known == nullptr) return;
  }
  g_counts = counts;
  scan(g_first ? format::LibraryEvent::kStartup : format::LibraryEvent::kOpened);
  g_first = false;
}

void watch_libraries() {
  add_fact_source(write_library_changes);
  add_helper_work([] {
    write_library_changes();
    return false;
  });
  record::add_last_words(write_library_changes);
  // A new session knows nothing yet.
  record::add_forgetter([] {
    g_first = true;
    g_known_count = 0;
  });
  write_library_changes();
}

}  // namespace wavetap::agent
