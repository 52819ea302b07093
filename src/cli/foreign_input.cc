#include "cli/foreign_input.h"

#include "foreign/recording.h"

namespace wavetap::cli {

Result<store::ImportResult> import_foreign(const std::vector<std::string>& inputs,
                                           const std::string& output, bool overwrite) {
  foreign::Recording recording;
  for (const std::string& input : inputs) {
    const Result<bool> read = foreign::read_all(input, recording);
    if (!read.ok()) return read.error();
    if (!*read)
      return errorf(
          "%s: has no kernels, calls or copies; give a rocpd database, rocprofv3's CSV or JSON, or a "
          "workload of rocprof-compute",
          input.c_str());
  }
  return foreign::write_trace(recording, output, overwrite);
}

}  // namespace wavetap::cli
