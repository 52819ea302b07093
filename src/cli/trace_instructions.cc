// A program is run on a virtual GPU and the chosen dispatches are captured; each is then replayed here,
// watched. So what runs in the program stays what it is for `wavetap capture`, and a capture gives the
// same trace as the program it comes from.
#include "cli/trace_instructions.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "cli/command.h"
#include "cli/gpu_start.h"
#include "cli/install_tree.h"
#include "cli/program_run.h"
#include "cli/run_dir.h"
#include "codeobj/elf.h"
#include "itrace/analysis.h"
#include "itrace/att.h"
#include "itrace/capture_trace.h"
#include "itrace/report.h"
#include "itrace/ui_output.h"
#include "replay/capture_file.h"
#include "util/file.h"
#include "util/json.h"
#include "util/json_library.h"
#include "util/pattern.h"
#include "util/terminal.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

Result<uint64_t> mask_of(const char* option, const std::string& text, uint64_t most) {
  if (text == "all") return most;
  const std::optional<uint64_t> mask = util::parse_unsigned(text);
  if (!mask || *mask == 0 || *mask > most)
    return errorf("%s %s: not understood; write a mask of bits, as in 0x1, or all", option,
                  text.c_str());
  return *mask;
}

Result<itrace::UnitChoice> choice_of(const InstructionTraceOptions& options) {
  itrace::UnitChoice choice;
  choice.cu.reset();
  if (options.cu != "all") {
    const std::optional<uint64_t> cu = util::parse_unsigned(options.cu);
    if (!cu || *cu > 63)
      return errorf("--cu %s: not understood; write a number from 0, or all", options.cu.c_str());
    choice.cu = static_cast<uint32_t>(*cu);
  }
  const Result<uint64_t> engines = mask_of("--se", options.engines, UINT64_MAX);
  if (!engines.ok()) return engines.error();
  const Result<uint64_t> simds = mask_of("--simd", options.simds, 0xf);
  if (!simds.ok()) return simds.error();
  choice.engines = *engines;
  choice.simds = static_cast<uint32_t>(*simds);
  choice.limit = options.limit;
  return choice;
}

Status check(const InstructionTraceOptions& options) {
  if (const Status good = check_kernel_pattern(options.kernels); !good.ok()) return good;
  if (const auto list = parse_launches(options.launches); !list.ok()) return list.error();
  const Result<itrace::UnitChoice> choice = choice_of(options);
  return choice.ok() ? Status() : Status(choice.error());
}

// Shows traces one after the other, and writes them where -o says.
class Output {
 public:
  explicit Output(const InstructionTraceOptions& options) : options_(options) {}

  // `code`: what a raw trace needs; null for what comes from a file.
  Status add(const itrace::Trace& trace, uint64_t dispatch, const itrace::TracedCode* code) {
    const itrace::Analysis analysis = itrace::analyze(trace);
    if (options_.json) {
      documents_.push_back(itrace::report_json(trace, analysis));
    } else {
      if (shown_ != 0) fmt::print("\n");
      fmt::print("{}", itrace::report_text(
                           trace, analysis,
                           {.rows = options_.top,
                            .columns = static_cast<size_t>(util::output_columns(STDOUT_FILENO))}));
    }
    ++shown_;
    if (options_.output.empty()) return {};
    if (const Status done = write(trace, analysis, dispatch); !done.ok()) return done;
    return code == nullptr || trace.gfx_major != 9 ? Status() : write_raw(trace, dispatch, *code);
  }

  // Exit code.
  int finish() {
    if (options_.json)
      fmt::print("{}", util::json_text(documents_.size() == 1 ? documents_[0] : documents_));
    for (const std::string& name : written_)
      fmt::print(stderr, "wavetap: {}: written\n", util::escape_control(name));
    return kDone;
  }

  uint64_t shown() const { return shown_; }

