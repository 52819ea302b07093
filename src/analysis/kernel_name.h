#pragma once

#include <string>
#include <string_view>

namespace wavetap::analysis {

// A kernel's name as a person recognises it: demangled, without return type, parameters, template
// arguments and anonymous namespaces. "void at::native::k<float, 4>(float*)" -> "at::native::k<…>".
// Names that are no C++ (Tensile's Cijk_…) come back as they are.
std::string short_kernel_name(std::string_view name);

}  // namespace wavetap::analysis
