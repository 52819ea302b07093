#include "inspect/pass_probe.h"

#include <fmt/format.h>

#include <bit>
#include <filesystem>
#include <optional>
#include <set>

#include "amd/gfx_target.h"
#include "codeobj/code_object.h"
#include "format/probe_ring.h"
#include "inspect/pass_files.h"
#include "inspect/pass_sites.h"
#include "probe/narrator.h"
#include "probe/result_files.h"
#include "util/file.h"
#include "util/text.h"

namespace wavetap::inspect {
namespace {

using format::ProbeRecord;
using format::SiteSpace;

class PassProbeFiles final : public probe::ResultFiles {
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

uint32_t kind_of(const format::Site& site) {
  switch (site.kind) {
    case format::SiteKind::kBlock: return WAVETAP_BLOCKS;
    case format::SiteKind::kMemory: return WAVETAP_MEMORY;
    case format::SiteKind::kBarrier: return WAVETAP_BARRIERS;
    case format::SiteKind::kMessage: return WAVETAP_MESSAGES;
  }
  return 0;
}

// Tells what one process has left.
class Teller {
 public:
  Teller(const PassProbeOptions& options, PassOutcome& outcome, probe::Session& session,
         PassProbeFiles& files)
      : options_(options),
        outcome_(outcome),
        session_(session),
        narrator_(session),
        files_(files) {}

  void tell(const PassProcess& process);

 private:
  struct Code {
    std::map<std::string, format::SiteKernel> kernels;
    std::map<std::string, const probe::Code*> told;
  };

  void tell_launch(const PassLaunch& launch);
  void tell_records(const PassLaunch& launch, const probe::Code& code,
                    const format::SiteKernel& kernel);
  void tell_counts(const PassLaunch& launch, const probe::Code& code,
                   const format::SiteKernel& kernel);
  void tell_record(const PassLaunch& launch, const probe::Code& code,
                   const format::SiteKernel& kernel, size_t at);
  void tell_memory(const PassLaunch& launch, const probe::Narrator::At& at,
                   const format::Site& site, const uint64_t (&values)[64]);
  const probe::Code* code_of(const PassLaunch& launch, const format::SiteKernel** kernel);
  probe::DispatchFacts facts_of(const PassLaunch& launch) const;

