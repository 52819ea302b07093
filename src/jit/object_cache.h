// ObjectCache: compiled code on disk, so that the next run of a program starts with it.
//
// A file per block, named by its key: everything the code depends on, hashed (block_key.h). Files are
// written under another name and renamed, so that processes can share the folder; they carry a
// checksum, and what is damaged, or belongs to somebody else, or others may write, is as good as
// absent. When the folder has grown past its limit, what was used least lately goes. Where it cannot
// be written nothing is kept, and the program is not told: the cache only ever saves time. Its user
// is, by who starts it (refusal).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace wavetap::jit {

struct BlockKey {
  uint64_t part[2] = {};
  bool operator==(const BlockKey&) const = default;
};

// One thread; any number of processes.
class ObjectCache {
 public:
  static constexpr uint64_t kDefaultLimit = uint64_t{256} << 20;

  // Why nothing can be kept in `folder`, which is made if need be; empty when it can.
  static std::string refusal(const std::string& folder);

  // An empty `folder`: there is no cache.
  explicit ObjectCache(std::string folder, uint64_t limit_bytes = kDefaultLimit);

  // The object kept under `key`; empty when there is none.
  std::vector<std::byte> find(const BlockKey& key);
  void keep(const BlockKey& key, std::span<const std::byte> object);

 private:
  bool open();
  std::string path_of(const BlockKey& key) const;
  // Brings the folder below its limit.
  void evict();

  const std::string folder_;
  const uint64_t limit_bytes_;
  bool is_open_ = false;
  bool is_closed_ = false;      // it cannot be used
  uint64_t since_evicted_ = 0;  // bytes written
};

}  // namespace wavetap::jit
