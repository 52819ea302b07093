#include "inspect/pass_files.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "amd/gfx_target.h"
#include "util/file.h"
#include "util/json.h"
#include "util/json_library.h"
#include "util/text.h"

namespace wavetap::inspect {
namespace {

using Json = nlohmann::ordered_json;
using format::ProbeRecord;

std::vector<std::byte> parse_bytes(const std::string& digits) {
  std::vector<std::byte> bytes;
  const auto digit = [](char c) { return c >= 'a' ? c - 'a' + 10 : c - '0'; };
  for (size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(digit(digits[i]) << 4 | digit(digits[i + 1])));
  return bytes;
}

// One of three sizes, at least 1; 1 when the line is damaged.
uint32_t size_in(const Json& sizes, size_t at, uint32_t most) {
  if (!sizes.is_array() || sizes.size() != 3 || !sizes[at].is_number_unsigned()) return 1;
  return static_cast<uint32_t>(std::clamp<uint64_t>(sizes[at].get<uint64_t>(), 1, most));
}

void read_launch(const Json& line, PassProcess& process) {
  PassLaunch& launch = process.launches[static_cast<uint32_t>(util::count_in(line, "dispatch"))];
  launch.kernel = util::text_in(line, "kernel");
  launch.code = util::text_in(line, "code");
  launch.target = util::text_in(line, "target");
  launch.gpu = static_cast<uint32_t>(util::count_in(line, "gpu"));
  launch.queue = static_cast<uint32_t>(util::count_in(line, "queue"));
  launch.number = util::count_in(line, "number");
  launch.wave_size = static_cast<uint32_t>(util::count_in(line, "wave_size")) == 32 ? 32 : 64;
  launch.arguments = parse_bytes(util::text_in(line, "arguments"));
  if (const auto target = amd::parse_gfx_target(launch.target)) launch.dispatch.target = *target;
  launch.dispatch.dispatch_id = launch.number;
  launch.dispatch.group_segment_bytes = static_cast<uint32_t>(util::count_in(line, "lds_bytes"));
  launch.dispatch.private_segment_bytes =
      static_cast<uint32_t>(util::count_in(line, "scratch_bytes"));
  const Json grid = line.value("grid_size", Json()), group = line.value("workgroup_size", Json());
  for (size_t i = 0; i < 3; ++i) {
    launch.dispatch.grid_size[i] = size_in(grid, i, UINT32_MAX);
    launch.dispatch.workgroup_size[i] = static_cast<uint16_t>(size_in(group, i, 1024));
  }
}

void read_counts(const Json& line, PassLaunch& launch) {
  for (const Json& row : line.value("sites", Json::array())) {
    uint64_t cells[5] = {};
    if (!row.is_array() || row.size() != std::size(cells)) continue;
    for (size_t i = 0; i < std::size(cells); ++i)
      if (row[i].is_number_unsigned()) cells[i] = row[i].get<uint64_t>();
    launch.counts.push_back(
        {static_cast<uint32_t>(cells[0]), {cells[1], cells[2], cells[3], cells[4]}});
  }
}

void read_line(const Json& line, PassProcess& process) {
  const std::string type = line.is_object() ? util::text_in(line, "type") : "";
  if (type == "launch") return read_launch(line, process);
  if (type == "plain") {
    process.plain.push_back(util::text_in(line, "kernel"));
  } else if (type == "refused") {
    process.refused.emplace(util::text_in(line, "kernel"), util::text_in(line, "why"));
  } else if (type == "left_out") {
    process.left_out += util::count_in(line, "count");
  } else if (type == "lost") {
    process.lost += util::count_in(line, "count");
  }
  const auto found = process.launches.find(static_cast<uint32_t>(util::count_in(line, "dispatch")));
  if (found == process.launches.end()) return;
  if (type == "done") {
    found->second.status = util::text_in(line, "status");
    found->second.scratch_aperture =
        static_cast<uint32_t>(util::count_in(line, "scratch_aperture"));
  } else if (type == "counts") {
    read_counts(line, found->second);
  } else if (type == "uncounted") {
    found->second.uncounted = true;
  }
}

// To the dispatches they belong to, by workgroup, in the order of each wave.
void sort_records(PassProcess& process) {
  const std::vector<uint64_t>& words = process.words;
  for (size_t at = 0; at < words.size();) {
    const ProbeRecord record = format::unpack(words[at]);
    if (record.words < format::kPointWords || record.words > words.size() - at) {
      process.problems.push_back("the records of a process end in the middle of one");
      break;
    }
    ++process.records;
    process.record_bytes += record.words * sizeof(uint64_t);
    if (const auto found = process.launches.find(record.dispatch); found != process.launches.end())
      found->second.records.push_back(at);
    at += record.words;
  }
  for (auto& [id, launch] : process.launches)
    std::stable_sort(launch.records.begin(), launch.records.end(), [&](size_t a, size_t b) {
      return static_cast<uint32_t>(words[a + 1]) < static_cast<uint32_t>(words[b + 1]);
    });
}

}  // namespace

PassProcess read_pass_process(const std::string& lines_file, const std::string& records_file) {
  PassProcess process;
  const Result<std::vector<std::byte>> lines = util::read_file(lines_file);
  if (!lines.ok()) {
    process.problems.push_back(lines.error().message);
    return process;
  }
  const std::string_view text(reinterpret_cast<const char*>(lines->data()), lines->size());
  for (const std::string& line : util::split(text, '\n'))
    if (!line.empty()) read_line(util::read_json(line), process);
  if (std::filesystem::exists(records_file)) {
    const Result<std::vector<std::byte>> bytes = util::read_file(records_file);
    if (!bytes.ok()) {
      process.problems.push_back(bytes.error().message);
      return process;
    }
    process.words.resize(bytes->size() / sizeof(uint64_t));
    std::memcpy(process.words.data(), bytes->data(), process.words.size() * sizeof(uint64_t));
  }
  sort_records(process);
  return process;
}

}  // namespace wavetap::inspect
