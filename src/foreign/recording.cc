#include "foreign/recording.h"

#include <algorithm>

namespace wavetap::foreign {

void Recording::lose(const std::string& where, const std::string& what) {
  ++losses;
  constexpr size_t kMost = 20;
  if (notes.size() < kMost) notes.push_back(where + ": " + what);
}

Dispatch& Recording::dispatch(const std::string& scope, int64_t number, std::string_view kernel) {
  std::string key = scope;
  key += '\n';
  key += std::to_string(number);
  key += '\n';
  key += kernel;
  const auto [found, is_new] = by_number_.emplace(std::move(key), dispatches.size());
  if (is_new) {
    Dispatch& made = dispatches.emplace_back();
    made.scope = scope;
    made.number = number;
    made.kernel = kernel;
  }
  return dispatches[found->second];
}

std::string copy_kind(std::string_view direction) {
  std::string text(direction);
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  const auto has = [&](const char* word) { return text.find(word) != std::string::npos; };
  if (has("HOST_TO_DEVICE") || has("HOSTTODEVICE")) return "CopyHostToDevice";
  if (has("DEVICE_TO_HOST") || has("DEVICETOHOST")) return "CopyDeviceToHost";
  if (has("DEVICE_TO_DEVICE") || has("DEVICETODEVICE")) return "CopyDeviceToDevice";
  if (has("HOST_TO_HOST") || has("HOSTTOHOST")) return "CopyHostToHost";
  return "Copy";
}

}  // namespace wavetap::foreign
