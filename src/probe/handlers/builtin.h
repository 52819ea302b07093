// The handlers that come with wavetap. They know wavetap/handler.h and what is in this folder, so that
// whatever they can do a plugin can.
#pragma once

#include <span>

#include "wavetap/handler.h"

namespace wavetap::probe {

struct BuiltinHandler {
  const char* name;
  const char* help;
  const wavetap_handler* (*open)(const wavetap_host* host, const char* arguments);
};

std::span<const BuiltinHandler> builtin_handlers();

const wavetap_handler* open_memory(const wavetap_host* host, const char* arguments);
const wavetap_handler* open_blocks(const wavetap_host* host, const char* arguments);
const wavetap_handler* open_instructions(const wavetap_host* host, const char* arguments);
const wavetap_handler* open_values(const wavetap_host* host, const char* arguments);
const wavetap_handler* open_heatmap(const wavetap_host* host, const char* arguments);
const wavetap_handler* open_latency(const wavetap_host* host, const char* arguments);
const wavetap_handler* open_log(const wavetap_host* host, const char* arguments);

}  // namespace wavetap::probe
