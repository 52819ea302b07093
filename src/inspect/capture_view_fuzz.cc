// Any bytes, the same with checksums made good, and any records: what `capture show` says of them ends, stays
// inside, and is neither raw control characters nor broken JSON.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "inspect/capture_view.h"
#include "replay/capture_file.h"
#include "replay/test_capture_input.h"

namespace {

using namespace wavetap;

void check_text(const std::string& text) {
  for (const char c : text)
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n') std::abort();
}

void check_json(const nlohmann::ordered_json& json) {
  const std::string text =
      json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  if (!nlohmann::ordered_json::accept(text)) std::abort();
}

// What takes longer with each byte of code, or each page that is listed, is bounded by the files that are tried.
bool is_small(const replay::Capture& capture) {
  uint64_t images = 0;
  for (const auto& object : capture.code_objects) images += object.record.size_bytes;
  return images < 1u << 20;
}

void look_at(std::span<const std::byte> bytes) {
  const auto file = replay::CaptureFile::over(bytes, "input");
  if (!file.ok()) return;
  bool all_small = true;
  for (size_t i = 0; i < (*file)->captures().size(); ++i) {
    if (!is_small((*file)->captures()[i])) all_small = false;
    else check_text(inspect::capture_text(**file, i, 80));
  }
  if (all_small) check_json(inspect::captures_json(**file));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  look_at({reinterpret_cast<const std::byte*>(data), size});
  look_at(replay::file_of_records(data, size));
  look_at(replay::mended(data, size));
  return 0;
}
