// What AMD's compiler library made of bitcode, kept on disk for the next program.
//
// At the start of every program HIP compiles the kernels it copies and fills memory with: the same
// bitcode each time, through LLVM, and more than half of a small program's processor time. An action
// of the library (libamd_comgr) whose inputs are all in its data set (linking bitcode, generating
// code, linking objects, compiling OpenCL that includes nothing) is a function of them, of its options
// and of the compiler; so its result is kept under a hash of all that, and the next program gets it as
// data. Compiling HIP is not: it reads files. Whatever we do not understand goes to the library as if
// we were not there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace wavetap::vgpu {

// libamd_comgr's handles are structures of one number, which are passed as the number is.
using ComgrHandle = uint64_t;
using ComgrStatus = uint32_t;
inline constexpr ComgrStatus kComgrSuccess = 0;

// The functions of the library that it takes to know an action's inputs and to give its results.
struct Comgr {
  ComgrStatus (*do_action)(uint32_t kind, ComgrHandle info, ComgrHandle input, ComgrHandle result);
  void (*get_version)(size_t* major, size_t* minor);

  ComgrStatus (*create_info)(ComgrHandle* info);
  ComgrStatus (*set_isa_name)(ComgrHandle info, const char* name);
  ComgrStatus (*get_isa_name)(ComgrHandle info, size_t* size,
                              char* text);  // crashes when none is set
  ComgrStatus (*get_language)(ComgrHandle info, uint32_t* language);
  ComgrStatus (*get_option_count)(ComgrHandle info, size_t* count);
  ComgrStatus (*get_option)(ComgrHandle info, size_t index, size_t* size, char* text);
  ComgrStatus (*get_logging)(ComgrHandle info, bool* is_on);

  ComgrStatus (*data_count)(ComgrHandle set, uint32_t kind, size_t* count);
  ComgrStatus (*data_of_set)(ComgrHandle set, uint32_t kind, size_t index, ComgrHandle* data);
  ComgrStatus (*get_data)(ComgrHandle data, size_t* size, char* bytes);
  ComgrStatus (*get_data_name)(ComgrHandle data, size_t* size, char* text);
  ComgrStatus (*create_data)(uint32_t kind, ComgrHandle* data);
  ComgrStatus (*set_data)(ComgrHandle data, size_t size, const char* bytes);
  ComgrStatus (*set_data_name)(ComgrHandle data, const char* name);
  ComgrStatus (*release_data)(ComgrHandle data);
  ComgrStatus (*add_to_set)(ComgrHandle set, ComgrHandle data);
  ComgrStatus (*remove_from_set)(ComgrHandle set, uint32_t kind);  // kind 0: all
};

// Looks the functions up, each by `find(name)`; false when one of them is missing.
template <class Find>
bool find_comgr(Comgr& comgr, Find&& find) {
  const auto one = [&](auto*& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(find(name));
    return function != nullptr;
  };
  return one(comgr.do_action, "amd_comgr_do_action") &&
         one(comgr.get_version, "amd_comgr_get_version") &&
         one(comgr.create_info, "amd_comgr_create_action_info") &&
         one(comgr.set_isa_name, "amd_comgr_action_info_set_isa_name") &&
         one(comgr.get_isa_name, "amd_comgr_action_info_get_isa_name") &&
         one(comgr.get_language, "amd_comgr_action_info_get_language") &&
         one(comgr.get_option_count, "amd_comgr_action_info_get_option_list_count") &&
         one(comgr.get_option, "amd_comgr_action_info_get_option_list_item") &&
         one(comgr.get_logging, "amd_comgr_action_info_get_logging") &&
         one(comgr.data_count, "amd_comgr_action_data_count") &&
         one(comgr.data_of_set, "amd_comgr_action_data_get_data") &&
         one(comgr.get_data, "amd_comgr_get_data") &&
         one(comgr.get_data_name, "amd_comgr_get_data_name") &&
         one(comgr.create_data, "amd_comgr_create_data") &&
         one(comgr.set_data, "amd_comgr_set_data") &&
         one(comgr.set_data_name, "amd_comgr_set_data_name") &&
         one(comgr.release_data, "amd_comgr_release_data") &&
         one(comgr.add_to_set, "amd_comgr_data_set_add") &&
         one(comgr.remove_from_set, "amd_comgr_data_set_remove");
}

// The compiler that `function` belongs to, by the build ids of its library and of those with LLVM in
// them; "" when it cannot be told from another.
std::string compiler_identity(const void* function);

// The library's do_action, or its result as kept in `folder`. `compiler` is part of what a result is
// kept under. An empty folder or compiler: nothing is kept. The ISA's name must have been set in `info`.
// Any number of threads and processes.
ComgrStatus do_action_once(const Comgr& comgr, const std::string& folder,
                           const std::string& compiler, uint32_t kind, ComgrHandle info,
                           ComgrHandle input, ComgrHandle result);

}  // namespace wavetap::vgpu