 private:
  Status write(const itrace::Trace& trace, const itrace::Analysis& analysis, uint64_t dispatch) {
    std::error_code error;
    std::filesystem::create_directories(options_.output, error);
    if (error)
      return errorf("%s: cannot be made: %s; name another folder with -o", options_.output.c_str(),
                    error.message().c_str());
    const std::string name = itrace::ui_output_name(1, dispatch);
    const std::string folder = options_.output + "/" + name;
    if (const Status done = itrace::write_ui_output(trace, folder); !done.ok()) return done;
    written_.push_back(folder);
    const std::string report = fmt::format("{}/report_dispatch_{}", options_.output, dispatch);
    const std::pair<const char*, std::string> files[] = {
        {".json", util::json_text(itrace::report_json(trace, analysis))},
        {".html", itrace::report_html(trace, analysis)}};
    for (const auto& [ending, text] : files) {
      if (const Status done = util::write_file(report + ending, text); !done.ok()) return done;
      written_.push_back(report + ending);
    }
    return {};
  }

  // The files that rocprofv3 --att leaves beside the decoded folder.
  Status write_raw(const itrace::Trace& trace, uint64_t dispatch, const itrace::TracedCode& code) {
    const std::optional<codeobj::ElfView> elf = codeobj::ElfView::open(code.image);
    if (!elf) {
      warn({fmt::format("{}: no raw trace of dispatch {}: the capture has no code object for it",
                        options_.output, dispatch)});
      return {};
    }
    itrace::AttCode placed{code.code_object, code.load_delta, 0};
    for (const codeobj::ElfSegment& segment : elf->segments())
      placed.size_bytes = std::max(placed.size_bytes, segment.address + segment.memory_bytes);
    const std::string image =
        fmt::format("{}/{}_code_object_id_{}.out", options_.output, dispatch, code.code_object);
    if (const Status done = util::write_file(
            image, {reinterpret_cast<const char*>(code.image.data()), code.image.size()});
        !done.ok())
      return done;
    uint64_t left_out = 0;
    uint32_t last_engine = UINT32_MAX;
    for (const itrace::AttUnit& unit : itrace::units_of(trace)) {
      // One unit of each engine, as the hardware has it.
      if (unit.se == last_engine) continue;
      last_engine = unit.se;
      const std::vector<std::byte> bytes =
          itrace::write_att(trace, unit, placed, trace.target == "gfx942", &left_out);
      const std::string path =
          fmt::format("{}/{}_shader_engine_{}.att", options_.output, dispatch, unit.se);
      if (const Status done =
              util::write_file(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
          !done.ok())
        return done;
      written_.push_back(path);
    }
    if (left_out != 0)
      warn(
          {fmt::format("{}: {} in slots that the format does not know; ui_output_… has all of them",
                       options_.output, util::count_of(left_out, "wave"))});
    return {};
  }

  const InstructionTraceOptions& options_;
  uint64_t shown_ = 0;
  nlohmann::ordered_json documents_ = nlohmann::ordered_json::array();
  std::vector<std::string> written_;
};

Status trace_captures(const InstructionTraceOptions& options, const std::string& path,
                      Output& output) {
  const Result<std::unique_ptr<replay::CaptureFile>> file = replay::CaptureFile::open(path);
  if (!file.ok()) return file.error();
  const Result<itrace::UnitChoice> choice = choice_of(options);
  const Result<util::Pattern> pattern = util::compile_pattern(options.kernels);
  if (!pattern.ok()) return pattern.error();
  for (const replay::Capture& capture : (*file)->captures()) {
    if (!capture.has_before || !util::is_found(*pattern, capture.kernel)) continue;
    const Result<model::Model> model =
        find_model(options.run.gpus.empty() ? capture.model : options.run.gpus.front());
    if (!model.ok()) return model.error();
    const Result<itrace::CapturedTrace> made =
        itrace::trace_capture(**file, capture, *model, *choice);
    if (!made.ok()) return made.error();
    const uint64_t dispatch = output.shown() + 1;
    if (const Status done = output.add(made->trace, dispatch, &made->code); !done.ok()) return done;
  }
  return {};
}

// Beside the output: what a GPU holds may not fit into the temporary folder.
class CaptureFolder {
 public:
  static Result<std::string> make(const InstructionTraceOptions& options) {
    const std::string beside = options.output.empty() ? "trace-instructions" : options.output;
    std::string folder = std::filesystem::absolute(beside).lexically_normal().string();
    while (folder.ends_with('/')) folder.pop_back();
    folder += ".raw-XXXXXX";
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path(folder).parent_path(), ignored);
    if (::mkdtemp(folder.data()) == nullptr)
      return errorf("%s: cannot be made: %s; name a folder that can be written to with -o",
                    folder.c_str(), std::strerror(errno));
    return folder;
  }
  explicit CaptureFolder(std::string path) : path_(std::move(path)) {}
  ~CaptureFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  CaptureFolder(const CaptureFolder&) = delete;
  CaptureFolder& operator=(const CaptureFolder&) = delete;

