#include "swap/index.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <unordered_map>
#include <utility>

#include "base/sys_files.h"
#include "codeobj/container.h"
#include "swap/index_cache.h"
#include "swap/manifest.h"

namespace wavetap::swap {
namespace {

constexpr size_t kMostFoldersDeep = 16;
constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();

enum class Content { kOther, kDevice };

bool has_device_suffix(std::string_view path) {
  return path.ends_with(".hsaco") || path.ends_with(".co") || path.ends_with(".hipfb");
}

// By its first bytes: ELF, an offload bundle, a compressed one.
Content content_of(const std::string& path) {
  const std::optional<std::string> head = sys::read_file(path, 24);
  if (!head) return Content::kOther;
  for (const std::string_view magic :
       {std::string_view("\x7f"
                         "ELF"),
        std::string_view("CCOB"), std::string_view("__CLANG_OFFLOAD_BUNDLE__")})
    if (head->starts_with(magic)) return Content::kDevice;
  return Content::kOther;
}

std::span<const std::byte> bytes_of(const std::string& content) {
  return {reinterpret_cast<const std::byte*>(content.data()), content.size()};
}

void add_object(const codeobj::ContainedCodeObject& contained, uint32_t number, size_t file_bytes,
                IndexedFile& file) {
  Result<codeobj::CodeObject> object = codeobj::CodeObject::open(contained.bytes);
  if (!object.ok()) {
    file.problems.push_back((contained.target_id.empty() ? "" : contained.target_id + ": ") +
                            object.error().message);
    return;
  }
  if (object->kernels().empty()) return;
  IndexedObject& to = file.objects.emplace_back();
  to.offset = contained.file_offset;
  to.is_compressed = contained.storage != nullptr;
  to.bytes = contained.bytes.size() == file_bytes ? 0 : contained.bytes.size();
  to.number = number;
  to.kernels = describe_all(*object);
  to.variables = exported_variables(*object);
}

// Takes from the cache what has not changed, and reads the rest.
class Scanner {
 public:
  Scanner(Index& index, std::vector<IndexedFile> known) : index_(index), known_(std::move(known)) {
    for (size_t i = 0; i < known_.size(); ++i) by_path_[known_[i].path] = i;
  }

  // A file that was asked for, or one of a folder, which may hold anything.
  void add_file(const std::string& path, bool is_named) {
    int64_t time_ns = 0;
    uint64_t bytes = 0;
    if (!stat_file(path, time_ns, bytes)) {
      if (is_named) say(path, "cannot be read; look at its name and rights");
      return;
    }
    if (const auto found = by_path_.find(path); found != by_path_.end()) {
      IndexedFile& known = known_[found->second];
      if (known.time_ns == time_ns && known.bytes == bytes) return take(std::move(known));
    }
    const bool expected = is_named || has_device_suffix(path);
    if (!expected && ::access(path.c_str(), R_OK) != 0)
      return say(path, "cannot be read; look at its rights");
    if (!expected && content_of(path) == Content::kOther) return;
    ++index_.read;
    IndexedFile file = index_file(path);
    if (file.objects.empty() && file.problems.empty() && expected)
      file.problems.push_back("holds no kernels; give a code object, a bundle or a HIP program");
    take(std::move(file));
  }

  void add_folder(const std::string& folder, const struct stat& status) {
    // A link may lead back to where we are.
    const std::pair<uint64_t, uint64_t> identity(status.st_dev, status.st_ino);
    if (std::find(within_.begin(), within_.end(), identity) != within_.end()) return;
    if (within_.size() > kMostFoldersDeep) return say(folder, "is too deep and is not searched");
    if (::access(folder.c_str(), R_OK | X_OK) != 0)
      return say(folder, "cannot be searched; look at its rights");
    within_.push_back(identity);
    for (const std::string& name : sys::list_directory(folder)) add_entry(folder + "/" + name);
    within_.pop_back();
  }

 private:
  void say(const std::string& path, const std::string& problem) {
    index_.problems.push_back(path + ": " + problem);
  }

