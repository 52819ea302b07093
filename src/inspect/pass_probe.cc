#include "inspect/pass_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "amd/gfx_target.h"
#include "codeobj/code_object.h"
#include "format/probe_ring.h"
#include "inspect/pass_sites.h"
#include "probe/narrator.h"
#include "probe/result_files.h"
#include "util/file.h"
#include "util/text.h"

namespace wavetap::inspect {
namespace {

using Json = nlohmann::json;
using format::ProbeRecord;
using format::SiteSpace;

class Files final : public probe::ResultFiles {
 public:
  using ResultFiles::ResultFiles;

  void know(const probe::Code& code, const format::SiteKernel& kernel) {
    kernels_[code.described.id] = &kernel;
  }
  uint32_t source(const probe::Code& code, uint32_t site, uint32_t frame,
                  wavetap_source* out) noexcept override {
    const auto found = kernels_.find(code.described.id);
    if (found == kernels_.end() || site >= found->second->sites.size()) return 0;
    const auto& frames = found->second->sites[site].frames;
    if (frame < frames.size() && out != nullptr) {
      out->file = frames[frame].file.c_str();
      out->function = frames[frame].function.c_str();
      out->line = frames[frame].line;
      out->column = frames[frame].column;
    }
    return static_cast<uint32_t>(frames.size());
  }
  bool buffer(uint32_t, uint64_t, wavetap_buffer*) noexcept override { return false; }

 private:
  std::map<uint32_t, const format::SiteKernel*> kernels_;
};

// Where the kernel driver puts LDS into the address space of gfx9 and newer, the upper half.
constexpr uint32_t kLdsAperture = 0x10000;

// A dispatch as the agent wrote it down.
struct Launch {
  std::string kernel, code, target;
  uint32_t gpu = 0, queue = 0, wave_size = 64;
  uint64_t number = 0;
  emu::Dispatch dispatch;
  std::vector<std::byte> arguments;
  std::string status = "abandoned";
  uint32_t scratch_aperture = 0;
  std::vector<size_t> records;  // where each begins
};

template <class T>
T number(const Json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_number_unsigned() ? found->get<T>() : T{};
}
std::string word(const Json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_string() ? found->get<std::string>() : "";
}

std::vector<std::byte> parse_bytes(const std::string& digits) {
  std::vector<std::byte> bytes;
  const auto digit = [](char c) { return c >= 'a' ? c - 'a' + 10 : c - '0'; };
  for (size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(digit(digits[i]) << 4 | digit(digits[i + 1])));
  return bytes;
}

// One process's files, told.
class Process {
 public:
  Process(const PassProbeOptions& options, PassOutcome& outcome, probe::Session& session,
          Files& files)
      : options_(options),
        outcome_(outcome),
        session_(session),
        narrator_(session),
        files_(files) {}

  void read(const std::string& lines_file, const std::string& records_file);

 private:
  struct Code {
    std::map<std::string, format::SiteKernel> kernels;
    std::map<std::string, const probe::Code*> told;
  };

  void read_line(const Json& line);
  void read_launch(const Json& line);
  void sort_records();
  void tell(uint32_t id, Launch& launch);
  void tell_record(const Launch& launch, const probe::Code& code, const format::SiteKernel& kernel,
                   size_t at);
  void tell_memory(const Launch& launch, const probe::Narrator::At& at, const format::Site& site,
                   const uint64_t (&values)[64]);
  const probe::Code* code_of(const Launch& launch, const format::SiteKernel** kernel);
  probe::DispatchFacts facts_of(const Launch& launch) const;