 private:
  const std::string path_;
};

}  // namespace

int trace_program_instructions(InstructionTraceOptions& options,
                               const std::vector<std::string>& program) {
  if (const Status good = check(options); !good.ok()) return fail(good.error());
  if (options.run.gpus.empty()) options.run.gpus = {kDefaultGpu};
  const Result<std::string> folder = CaptureFolder::make(options);
  if (!folder.ok()) return fail(folder.error());
  const CaptureFolder removed(*folder);
  options.run.no_trace = true;
  options.run.capture.folder = *folder;
  options.run.capture.kernels = options.kernels;
  options.run.capture.launches = options.launches;
  options.run.capture.max = options.launches.empty() ? 1 : 0;
  const Result<std::string> library =
      prepare_environment(options.run.gpus, options.run.environment);
  if (!library.ok()) return fail(library.error());
  bool ran = false;
  const int status = run_program(options.run, program, &ran);
  if (!ran) return status;
  std::vector<std::string> files;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(*folder, ignored))
    files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  // The program's own GPU, unless a file says otherwise.
  InstructionTraceOptions chosen = options;
  chosen.kernels.clear();
  Output output(options);
  for (const std::string& file : files)
    if (const Status done = trace_captures(chosen, file, output); !done.ok())
      return fail(done.error(), kIncomplete);
  if (output.shown() == 0)
    return fail(errorf("%s: no dispatch was traced; see which kernels there are with wavetap run "
                       "--gpu %s and wavetap report",
                       program[0].c_str(), options.run.gpus.front().c_str()),
                status != 0 ? status : static_cast<int>(kIncomplete));
  const int finished = output.finish();
  return status != 0 ? status : finished;
}

int trace_file_instructions(const InstructionTraceOptions& options, const std::string& path) {
  if (const Status good = check(options); !good.ok()) return fail(good.error());
  if (access(path.c_str(), F_OK) != 0)
    return fail(
        errorf("%s: %s; name a capture, FILE.att, a folder ui_output_…, or a program behind --",
               path.c_str(), std::strerror(errno)));
  Output output(options);
  if (itrace::is_ui_output(path)) {
    const Result<itrace::Trace> trace = itrace::read_ui_output(path);
    if (!trace.ok()) return fail(trace.error());
    if (const Status done = output.add(*trace, 1, nullptr); !done.ok()) return fail(done.error());
    return output.finish();
  }
  if (path.ends_with(".att")) {
    const Result<itrace::Trace> trace = itrace::read_att_file(path);
    if (!trace.ok()) return fail(trace.error());
    if (const Status done = output.add(*trace, 1, nullptr); !done.ok()) return fail(done.error());
    return output.finish();
  }
  if (std::filesystem::is_directory(path))
    return fail(
        errorf("%s: has no filenames.json; name the folder ui_output_… itself", path.c_str()));
  if (const Status done = trace_captures(options, path, output); !done.ok())
    return fail(done.error());
  if (output.shown() == 0)
    return fail(
        errorf("%s: no complete capture of such a kernel in it; capture it again, or choose "
               "another with -k",
               path.c_str()));
  return output.finish();
}

}  // namespace wavetap::cli
