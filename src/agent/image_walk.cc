#include "agent/image_walk.h"

namespace wavetap::agent {

constinit ImageWalk g_walk;

namespace {

bool answers_to(const Image& image, std::string_view needed) {
  return needed == soname_of(image) || needed == file_name_of(image);
}

std::string_view last_part(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash != std::string_view::npos) path.remove_prefix(slash + 1);
  return path;
}

}  // namespace

void ImageWalk::take() {
  count_ = 0;
  find_image([&](const Image& image) {
    images_[count_++] = image;
    return count_ == kMost;
  });
  forget_seen();
}

const Image* ImageWalk::holding(uintptr_t address) const {
  for (size_t i = 0; i < count_; ++i)
    if (images_[i].contains(address)) return &images_[i];
  return nullptr;
}

void* ImageWalk::search_queue(size_t tail, const Candidate* candidates, size_t count) {
  for (size_t head = 0; head < tail;) {
    const Image& image = images_[queue_[head++]];
    for (size_t c = 0; c < count; ++c)
      if (candidates[c].base == image.base) return candidates[c].function;
    for_each_needed(image, [&](const char* needed) {
      for (size_t i = 0; i < count_; ++i) {
        if (!answers_to(images_[i], needed)) continue;
        if (!seen_[i]) queue_[tail++] = static_cast<uint16_t>(i);
        seen_[i] = true;
        break;
      }
    });
  }
  return nullptr;
}

bool OpenedNames::add(const char* name) {
  const size_t length = strlen(name);
  const size_t used = size();
  if (length >= kMaxName || used == kMost) return false;
  for (size_t i = 0; i < used; ++i)
    if (strcmp(names_[i], name) == 0) return false;
  memcpy(names_[used], name, length + 1);
  count_.store(used + 1, std::memory_order_relaxed);
  return true;
}

bool was_opened_as(const Image& image, std::string_view name) {
  const bool is_path = name.find('/') != std::string_view::npos;
  return is_path ? name == image.path || last_part(name) == file_name_of(image)
                 : answers_to(image, name);
}

}  // namespace wavetap::agent
