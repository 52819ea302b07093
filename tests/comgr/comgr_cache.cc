// A memory for AMD's compiler library, so that tests do not wait for the same compilation two thousand times.
//
// HIP 5.2 compiles its copy and fill kernels from source in every process that copies memory: 0.35 of the 0.55 seconds of
// processor time that a small test program takes. This library stands in front of libamd_comgr.so.2 for tests. It has one
// function, amd_comgr_do_action(), which looks for the answer under a key made of everything the action depends on: what
// is asked, its options and inputs byte for byte, and the size and date of the real library. An answer is the bytes that
// the real library gave, so a program gets the same code as without it. Everything else is the real library's: HIP looks
// functions up in this one with dlsym(), which goes on to the libraries that it needs, and it needs the real one by its
// path (CMakeLists.txt).
//
// What is not remembered: actions that fail, that read files (a source that includes something, an option that names
// one), that log to somewhere else, or whose result set is not empty to begin with. Answers lie in the folder `answers`
// beside this library; one that cannot be written or read is compiled as ever.
#include <amd_comgr.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr char kMagic[] = "wavetap comgr 1\n";

struct Object {
  amd_comgr_data_kind_t kind;
  std::string name, bytes;
};

// Two mixes of eight bytes at a time: not against an enemy, but wide enough for accidents.
class Key {
 public:
  void add(std::string_view text) {
    const uint64_t size = text.size();
    mix(size);
    size_t at = 0;
    for (; at + 8 <= text.size(); at += 8) {
      uint64_t word;
      std::memcpy(&word, text.data() + at, 8);
      mix(word);
    }
    uint64_t rest = 0;
    std::memcpy(&rest, text.data() + at, text.size() - at);
    mix(rest);
  }
  void add_number(uint64_t number) { mix(number); }
  std::string text() const {
    char buffer[40];
    std::snprintf(buffer, sizeof buffer, "%016llx%016llx", static_cast<unsigned long long>(a_),
                  static_cast<unsigned long long>(b_));
    return buffer;
  }

 private:
  void mix(uint64_t word) {
    a_ = (a_ ^ word) * 0x9e3779b97f4a7c15u;
    a_ ^= a_ >> 29;
    b_ = (b_ + word) * 0xd6e8feb86659fd93u;
    b_ = (b_ ^ b_ >> 32) + a_;
  }
  uint64_t a_ = 0x243f6a8885a308d3, b_ = 0x13198a2e03707344;
};

// A text that the library gives out in two calls: first its size, which counts the zero at its end.
template <class Get>
std::string text_of(Get get) {
  size_t size = 0;
  if (get(&size, nullptr) != AMD_COMGR_STATUS_SUCCESS || size == 0) return {};
  std::string text(size, '\0');
  if (get(&size, text.data()) != AMD_COMGR_STATUS_SUCCESS) return {};
  return text;
}

bool read_objects(amd_comgr_data_set_t set, std::vector<Object>& out) {
  for (int number = AMD_COMGR_DATA_KIND_SOURCE; number <= AMD_COMGR_DATA_KIND_LAST; ++number) {
    const auto kind = static_cast<amd_comgr_data_kind_t>(number);
    size_t count = 0;
    if (amd_comgr_action_data_count(set, kind, &count) != AMD_COMGR_STATUS_SUCCESS)
      continue;  // a gap in the numbers
    for (size_t i = 0; i < count; ++i) {
      amd_comgr_data_t data;
      if (amd_comgr_action_data_get_data(set, kind, i, &data) != AMD_COMGR_STATUS_SUCCESS)
        return false;
      Object object{
          kind, text_of([&](size_t* size, char* text) {
            return amd_comgr_get_data_name(data, size, text);
          }),
          text_of([&](size_t* size, char* text) { return amd_comgr_get_data(data, size, text); })};
      amd_comgr_release_data(data);
      out.push_back(std::move(object));
    }
  }
  return true;
}