  void add_entry(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) {
      // What has gone meanwhile is nobody's concern; a link that leads nowhere is.
      if (::lstat(path.c_str(), &status) == 0)
        say(path, "leads nowhere; remove the link, or mend it");
    } else if (S_ISDIR(status.st_mode)) {
      add_folder(path, status);
    } else if (S_ISREG(status.st_mode)) {
      add_file(path, /*is_named=*/false);
    }
  }

  void take(IndexedFile file) {
    for (const std::string& problem : file.problems) say(file.path, problem);
    index_.files.push_back(std::move(file));
  }

  Index& index_;
  std::vector<IndexedFile> known_;
  std::unordered_map<std::string, size_t> by_path_;
  std::vector<std::pair<uint64_t, uint64_t>> within_;  // folders that are being searched
};

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

bool names(const KernelInfo& kernel, const std::string& name) {
  return kernel.name == name || codeobj::demangle(kernel.name) == name ||
         codeobj::short_name(kernel.name) == name;
}

// A file's code objects, unpacked. Read once for all of them: libraries have a thousand.
struct Unpacked {
  const IndexedFile* of = nullptr;
  std::string content;
  codeobj::ContainerContents contents;
};

void unpack_file(const IndexedFile& file, Unpacked& to) {
  if (to.of == &file) return;
  to.contents = {};  // they point into what goes next
  to.content = sys::read_file(file.path, kNoLimit).value_or("");
  to.contents = codeobj::find_code_objects(bytes_of(to.content));
  to.of = &file;
}

// Writes a code object where the program can load it; "" when it cannot be.
std::string extract_object(const Unpacked& file, const IndexedObject& object,
                           const std::string& folder, size_t serial) {
  if (object.number >= file.contents.code_objects.size()) return "";
  const std::span<const std::byte> bytes = file.contents.code_objects[object.number].bytes;
  const std::string path = folder + "/swap-" + std::to_string(serial) + ".hsaco";
  const int error =
      sys::write_file(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  return error == 0 ? path : "";
}

class CandidateList {
 public:
  CandidateList(Index& index, const std::string& extract) : index_(index), extract_(extract) {
    for (size_t i = 0; i < index.files.size(); ++i) by_path_.emplace(index.files[i].path, i);
  }

  void add(const Rule& rule) {
    const auto found = by_path_.find(rule.path);
    if (found == by_path_.end()) return;
    const IndexedFile& file = index_.files[found->second];
    size_t added = 0;
    for (const IndexedObject& object : file.objects) added += add(rule, file, object);
    if (added == 0 && !file.objects.empty())
      index_.problems.push_back(file.path + ": has no kernel " +
                                (rule.kernel.empty() ? rule.pattern : rule.kernel) +
                                "; see wavetap swap list " + file.path);
  }
  std::vector<Candidate> take() { return std::move(candidates_); }

 private:
  size_t add(const Rule& rule, const IndexedFile& file, const IndexedObject& object) {
    size_t added = 0;
    Candidate base{.pattern = {},
                   .kernel = {},
                   .target_id = {},
                   .offset = object.offset,
                   .bytes = object.bytes,
                   .original_hash = rule.original_hash,
                   .allowed = rule.allowed,
                   .file_time_ns = file.time_ns,
                   .file_bytes = file.bytes,
                   .path = file.path};
    for (const KernelInfo& kernel : object.kernels) {
      const bool fits = !rule.kernel.empty()   ? names(kernel, rule.kernel)
                        : rule.pattern.empty() ? true
                                               : matches_kernel(rule.pattern, kernel.name);
      if (!fits || (object.is_compressed && !unpack(file, object, base))) continue;
      Candidate& candidate = candidates_.emplace_back(base);
      candidate.is_exact = rule.kernel.empty();
      candidate.pattern = rule.kernel.empty() ? kernel.name : rule.pattern;
      candidate.kernel = kernel.name;
      candidate.target_id = kernel.target_id;
      ++added;
    }
    return added;
  }

  bool unpack(const IndexedFile& file, const IndexedObject& object, Candidate& base) {
    if (extract_.empty()) return true;  // only to be looked at
    auto [at, is_new] = unpacked_.try_emplace(&object);
    if (is_new) {
      unpack_file(file, file_);
      at->second = extract_object(file_, object, extract_, unpacked_.size());
    }
    if (at->second.empty()) return false;
    base.path = at->second;
    base.offset = base.bytes = 0;
    return stat_file(base.path, base.file_time_ns, base.file_bytes);
  }

  Index& index_;
  const std::string& extract_;
  std::unordered_map<std::string, size_t> by_path_;
  Unpacked file_;  // the last
  std::unordered_map<const IndexedObject*, std::string> unpacked_;
  std::vector<Candidate> candidates_;
};

}  // namespace

size_t Index::kernel_count() const {
  size_t count = 0;
  for (const IndexedFile& file : files)
    for (const IndexedObject& object : file.objects) count += object.kernels.size();
  return count;
}

bool stat_file(const std::string& path, int64_t& time_ns, uint64_t& bytes) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  time_ns = int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
  bytes = static_cast<uint64_t>(status.st_size);
  return true;
}

