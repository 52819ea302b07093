// Kernel names as a person recognises them. A full name can be a page of template arguments.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace wavetap::analysis {

// Demangled, without return type, parameters, template arguments and anonymous namespaces.
// "void at::native::k<float, 4>(float*)" -> "at::native::k<…>". Names that are not C++ (Tensile's
// Cijk_…) come back as they are.
std::string short_kernel_name(std::string_view name);

// One label for each of these names: the short one where that tells it from all others, else as much
// more as it takes. "add<int, 3>(int*)" and "add<int, 1>(int*)" become "add<…, 3>" and "add<…, 1>",
// overloads keep their parameters. Different names have different labels; a name may occur several
// times.
std::vector<std::string> kernel_labels(std::span<const std::string_view> names);

}  // namespace wavetap::analysis