  const PassProbeOptions& options_;
  PassOutcome& outcome_;
  probe::Session& session_;
  probe::Narrator narrator_;
  Files& files_;
  std::map<uint32_t, Launch> launches_;
  std::vector<uint64_t> words_;
  uint32_t waves_ = 0;  // of a workgroup of the dispatch at hand
  // Over all processes: handlers may keep names.
  static std::map<std::string, std::unique_ptr<Code>>& codes() {
    static std::map<std::string, std::unique_ptr<Code>> all;
    return all;
  }
};

void Process::read_launch(const Json& line) {
  Launch& launch = launches_[number<uint32_t>(line, "dispatch")];
  launch.kernel = word(line, "kernel");
  launch.code = word(line, "code");
  launch.target = word(line, "target");
  launch.gpu = number<uint32_t>(line, "gpu");
  launch.queue = number<uint32_t>(line, "queue");
  launch.number = number<uint64_t>(line, "number");
  launch.wave_size = number<uint32_t>(line, "wave_size") == 32 ? 32 : 64;
  launch.arguments = parse_bytes(word(line, "arguments"));
  if (const auto target = amd::parse_gfx_target(launch.target)) launch.dispatch.target = *target;
  launch.dispatch.dispatch_id = launch.number;
  launch.dispatch.group_segment_bytes = number<uint32_t>(line, "lds_bytes");
  launch.dispatch.private_segment_bytes = number<uint32_t>(line, "scratch_bytes");
  const Json grid = line.value("grid_size", Json()), group = line.value("workgroup_size", Json());
  for (size_t i = 0; i < 3; ++i) {
    if (grid.is_array() && grid.size() == 3)
      launch.dispatch.grid_size[i] = std::max(grid[i].get<uint32_t>(), 1u);
    if (group.is_array() && group.size() == 3)
      launch.dispatch.workgroup_size[i] =
          static_cast<uint16_t>(std::clamp(group[i].get<uint32_t>(), 1u, 1024u));
  }
}

void Process::read_line(const Json& line) {
  const std::string type = line.is_object() ? word(line, "type") : "";
  if (type == "launch") return read_launch(line);
  if (type == "done") {
    const auto found = launches_.find(number<uint32_t>(line, "dispatch"));
    if (found == launches_.end()) return;
    found->second.status = word(line, "status");
    found->second.scratch_aperture = number<uint32_t>(line, "scratch_aperture");
  } else if (type == "plain") {
    ++outcome_.plain[codeobj::demangle(word(line, "kernel"))];
    files_.left_out();
  } else if (type == "refused") {
    outcome_.refused.emplace(codeobj::demangle(word(line, "kernel")), word(line, "why"));
  } else if (type == "left_out") {
    for (uint64_t i = number<uint64_t>(line, "count"); i > 0; --i) files_.left_out();
  } else if (type == "lost") {
    outcome_.lost += number<uint64_t>(line, "count");
  }
}

// To the dispatches they belong to, by workgroup, in the order of each wave.
void Process::sort_records() {
  for (size_t at = 0; at < words_.size();) {
    const ProbeRecord record = format::unpack(words_[at]);
    if (record.words < format::kPointWords || record.words > words_.size() - at) {
      outcome_.problems.push_back("the records of a process end in the middle of one");
      break;
    }
    ++outcome_.records;
    outcome_.record_bytes += record.words * sizeof(uint64_t);
    if (const auto found = launches_.find(record.dispatch); found != launches_.end())
      found->second.records.push_back(at);
    at += record.words;
  }
  for (auto& [id, launch] : launches_)
    std::stable_sort(launch.records.begin(), launch.records.end(), [&](size_t a, size_t b) {
      return static_cast<uint32_t>(words_[a + 1]) < static_cast<uint32_t>(words_[b + 1]);
    });
}

const probe::Code* Process::code_of(const Launch& launch, const format::SiteKernel** kernel) {
  std::unique_ptr<Code>& code = codes()[launch.code];
  if (code == nullptr) {
    code = std::make_unique<Code>();
    const Result<std::vector<std::byte>> bytes =
        util::read_file(options_.folder + "/" + launch.code);
    if (!bytes.ok()) {
      outcome_.problems.push_back(bytes.error().message);
    } else {
      auto tables = read_sites(*bytes);
      if (tables.ok()) code->kernels = std::move(*tables);
      else
        outcome_.problems.push_back(
            fmt::format("{}: {}", codeobj::demangle(launch.kernel), tables.error().message));
    }
  }
  const auto found = code->kernels.find(launch.kernel);
  if (found == code->kernels.end()) return nullptr;
  *kernel = &found->second;
  const probe::Code*& told = code->told[launch.kernel];
  if (told == nullptr) {
    told = narrator_.add_code(make_site_code(found->second, launch.dispatch.target));
    files_.know(*told, found->second);
    files_.code(*told, launch.code, launch.kernel);
    if (!found->second.unseen.empty())
      outcome_.unseen[codeobj::demangle(launch.kernel)] = found->second.unseen;
  }
  return told;
}

probe::DispatchFacts Process::facts_of(const Launch& launch) const {
  probe::DispatchFacts facts;
  facts.kernel = codeobj::demangle(launch.kernel);
  facts.gpu = launch.gpu;
  facts.queue = launch.queue;
  facts.wave64 = launch.wave_size == 64;
  facts.kernarg = launch.arguments;
  if (launch.gpu < options_.gpus.size()) {
    facts.gpu_model = options_.gpus[launch.gpu].model;
    facts.line_bytes = options_.gpus[launch.gpu].line_bytes;
  } else {
    facts.gpu_model = launch.target;
    facts.line_bytes = launch.dispatch.target.has_wave32() ? 128 : 64;
  }
  return facts;
}

void Process::tell_memory(const Launch& launch, const probe::Narrator::At& at,
                          const format::Site& site, const uint64_t (&values)[64]) {
  probe::Narrator::Access access{static_cast<uint8_t>(site.space),
                                 static_cast<uint8_t>(site.access),
                                 site.bytes,
                                 at.exec,
                                 values,
                                 0,
                                 1};
  if (site.space != SiteSpace::kFlat) return narrator_.memory(at, access);
  // By the upper halves of the addresses: what is in LDS, in scratch, elsewhere.
  uint64_t lanes[3] = {};
  uint64_t near[64] = {};
  for (uint64_t rest = at.exec; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const auto upper = static_cast<uint32_t>(values[lane] >> 32);
    const size_t space = upper == kLdsAperture                            ? WAVETAP_LDS
                         : upper != 0 && upper == launch.scratch_aperture ? WAVETAP_SCRATCH
                                                                          : WAVETAP_GLOBAL;
    lanes[space] |= uint64_t{1} << lane;
    near[lane] = space == WAVETAP_GLOBAL ? values[lane] : static_cast<uint32_t>(values[lane]);
  }
  access.address = near;
  access.parts = static_cast<uint8_t>((lanes[0] != 0) + (lanes[1] != 0) + (lanes[2] != 0));
  for (uint8_t space = 0; space < 3; ++space) {
    if (lanes[space] == 0) continue;
    access.space = space;
    access.lanes = lanes[space];
    narrator_.memory(at, access);
    ++access.part;
  }
}

void Process::tell_record(const Launch& launch, const probe::Code& code,
                          const format::SiteKernel& kernel, size_t at) {
  const ProbeRecord record = format::unpack(words_[at]);
  if (record.site >= kernel.sites.size()) return;
  const format::Site& site = kernel.sites[record.site];
  const auto wave = static_cast<uint32_t>((words_[at + 1] >> format::kWaveShift) & 0xff);
  if (wave >= waves_) return;  // no such wave: the record is damaged
  const probe::Narrator::At where{&code, record.site, wave, words_[at + 2]};
  if (record.kind == format::kBlockRecord) return narrator_.block(where);
  if (record.kind == format::kBarrierRecord) return narrator_.barrier(where);
  uint64_t values[64] = {};
  const bool is_list = (record.kind & format::kListOfKind) != 0;
  const int64_t stride = static_cast<int64_t>(words_[at + 1]) >> format::kStrideShift;
  const int first = std::countr_zero(where.exec);
  const uint64_t* next = words_.data() + at + format::kPointWords;
  const uint64_t* const end = words_.data() + at + record.words;
  for (uint64_t rest = where.exec; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    if (is_list) values[lane] = next < end ? *next++ : 0;
    else values[lane] = *next + static_cast<uint64_t>(stride * (lane - first));
  }
  if ((record.kind & ~format::kListOfKind) == format::kMemoryRecord)
    return tell_memory(launch, where, site, values);
  // A message for each value that lanes have.
  for (uint64_t rest = where.exec; rest != 0;) {
    const uint64_t value = values[std::countr_zero(rest)];
    probe::Narrator::At same = where;
    same.exec = 0;
    for (uint64_t each = rest; each != 0; each &= each - 1)
      if (values[std::countr_zero(each)] == value) same.exec |= each & -each;
    narrator_.message(same, static_cast<uint32_t>(value >> 32), static_cast<uint32_t>(value));
    rest &= ~same.exec;
  }
}

void Process::tell(uint32_t, Launch& launch) {
  const format::SiteKernel* kernel = nullptr;
  const probe::Code* const code = code_of(launch, &kernel);
  if (code == nullptr) return;
  ++outcome_.dispatches;
  const probe::DispatchFacts facts = facts_of(launch);
  probe::DispatchRecord record;
  record.launch = outcome_.dispatches;
  record.dispatch_id = launch.number;
  record.id = session_.begin(launch.dispatch, facts);
  const emu::Dispatch& dispatch = launch.dispatch;
  uint64_t groups[3], lanes = 1;
  for (int i = 0; i < 3; ++i) {
    groups[i] = (uint64_t{dispatch.grid_size[i]} + dispatch.workgroup_size[i] - 1) /
                dispatch.workgroup_size[i];
    lanes *= dispatch.workgroup_size[i];
  }
  waves_ = static_cast<uint32_t>((lanes + launch.wave_size - 1) / launch.wave_size);
  const bool complete = launch.status == "complete";
  std::optional<uint32_t> group;
  for (const size_t at : launch.records) {
    const auto number = static_cast<uint32_t>(words_[at + 1]);
    if (group != number) {
      if (group) narrator_.end_workgroup(complete);
      group = number;
      const uint32_t id[3] = {static_cast<uint32_t>(number % groups[0]),
                              static_cast<uint32_t>(number / groups[0] % groups[1]),
                              static_cast<uint32_t>(number / groups[0] / groups[1])};
      narrator_.begin_workgroup(dispatch, id, number, waves_, lanes);
    }
    tell_record(launch, *code, *kernel, at);
  }
  if (group) narrator_.end_workgroup(complete);
  const uint32_t status = complete                     ? WAVETAP_COMPLETE
                          : launch.status == "faulted" ? WAVETAP_FAULTED
                                                       : WAVETAP_ABANDONED;
  if (status == WAVETAP_FAULTED) record.fault = "reported by the runtime";
  session_.end(dispatch, status);
  files_.dispatch(record, dispatch, facts, status);
}

void Process::read(const std::string& lines_file, const std::string& records_file) {
  const Result<std::vector<std::byte>> lines = util::read_file(lines_file);
  if (!lines.ok()) return outcome_.problems.push_back(lines.error().message);
  const std::string_view text(reinterpret_cast<const char*>(lines->data()), lines->size());
  for (const std::string& line : util::split(text, '\n'))
    if (!line.empty()) read_line(Json::parse(line, nullptr, /*allow_exceptions=*/false));
  if (std::filesystem::exists(records_file)) {
    const Result<std::vector<std::byte>> bytes = util::read_file(records_file);
    if (!bytes.ok()) return outcome_.problems.push_back(bytes.error().message);
    words_.resize(bytes->size() / sizeof(uint64_t));
    std::memcpy(words_.data(), bytes->data(), words_.size() * sizeof(uint64_t));
  }
  sort_records();
  for (auto& [id, launch] : launches_) tell(id, launch);
}

}  // namespace

Result<PassOutcome> tell_records(const PassProbeOptions& options) {
  PassOutcome outcome;
  Files files(options.folder);
  probe::Session session(files);
  for (const probe::RefusedHandler& refused : probe::open_handlers(options.handlers, session))
    files.refused(refused.name, refused.why);
  std::error_code error;
  std::set<std::string> lines;
  for (const auto& entry : std::filesystem::directory_iterator(options.folder, error))
    if (entry.path().extension() == ".pass") lines.insert(entry.path().string());
  if (error)
    return errorf("%s: cannot be read: %s", options.folder.c_str(), error.message().c_str());
  for (const std::string& file : lines) {
    Process process(options, outcome, session, files);
    process.read(file, file.substr(0, file.size() - 4) + "records");
  }
  if (outcome.lost != 0) files.lose("ring", outcome.lost);
  return outcome;
}

uint32_t wants_of(const std::vector<probe::HandlerChoice>& handlers) {
  // Opened once to hear what they ask for; nothing is written.
  struct Silent final : probe::Surroundings {
    void result(const char*, uint64_t, std::string_view) noexcept override {}
    bool write(const char*, const char*, std::string_view) noexcept override { return true; }
    void lose(const char*, uint64_t) noexcept override {}
    uint32_t source(const probe::Code&, uint32_t, uint32_t, wavetap_source*) noexcept override {
      return 0;
    }
    bool buffer(uint32_t, uint64_t, wavetap_buffer*) noexcept override { return false; }
  } silent;
  probe::Session session(silent);
  probe::open_handlers(handlers, session);
  const uint32_t wants = probe::Narrator(session).wants();
  uint32_t records = 0;
  if ((wants & WAVETAP_MEMORY) != 0) records |= format::kProbeMemory;
  if ((wants & WAVETAP_BLOCKS) != 0) records |= format::kProbeBlocks;
  if ((wants & WAVETAP_BARRIERS) != 0) records |= format::kProbeBarriers;
  if ((wants & WAVETAP_MESSAGES) != 0) records |= format::kProbeMessages;
  // Waves are known by what they do.
  if ((wants & WAVETAP_WAVES) != 0) records |= format::kProbeBlocks;
  return records;
}

}  // namespace wavetap::inspect