bool reads_files(const Object& object) {
  if (object.kind != AMD_COMGR_DATA_KIND_SOURCE && object.kind != AMD_COMGR_DATA_KIND_INCLUDE)
    return false;
  for (const char* word : {"include", "embed", "__TIME__", "__DATE__", "__TIMESTAMP__"})
    if (object.bytes.find(word) != std::string::npos) return true;
  return false;
}

// Adds what is asked to the key. False: it depends on more than can be seen here.
bool add_question(Key& key, amd_comgr_action_kind_t kind, amd_comgr_action_info_t info,
                  amd_comgr_data_set_t input) {
  key.add_number(kind);
  amd_comgr_language_t language = AMD_COMGR_LANGUAGE_NONE;
  bool logging = false;
  amd_comgr_action_info_get_language(info, &language);
  amd_comgr_action_info_get_logging(info, &logging);
  key.add_number(language);
  key.add_number(logging);
  key.add(text_of([&](size_t* size, char* text) {
    return amd_comgr_action_info_get_isa_name(info, size, text);
  }));
  // The working directory is for files; asked for when it was never set, the library reads a null pointer.
  std::vector<std::string> options;
  size_t count = 0;
  if (amd_comgr_action_info_get_option_list_count(info, &count) == AMD_COMGR_STATUS_SUCCESS)
    for (size_t i = 0; i < count; ++i)
      options.push_back(text_of([&](size_t* size, char* text) {
        return amd_comgr_action_info_get_option_list_item(info, i, size, text);
      }));
  else
    options.push_back(text_of([&](size_t* size, char* text) {
      return amd_comgr_action_info_get_options(info, size, text);
    }));
  for (const std::string& option : options) {
    if (option.find("-include") != std::string::npos ||
        option.find("-imacros") != std::string::npos || option.find('@') != std::string::npos)
      return false;
    key.add(option);
  }
  std::vector<Object> objects;
  if (!read_objects(input, objects)) return false;
  for (const Object& object : objects) {
    if (reads_files(object)) return false;
    if (object.kind == AMD_COMGR_DATA_KIND_LOG) continue;  // of the action before
    key.add_number(object.kind);
    key.add(object.name);
    key.add(object.bytes);
  }
  return true;
}

std::string answers_folder() {
  Dl_info here;
  if (dladdr(reinterpret_cast<const void*>(&answers_folder), &here) == 0 ||
      here.dli_fname == nullptr)
    return {};
  const std::string path = here.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash) + "/answers";
}

template <class Number>
void put(std::string& out, Number number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}
template <class Number>
bool take(std::string_view& in, Number& number) {
  if (in.size() < sizeof number) return false;
  std::memcpy(&number, in.data(), sizeof number);
  in.remove_prefix(sizeof number);
  return true;
}

void keep(const std::string& path, const std::vector<Object>& objects) {
  std::string out = kMagic;
  put(out, static_cast<uint64_t>(objects.size()));
  for (const Object& object : objects) {
    put(out, static_cast<uint64_t>(object.kind));
    put(out, static_cast<uint64_t>(object.name.size()));
    put(out, static_cast<uint64_t>(object.bytes.size()));
    out += object.name;
    out += object.bytes;
  }
  const std::string fresh = path + "." + std::to_string(getpid());
  std::FILE* file = std::fopen(fresh.c_str(), "we");
  if (file == nullptr) return;
  const bool written = std::fwrite(out.data(), 1, out.size(), file) == out.size();
  if (std::fclose(file) != 0 || !written || std::rename(fresh.c_str(), path.c_str()) != 0)
    unlink(fresh.c_str());
}

