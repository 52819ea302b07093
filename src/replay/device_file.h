// Device code in files a user names: opening them, choosing a code object, choosing a kernel.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "codeobj/code_object.h"
#include "codeobj/container.h"

namespace wavetap::replay {

// A file and every code object in it. The objects point into the file's bytes, so it is not copied.
struct DeviceFile {
  std::string path;
  std::vector<std::byte> bytes;
  codeobj::ContainerContents contents;
  std::vector<codeobj::CodeObject> objects;
  std::vector<std::string> skipped;   // target ids of code that no virtual GPU runs (gfx803, say)
  std::vector<std::string> problems;  // code objects that could not be read
};

// True for instruction sets the engine knows: gfx9, gfx10 and gfx11.
bool has_engine(amd::GfxTarget target);

// An error when the file cannot be read or holds no AMDGPU code at all.
Result<std::unique_ptr<DeviceFile>> open_device_file(const std::string& path);

// Whether code is for `target`: a target id (gfx90a:xnack+), a processor (gfx90a) or "" for all.
bool is_for(const codeobj::CodeObject& object, const std::string& target);

// A function of a code object, ready to be decoded. Kernels are functions too.
struct DeviceFunction {
  std::string name;  // demangled
  uint64_t address = 0;
  std::span<const std::byte> code;
  bool wave64 = true;
  const codeobj::Kernel* kernel = nullptr;  // null for a device function
};

// In address order. A device function is taken to run in waves of the same size as the kernels
// around it.
std::vector<DeviceFunction> functions_of(const codeobj::CodeObject& object);

// The kernels whose symbol, demangled name or short name is `name`, in objects of `target` ("" for
// all).
struct FoundKernel {
  const codeobj::CodeObject* object = nullptr;
  const codeobj::Kernel* kernel = nullptr;
};
Result<std::vector<FoundKernel>> find_kernels(const DeviceFile& file, const std::string& name,
                                              const std::string& target);

}  // namespace wavetap::replay
