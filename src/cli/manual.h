// Manual pages, one per command, made from what the commands declare.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/described_command.h"

namespace wavetap::cli {

// "wavetap", "wavetap-gpu-list".
std::string manual_name(const DescribedCommand& command);

// The page in roff, for section 1. `program` is the whole table, for the list of other pages.
std::string manual_page(const DescribedCommand& command, const DescribedCommand& program);

// Writes FOLDER/NAME.1 for every command. The folder must exist.
Status write_manual(const DescribedCommand& program, const std::string& folder);

}  // namespace wavetap::cli