bool recall(const std::string& path, std::vector<Object>& objects) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  struct stat found;
  std::string bytes;
  if (fstat(file, &found) == 0) bytes.resize(static_cast<size_t>(found.st_size));
  size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = read(file, bytes.data() + have, bytes.size() - have);
    if (got <= 0) break;
    have += static_cast<size_t>(got);
  }
  close(file);
  std::string_view in(bytes);
  uint64_t count = 0;
  if (have != bytes.size() || in.substr(0, sizeof kMagic - 1) != kMagic) return false;
  in.remove_prefix(sizeof kMagic - 1);
  if (!take(in, count)) return false;
  while (count-- > 0) {
    uint64_t kind, name, size;
    if (!take(in, kind) || !take(in, name) || !take(in, size) || in.size() < name ||
        in.size() - name < size)
      return false;
    objects.push_back({static_cast<amd_comgr_data_kind_t>(kind), std::string(in.substr(0, name)),
                       std::string(in.substr(name, size))});
    in.remove_prefix(name + size);
  }
  return in.empty();
}

bool give(const std::vector<Object>& objects, amd_comgr_data_set_t result) {
  for (const Object& object : objects) {
    amd_comgr_data_t data;
    if (amd_comgr_create_data(object.kind, &data) != AMD_COMGR_STATUS_SUCCESS) return false;
    // An empty log is a text; the library takes no data of no bytes, and HIP reads up to a zero.
    const std::string& bytes = object.bytes.empty() ? std::string(1, '\0') : object.bytes;
    const bool given =
        amd_comgr_set_data(data, bytes.size(), bytes.data()) == AMD_COMGR_STATUS_SUCCESS &&
        (object.name.empty() ||
         amd_comgr_set_data_name(data, object.name.c_str()) == AMD_COMGR_STATUS_SUCCESS) &&
        amd_comgr_data_set_add(result, data) == AMD_COMGR_STATUS_SUCCESS;
    amd_comgr_release_data(data);
    if (!given) return false;
  }
  return true;
}

bool is_told_to_log() {
  for (const char* name : {"AMD_COMGR_SAVE_TEMPS", "AMD_COMGR_REDIRECT_LOGS",
                           "AMD_COMGR_EMIT_VERBOSE_LOGS", "AMD_COMGR_TIME_STATISTICS"})
    if (getenv(name) != nullptr) return true;
  return false;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) amd_comgr_status_t amd_comgr_do_action(
    amd_comgr_action_kind_t kind, amd_comgr_action_info_t info, amd_comgr_data_set_t input,
    amd_comgr_data_set_t result) {
  // Loaded with this library; its handle is kept.
  static void* const handle = dlopen(WT_COMGR_LIBRARY, RTLD_LAZY | RTLD_NOLOAD);
  static const auto real = reinterpret_cast<decltype(&amd_comgr_do_action)>(
      handle == nullptr ? nullptr : dlsym(handle, "amd_comgr_do_action"));
  if (real == nullptr) return AMD_COMGR_STATUS_ERROR;
  struct stat library;
  std::vector<Object> before;
  Key key;
  const bool only_copies = kind == AMD_COMGR_ACTION_ADD_PRECOMPILED_HEADERS ||
                           kind == AMD_COMGR_ACTION_ADD_DEVICE_LIBRARIES;
  if (only_copies || is_told_to_log() || stat(WT_COMGR_LIBRARY, &library) != 0 ||
      !read_objects(result, before) || !before.empty() || !add_question(key, kind, info, input))
    return real(kind, info, input, result);
  key.add_number(static_cast<uint64_t>(library.st_size));
  key.add_number(static_cast<uint64_t>(library.st_mtime));
  const std::string path = answers_folder() + "/" + key.text();
  std::vector<Object> objects;
  if (recall(path, objects))
    return give(objects, result) ? AMD_COMGR_STATUS_SUCCESS
                                 : AMD_COMGR_STATUS_ERROR_OUT_OF_RESOURCES;
  const amd_comgr_status_t status = real(kind, info, input, result);
  objects.clear();
  if (status == AMD_COMGR_STATUS_SUCCESS && read_objects(result, objects)) keep(path, objects);
  return status;
}
