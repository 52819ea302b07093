#include "cli/probe_output.h"

#include <fmt/format.h>

#include <filesystem>

#include "inspect/heatmap_picture.h"
#include "inspect/page.h"
#include "util/file.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

// 4711.log.jsonl becomes log.jsonl, or log.4711.jsonl beside those of other processes.
void rename_handler_files(const std::string& folder, bool one_process) {
  std::error_code error;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    files.push_back(entry.path());
  for (const std::filesystem::path& path : files) {
    const std::vector<std::string> parts = util::split(path.filename().string(), '.');
    if (parts.size() != 3 || parts[0].find_first_not_of("0123456789") != std::string::npos)
      continue;
    const std::string name = one_process ? fmt::format("{}.{}", parts[1], parts[2])
                                         : fmt::format("{}.{}.{}", parts[1], parts[0], parts[2]);
    std::filesystem::rename(path, path.parent_path() / name, error);
  }
}

}  // namespace

Status write_probe_output(const std::string& folder, const inspect::ProbeResults& results,
                          const std::vector<std::string>& handlers, const std::string& json) {
  rename_handler_files(folder, results.processes <= 1);
  Status written = util::write_file(folder + "/probe.json", json);
  if (!written.ok()) return written;
  written = util::write_file(folder + "/index.html", inspect::make_page(results, handlers));
  if (!written.ok()) return written;
  size_t number = 0;
  for (const inspect::ProbedKernel& kernel : results.kernels) {
    if (kernel.heat.empty()) continue;
    written = util::write_file(fmt::format("{}/heatmap-{}.png", folder, ++number),
                               inspect::heatmap_picture(kernel));
    if (!written.ok()) return written;
  }
  return {};
}

}  // namespace wavetap::cli