  const PassProbeOptions& options_;
  PassOutcome& outcome_;
  probe::Session& session_;
  probe::Narrator narrator_;
  PassProbeFiles& files_;
  const uint64_t* words_ = nullptr;
  uint32_t waves_ = 0;  // of a workgroup of the dispatch at hand
  // Over all processes: handlers may keep names.
  static std::map<std::string, std::unique_ptr<Code>>& codes() {
    static std::map<std::string, std::unique_ptr<Code>> all;
    return all;
  }
};

const probe::Code* Teller::code_of(const PassLaunch& launch, const format::SiteKernel** kernel) {
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

probe::DispatchFacts Teller::facts_of(const PassLaunch& launch) const {
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

void Teller::tell_memory(const PassLaunch& launch, const probe::Narrator::At& at,
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

// What a record says of its lanes' values: word 3 and those behind it. A damaged record may have too few.
struct LaneWords {
  const uint64_t* next;
  const uint64_t* end;
  int64_t stride;
  int first;  // the first active lane

  uint64_t word(size_t at) const { return at < static_cast<size_t>(end - next) ? next[at] : 0; }
  uint64_t in_row(int lane) const {
    constexpr int kLanes = format::kRowLanes;
    return word(static_cast<size_t>(lane / kLanes)) + distance(stride, lane % kLanes);
  }
  uint64_t in_tile(int lane) const {
    const int bits = static_cast<int>(word(1) >> format::kTileBitsShift & 7);
    const int64_t pitch = static_cast<int32_t>(word(1));
    const int columns = (1 << bits) - 1;
    return word(0) + distance(stride, (lane & columns) - (first & columns)) +
           distance(pitch, (lane >> bits) - (first >> bits));
  }
  uint64_t in_line(int lane) const { return word(0) + distance(stride, lane - first); }

 private:
  static uint64_t distance(int64_t step, int steps) { return static_cast<uint64_t>(step * steps); }
};

// The values of the lanes that are active.
void read_values(const ProbeRecord& record, uint64_t active, LaneWords words,
                 uint64_t (&values)[64]) {
  size_t listed = 0;
  for (uint64_t rest = active; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    switch (record.kind & format::kTileOfKind) {
      case format::kTileOfKind: values[lane] = words.in_tile(lane); break;
      case format::kRowsOfKind: values[lane] = words.in_row(lane); break;
      case format::kListOfKind: values[lane] = words.word(listed++); break;
      default: values[lane] = words.in_line(lane); break;
    }
  }
}

void Teller::tell_record(const PassLaunch& launch, const probe::Code& code,
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
  read_values(
      record, where.exec,
      {words_ + at + format::kPointWords, words_ + at + record.words,
       static_cast<int64_t>(words_[at + 1]) >> format::kStrideShift, std::countr_zero(where.exec)},
      values);
  if ((record.kind & ~format::kTileOfKind) == format::kMemoryRecord)
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

void Teller::tell_records(const PassLaunch& launch, const probe::Code& code,
                          const format::SiteKernel& kernel) {
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
    tell_record(launch, code, kernel, at);
  }
  if (group) narrator_.end_workgroup(complete);
}

void Teller::tell_counts(const PassLaunch& launch, const probe::Code& code,
                         const format::SiteKernel& kernel) {
  std::vector<format::ProbeCount> counts(kernel.sites.size());
  for (const PassCount& count : launch.counts)
    if (count.site < counts.size()) counts[count.site] = count.sums;
  const auto tell = [&](uint32_t site, uint32_t kinds, const format::ProbeCount& sums,
                        std::optional<std::optional<uint32_t>> from = std::nullopt) {
    if (sums.executions == 0) return;
    wavetap_sum sum{};
    sum.size = sizeof sum;
    sum.code = &code.described;
    sum.site = site;
    sum.what = from ? WAVETAP_SUM_EDGE : WAVETAP_SUM_SITE;
    sum.count = sums.executions;
    sum.lanes = sums.lanes;
    if (from && *from) sum.from_code = &code.described, sum.from_block = **from;
    if (!from) sum.ticks = sums.ticks, sum.most_ticks = sums.most_ticks;
    narrator_.sum(launch.dispatch, sum, kinds);
  };
  for (uint32_t i = 0; i < counts.size(); ++i) tell(i, kind_of(kernel.sites[i]), counts[i]);
  tell(0, WAVETAP_BLOCKS, counts[0], std::optional<uint32_t>());
  // What a block with one successor does, its edge does; the others' successors have no other way in.
  for (uint32_t i = 0; i < counts.size(); ++i) {
    const std::vector<uint32_t>& next = kernel.sites[i].successors;
    for (const uint32_t to : next)
      tell(to, WAVETAP_BLOCKS, counts[next.size() == 1 ? i : to], std::optional<uint32_t>(i));
  }
}

void Teller::tell_launch(const PassLaunch& launch) {
  const format::SiteKernel* kernel = nullptr;
  const probe::Code* const code = code_of(launch, &kernel);
  if (code == nullptr) return;
  ++outcome_.dispatches;
  if (launch.uncounted)
    outcome_.problems.push_back(
        fmt::format("{}: its GPU did not give back what it counted in a dispatch that did not end",
                    codeobj::demangle(launch.kernel)));
  const probe::DispatchFacts facts = facts_of(launch);
  probe::DispatchRecord record;
  record.launch = outcome_.dispatches;
  record.dispatch_id = launch.number;
  if (options_.times) {
    const format::ProbeClock clock = format::probe_clock(launch.dispatch.target.major);
    record.clock = clock.name;
    record.clock_bits = clock.bits;
    record.clock_is_emulated = launch.gpu < options_.gpus.size();
  }
  record.id = session_.begin(launch.dispatch, facts);
  tell_records(launch, *code, *kernel);
  if (!launch.counts.empty()) tell_counts(launch, *code, *kernel);
  const uint32_t status = launch.status == "complete"  ? WAVETAP_COMPLETE
                          : launch.status == "faulted" ? WAVETAP_FAULTED
                                                       : WAVETAP_ABANDONED;
  if (status == WAVETAP_FAULTED) record.fault = "reported by the runtime";
  session_.end(launch.dispatch, status);
  files_.dispatch(record, launch.dispatch, facts, status);
}

void Teller::tell(const PassProcess& process) {
  words_ = process.words.data();
  for (const std::string& kernel : process.plain) ++outcome_.plain[codeobj::demangle(kernel)];
  for (const auto& [kernel, why] : process.refused)
    outcome_.refused.emplace(codeobj::demangle(kernel), why);
  for (uint64_t i = 0; i < process.left_out; ++i) files_.left_out();
  outcome_.lost += process.lost;
  outcome_.records += process.records;
  outcome_.record_bytes += process.record_bytes;
  outcome_.problems.insert(outcome_.problems.end(), process.problems.begin(),
                           process.problems.end());
  for (const auto& [id, launch] : process.launches) tell_launch(launch);
}

}  // namespace

Result<PassOutcome> tell_records(const PassProbeOptions& options) {
  PassOutcome outcome;
  PassProbeFiles files(options.folder);
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
    const PassProcess process =
        read_pass_process(file, file.substr(0, file.size() - 4) + "records");
    Teller(options, outcome, session, files).tell(process);
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
  const auto kinds_of = [](uint32_t wants) {
    uint32_t kinds = 0;
    if ((wants & WAVETAP_MEMORY) != 0) kinds |= format::kProbeMemory;
    if ((wants & WAVETAP_BLOCKS) != 0) kinds |= format::kProbeBlocks;
    if ((wants & WAVETAP_BARRIERS) != 0) kinds |= format::kProbeBarriers;
    if ((wants & WAVETAP_MESSAGES) != 0) kinds |= format::kProbeMessages;
    return kinds;
  };
  const probe::Narrator narrator(session);
  const uint32_t wants = narrator.wants(), sums = narrator.wants_sums();
  uint32_t records = kinds_of(wants) | kinds_of(sums) << format::kProbeCountShift;
  // Waves are known by what they do.
  if ((wants & WAVETAP_WAVES) != 0) records |= format::kProbeBlocks;
  if ((sums & WAVETAP_TICKS) != 0) records |= format::kProbeTicks;
  return records;
}

}  // namespace wavetap::inspect
