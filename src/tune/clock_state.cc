#include "tune/clock_state.h"

#include <algorithm>
#include <filesystem>

#include "util/file.h"
#include "util/text.h"

namespace wavetap::tune {
namespace {

std::string text_of(const std::string& path) {
  const auto bytes = util::read_file(path);
  if (!bytes.ok()) return "";
  std::string text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  while (!text.empty() && (text.back() == '\n' || text.back() == '\0')) text.pop_back();
  return text;
}

// "0: 500Mhz\n1: 2310Mhz *": the row with the star.
std::string chosen_of(const std::string& rows) {
  const size_t star = rows.find('*');
  if (star == std::string::npos) return "";
  const size_t line = rows.rfind('\n', star);
  const size_t begin = rows.find(':', line == std::string::npos ? 0 : line);
  if (begin == std::string::npos || begin > star) return "";
  std::string chosen = rows.substr(begin + 1, star - begin - 1);
  std::erase(chosen, ' ');
  return chosen;
}

}  // namespace

std::vector<GpuClock> read_gpu_clocks(const std::string& folder) {
  std::vector<GpuClock> made;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("card") || name.find('-') != std::string::npos) continue;
    const std::string device = entry.path().string() + "/device/";
    GpuClock clock{name, text_of(device + "power_dpm_force_performance_level"),
                   chosen_of(text_of(device + "pp_dpm_sclk"))};
    if (!clock.level.empty() && !clock.clock.empty()) made.push_back(std::move(clock));
  }
  std::sort(made.begin(), made.end(),
            [](const GpuClock& a, const GpuClock& b) { return a.card < b.card; });
  return made;
}

std::string clock_note(const std::vector<GpuClock>& before, const std::vector<GpuClock>& after) {
  if (before.empty() || after.empty()) return "no GPU here says what its clock is";
  std::vector<std::string> parts;
  bool is_free = false;
  for (size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    is_free = is_free || before[i].level == "auto" || before[i].clock != after[i].clock;
    parts.push_back(
        before[i].card + " " + before[i].clock +
        (before[i].clock == after[i].clock ? "" : " before and " + after[i].clock + " after") +
        " (" + before[i].level + ")");
  }
  return util::join(parts, ", ") +
         (is_free ? "; it was free to change: small differences may be the clock's"
                  : "; it was fixed");
}

}  // namespace wavetap::tune
