#include "replay/device_file.h"

#include <algorithm>
#include <unordered_set>

#include "util/file.h"
#include "util/text.h"

namespace wavetap::replay {

bool has_engine(amd::GfxTarget target) { return target.major >= 9 && target.major <= 11; }

Result<std::unique_ptr<DeviceFile>> open_device_file(const std::string& path) {
  Result<std::vector<std::byte>> bytes = util::read_file(path);
  if (!bytes.ok()) return bytes.error();
  auto file = std::make_unique<DeviceFile>();
  file->path = path;
  file->bytes = std::move(*bytes);
  file->contents = codeobj::find_code_objects(file->bytes);
  file->problems = file->contents.problems;
  for (const codeobj::ContainedCodeObject& contained : file->contents.code_objects) {
    if (contained.target && !has_engine(*contained.target)) {
      file->skipped.push_back(contained.target_id);
      continue;
    }
    Result<codeobj::CodeObject> object = codeobj::CodeObject::open(contained.bytes);
    if (object.ok()) {
      file->objects.push_back(std::move(*object));
    } else {
      file->problems.push_back(contained.target_id + ": " + object.error().message);
    }
  }
  if (file->objects.empty() && file->problems.empty() && !file->skipped.empty()) {
    return errorf(
        "%s: has code for %s only, which no virtual GPU runs; rebuild it for one of wavetap gpu "
        "list",
        path.c_str(), util::join(file->skipped, ", ").c_str());
  }
  if (file->objects.empty() && file->problems.empty()) {
    return errorf(
        "%s: holds no AMDGPU code; give a HIP program, a library, a bundle or a code object",
        path.c_str());
  }
  return file;
}

std::vector<DeviceFunction> functions_of(const codeobj::CodeObject& object) {
  std::vector<DeviceFunction> functions;
  bool wave64 = !object.target().has_wave32();
  for (const codeobj::Kernel& kernel : object.kernels()) {
    wave64 = kernel.wave64(object.target());
    functions.push_back(
        {codeobj::demangle(kernel.name), kernel.entry_address, kernel.code, wave64, &kernel});
  }
  std::unordered_set<uint64_t> known;
  for (const DeviceFunction& function : functions) known.insert(function.address);
  for (const codeobj::CodeSymbol& symbol : object.symbols()) {
    if (!symbol.is_function || symbol.size_bytes == 0 || known.contains(symbol.address)) continue;
    const std::span<const std::byte> code =
        object.elf().at_address(symbol.address, symbol.size_bytes);
    if (code.empty()) continue;
    known.insert(symbol.address);
    functions.push_back({codeobj::demangle(symbol.name), symbol.address, code, wave64, nullptr});
  }
  std::sort(functions.begin(), functions.end(),
            [](const DeviceFunction& a, const DeviceFunction& b) { return a.address < b.address; });
  return functions;
}

bool is_for(const codeobj::CodeObject& object, const std::string& target) {
  return target.empty() || object.target_id() == target ||
         amd::to_string(object.target()) == target;
}

Result<std::vector<FoundKernel>> find_kernels(const DeviceFile& file, const std::string& name,
                                              const std::string& target) {
  std::vector<FoundKernel> found;
  std::vector<std::string> targets, names;
  const auto add_once = [](std::vector<std::string>& list, const std::string& text) {
    if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
  };
  for (const codeobj::CodeObject& object : file.objects) {
    add_once(targets, object.target_id());
    if (!is_for(object, target)) continue;
    for (const codeobj::Kernel& kernel : object.kernels())
      add_once(names, codeobj::short_name(kernel.name));
    if (const codeobj::Kernel* kernel = object.find_kernel(name))
      found.push_back({&object, kernel});
  }
  if (!found.empty()) return found;
  if (names.empty() && !target.empty()) {
    return errorf("%s: no code for %s; it carries %s", file.path.c_str(), target.c_str(),
                  util::join(targets, ", ").c_str());
  }
  constexpr size_t kShown = 12;
  const std::string near = util::nearest_name(name, names);
  const size_t more = names.size() - std::min(names.size(), kShown);
  names.resize(names.size() - more);
  return errorf("%s: no kernel %s; %s%s%s", file.path.c_str(), util::escape_control(name).c_str(),
                near.empty() ? "it has " : ("did you mean " + near + "? It has ").c_str(),
                util::join(names, ", ").c_str(),
                more == 0 ? "" : (" and " + std::to_string(more) + " more").c_str());
}

}  // namespace wavetap::replay