IndexedFile index_file(const std::string& path) {
  IndexedFile file;
  file.path = path;
  // The time first: what changes while it is read is read again the next time.
  stat_file(path, file.time_ns, file.bytes);
  const std::optional<std::string> content = sys::read_file(path, kNoLimit);
  if (!content) {
    file.problems.push_back("cannot be read; look at its rights");
    return file;
  }
  const codeobj::ContainerContents contents = codeobj::find_code_objects(bytes_of(*content));
  file.problems = contents.problems;
  for (uint32_t i = 0; i < contents.code_objects.size(); ++i)
    add_object(contents.code_objects[i], i, content->size(), file);
  return file;
}

Result<Index> make_index(const std::string& source, const std::string& cache) {
  struct stat status {};
  if (::stat(source.c_str(), &status) != 0)
    return errorf("%s: %s; name a folder, a file with kernels or a manifest", source.c_str(),
                  std::strerror(errno));
  Index index;
  const std::string kept = cache.empty() ? "" : sys::read_file(cache, kNoLimit).value_or("");
  Scanner scanner(index, read_cache(kept));
  if (S_ISDIR(status.st_mode)) {
    std::string folder = source;
    while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
    scanner.add_folder(folder, status);
    for (const IndexedFile& file : index.files)
      index.rules.push_back(
          {.pattern = {}, .path = file.path, .kernel = {}, .allowed = kOfferWhole});
  } else if (content_of(source) == Content::kDevice || has_device_suffix(source)) {
    scanner.add_file(source, /*is_named=*/true);
    index.rules.push_back({.pattern = {}, .path = source, .kernel = {}, .allowed = kOfferWhole});
  } else {
    const std::optional<std::string> text = sys::read_file(source, kNoLimit);
    if (!text) return errorf("%s: cannot be read; look at its rights", source.c_str());
    Result<std::vector<Rule>> rules = parse_manifest(*text, folder_of(source));
    if (!rules.ok()) return errorf("%s: %s", source.c_str(), rules.error().message.c_str());
    index.rules = std::move(*rules);
    std::vector<std::string> seen;
    for (const Rule& rule : index.rules) {
      if (std::find(seen.begin(), seen.end(), rule.path) != seen.end()) continue;
      seen.push_back(rule.path);
      scanner.add_file(rule.path, /*is_named=*/true);
    }
  }
  const bool same = index.read == 0 && !kept.empty();
  if (!cache.empty() && !same) save_cache(cache, index.files);
  return index;
}

std::vector<Candidate> candidates_of(Index& index, const std::string& extract) {
  CandidateList list(index, extract);
  for (const Rule& rule : index.rules) list.add(rule);
  return list.take();
}

}  // namespace wavetap::swap
