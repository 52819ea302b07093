// What is in a file of captured dispatches, as `wavetap capture show` prints it.
#pragma once

#include <cstddef>
#include <string>

#include "replay/capture_file.h"
#include "replay/captured_kernel.h"
#include "util/json_library.h"

namespace wavetap::inspect {

// Capture `index`, from 0, for a person: kernel, arguments, buffers, memory; a list first where there are
// several. Control characters of the file are escaped.
std::string capture_text(const replay::CaptureFile& file, size_t index, size_t columns);

// All of them. Texts are bytes of the file, which need not be UTF-8.
nlohmann::ordered_json captures_json(const replay::CaptureFile& file);

// "argument 2 (y, float*)".
std::string argument_name(const replay::CapturedKernel& kernel, size_t index);

// What kind of memory a region is: "VRAM", "host memory, fine-grained".
std::string memory_kind(const replay::Capture& capture, const format::CaptureRegion& region);

}  // namespace wavetap::inspect
