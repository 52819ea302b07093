// Traces of instructions, damaged or invented: folders of AMD's viewer and raw traces. The first byte
// chooses: one file of a sound folder is replaced, tokens behind a sound header, or a list of changes to
// a sound raw trace, three bytes each: where (two) and what (one).
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "itrace/analysis.h"
#include "itrace/att.h"
#include "itrace/report.h"
#include "itrace/ui_output.h"

namespace wavetap::itrace {
namespace {

constexpr char kNames[] =
    R"x({"gfxip":9,"wave_filenames":{"0":{"0":{"0":{"0":["w.json",0,9]}}}}})x";
constexpr char kCode[] =
    R"x({"code":[["; k",0,0,"k()",1,256,0,0,0,0],["s_load_dword s0, s[2:3], 0x0",0,1,"a.hip:3",1,256,1,4,0,0],)x"
    R"x(["s_waitcnt lgkmcnt(0)",0,2,"a.hip:4 -> b.hip:9",1,264,1,40,36,0],["s_endpgm",0,3,"",1,268,1,4,0,0]]})x";
constexpr char kWave[] =
    R"x({"name":"SE0","wave":{"cu":0,"begin":0,"end":60,"instructions":[[4,1,0,4,1],[8,9,36,40,2],[48,9,0,4,3]],)x"
    R"x("timeline":[[1,4],[2,56]],"waitcnt":[[2,[[1,0]]]]}})x";

void use(const Result<Trace>& trace) {
  if (!trace.ok()) return;
  const Analysis analysis = analyze(*trace);
  (void)report_text(*trace, analysis, {});
  (void)report_html(*trace, analysis);
}

void read_folder(uint8_t which, const std::string& text) {
  std::map<std::string, std::string> files = {
      {"filenames.json", kNames}, {"code.json", kCode}, {"w.json", kWave}};
  files[which % 3 == 0 ? "filenames.json" : which % 3 == 1 ? "code.json" : "w.json"] = text;
  use(read_ui_output(
      [&](const std::string& name) -> std::optional<std::string> {
        const auto found = files.find(name);
        return found == files.end() ? std::nullopt : std::optional(found->second);
      },
      "x"));
}

std::vector<std::byte> sound_trace() {
  Trace trace;
  trace.code = {{"; k", "", 1, 0x100}, {"s_nop 0", "", 1, 0x100}, {"s_endpgm", "", 1, 0x104}};
  trace.entry_row = 1;
  for (uint32_t slot = 0; slot < 3; ++slot) {
    Wave wave;
    wave.slot = slot;
    wave.begin = 64;
    wave.issues = {{68, 8, 12, 1, Category::kImmed}, {80, 4, 8, 2, Category::kSalu}};
    wave.end = 88;
    trace.waves.push_back(wave);
  }
  uint64_t left_out = 0;
  return write_att(trace, {}, {1, 0x10000, 0x1000}, false, &left_out);
}

void read_raw(std::vector<std::byte> bytes, const uint8_t* image, size_t image_bytes) {
  const auto* begin = reinterpret_cast<const std::byte*>(image);
  use(read_att(
      bytes, [&](uint64_t) { return std::vector<std::byte>(begin, begin + image_bytes); },
      "x.att"));
}

}  // namespace
}  // namespace wavetap::itrace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace wavetap::itrace;
  if (size < 2) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 2, size - 2);
  std::vector<std::byte> raw = sound_trace();
  switch (data[0] % 3) {
    case 0: read_folder(data[1], text); break;
    case 1:
      raw.resize(8);
      for (size_t i = 2; i < size; ++i) raw.push_back(static_cast<std::byte>(data[i]));
      read_raw(std::move(raw), data, size);
      break;
    default:
      for (size_t i = 2; i + 3 <= size; i += 3)
        raw[(size_t{data[i]} << 8 | data[i + 1]) % raw.size()] =
            static_cast<std::byte>(data[i + 2]);
      read_raw(std::move(raw), data, size);
  }
  return 0;
}
