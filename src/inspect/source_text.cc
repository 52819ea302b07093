#include "inspect/source_text.h"

#include <cstdint>
#include <filesystem>

#include "util/file.h"
#include "util/text.h"

namespace wavetap::inspect {

constexpr uint64_t kMostBytes = 16 << 20;

const std::vector<std::string>& SourceText::lines(const std::string& file) {
  const auto [known, is_new] = files_.try_emplace(file);
  if (!is_new) return known->second;
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error) ||
      std::filesystem::file_size(file, error) > kMostBytes)
    return known->second;
  const Result<std::vector<std::byte>> bytes = util::read_file(file);
  if (!bytes.ok()) return known->second;
  const std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  known->second = util::split(text, '\n');
  return known->second;
}

std::string SourceText::line(const std::string& file, uint32_t number) {
  const std::vector<std::string>& all = lines(file);
  return number >= 1 && number <= all.size() ? all[number - 1] : "";
}

}  // namespace wavetap::inspect
