#include "probe/handlers/builtin.h"

namespace wavetap::probe {
namespace {

constexpr BuiltinHandler kHandlers[] = {
    {"memory", "cache lines used and needed, LDS bank conflicts, strides, alignment, reuse",
     open_memory},
    {"blocks", "how often blocks and edges were taken, where lanes part ways, hot paths",
     open_blocks},
    {"instructions", "how often each instruction was executed, by how many lanes",
     open_instructions},
    {"values", "ranges of loaded and stored values, NaN and infinity, arguments that never change",
     open_values},
    {"heatmap", "which pages of which buffer were touched, over time", open_heatmap},
    {"latency", "how long waves stay in each block, by the GPU's clock; with --pass or --real",
     open_latency},
    {"log", "every event as a line of JSON; log=limit=N keeps N of them (1000000)", open_log},
};

}  // namespace

std::span<const BuiltinHandler> builtin_handlers() { return kHandlers; }

}  // namespace wavetap::probe
