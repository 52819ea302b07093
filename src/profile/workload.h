// The files of a rocprof-compute workload folder, written from counted dispatches: pmc_perf.csv (a row per
// dispatch, a column per counter, AMD's names only), roofline.csv (a GPU's ceilings) and sysinfo.csv (its
// figures). Columns that nothing is known of are left out, or empty where readers need the column.
#pragma once

#include <string>
#include <vector>

#include "model/model.h"
#include "profile/sample.h"

namespace wavetap::profile {

// `with_registers`: the samples know registers and wave size.
std::string pmc_perf_csv(const std::vector<Sample>& samples, bool with_registers);
std::string roofline_csv(const model::Model& model);
std::string sysinfo_csv(const model::Model& model, const std::string& workload,
                        const std::string& command);

// The dispatches that `run --counters` wrote as lines (docs/counters.md). Lines that cannot be read add to
// `losses`.
std::vector<Sample> samples_of_lines(const std::string& lines, uint64_t& losses);

}  // namespace wavetap::profile
