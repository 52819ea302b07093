#include "replay/captured_kernel.h"

#include <algorithm>
#include <cstring>

#include "codeobj/parameter_names.h"

namespace wavetap::replay {
namespace {

using format::kCapturePageBytes;

struct TypeName {
  std::string_view name;
  std::string_view element;
};
constexpr TypeName kTypes[] = {
    {"float", "f32"},         {"double", "f64"},          {"int", "i32"},
    {"unsigned int", "u32"},  {"unsigned", "u32"},        {"long", "i64"},
    {"unsigned long", "u64"}, {"long long", "i64"},       {"unsigned long long", "u64"},
    {"short", "i16"},         {"unsigned short", "u16"},  {"char", "i8"},
    {"signed char", "i8"},    {"unsigned char", "u8"},    {"bool", "u8"},
    {"_Float16", "f16"},      {"__half", "f16"},          {"half", "f16"},
    {"__fp16", "f16"},        {"__hip_bfloat16", "bf16"}, {"hip_bfloat16", "bf16"},
    {"__bf16", "bf16"},
};

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::string_view without(std::string_view text, std::string_view word) {
  text = trim(text);
  if (text.ends_with(word)) text.remove_suffix(word.size());
  if (text.starts_with(word)) text.remove_prefix(word.size());
  return trim(text);
}

// Extents: to the next pointer argument in the same region, or its end.
void bound_pointers(std::vector<CapturedArgument>& arguments) {
  for (CapturedArgument& argument : arguments) {
    if (argument.region == nullptr) continue;
    uint64_t end = argument.region->end();
    for (const CapturedArgument& other : arguments)
      if (other.region == argument.region && other.pointer > argument.pointer)
        end = std::min(end, other.pointer);
    argument.extent_bytes = end - argument.pointer;
  }
}

void read_arguments(const CaptureFile& file, const Capture& capture, CapturedKernel& kernel) {
  constexpr uint64_t kMostArgumentBytes = 64 * 1024;
  const std::vector<std::string> types = parameters_of(codeobj::demangle(kernel.kernel->name));
  const auto visible = static_cast<size_t>(
      std::count_if(kernel.kernel->args.begin(), kernel.kernel->args.end(),
                    [](const codeobj::KernelArg& arg) { return !arg.is_hidden(); }));
  const std::vector<std::string> names =
      codeobj::parameter_names(kernel.object->elf(), kernel.kernel->entry_address);
  size_t number = 0;
  size_t named = 0;
  for (const codeobj::KernelArg& arg : kernel.kernel->args) {
    CapturedArgument argument;
    argument.arg = arg;
    // HIP's compilers leave them out of the kernel's description.
    if (!arg.is_hidden() && names.size() == visible) {
      if (arg.name.empty()) argument.arg.name = names[named];
      ++named;
    }
    if (arg.size_bytes <= kMostArgumentBytes) {
      argument.value = captured_bytes(file, capture, State::kBefore,
                                      capture.dispatch.kernarg + arg.offset, arg.size_bytes);
    }
    if (!arg.is_hidden() && types.size() == visible) argument.type = types[number++];
    else if (!arg.is_hidden()) argument.type = arg.type_name;
    argument.element = element_of(argument.type);
    if (arg.value_kind == "global_buffer" && argument.value.size() == sizeof argument.pointer) {
      std::memcpy(&argument.pointer, argument.value.data(), sizeof argument.pointer);
      argument.region = capture.region_at(argument.pointer);
      if (argument.region != nullptr && !argument.region->has_contents()) argument.region = nullptr;
    }
    kernel.arguments.push_back(std::move(argument));
  }
  bound_pointers(kernel.arguments);
}

}  // namespace

std::vector<std::byte> captured_bytes(const CaptureFile& file, const Capture& capture, State state,
                                      uint64_t address, uint64_t size_bytes) {
  std::vector<std::byte> bytes(size_bytes);
  const CapturedRegion* region = capture.region_at(address);
  if (region == nullptr || !region->has_contents()) return bytes;
  const uint64_t offset = address - region->begin();
  const uint64_t available = std::min(size_bytes, region->record.size_bytes - offset);
  for (uint64_t done = 0; done < available;) {
    const auto page = static_cast<uint32_t>((offset + done) / kCapturePageBytes);
    const uint64_t inside = (offset + done) % kCapturePageBytes;
    const uint64_t part = std::min(available - done, kCapturePageBytes - inside);
    uint32_t id = page_id(region->before, page);
    if (state == State::kAfter) id = page_id(region->changes, page, id);
    std::memcpy(bytes.data() + done, file.page(id) + inside, part);
    done += part;
  }
  return bytes;
}

CapturedKernel find_captured_kernel(const CaptureFile& file, const Capture& capture) {
  // The nearest one below holds it; others are tried for objects linked at unusual addresses.
  std::vector<const CapturedCodeObject*> objects;
  for (const CapturedCodeObject& object : capture.code_objects)
    if (object.record.load_delta <= capture.dispatch.kernel_object) objects.push_back(&object);
  std::sort(objects.begin(), objects.end(), [](const auto* a, const auto* b) {
    return a->record.load_delta > b->record.load_delta;
  });
  if (objects.size() > 8) objects.resize(8);
  for (const CapturedCodeObject* captured : objects) {
    CapturedKernel found;
    found.image = file.code_object_bytes(*captured);
    Result<codeobj::CodeObject> opened = codeobj::CodeObject::open(found.image);
    if (!opened.ok()) continue;
    found.object = std::make_unique<codeobj::CodeObject>(std::move(*opened));
    found.load_delta = captured->record.load_delta;
    for (const codeobj::Kernel& kernel : found.object->kernels()) {
      if (kernel.descriptor_address + found.load_delta != capture.dispatch.kernel_object) continue;
      found.kernel = &kernel;
      read_arguments(file, capture, found);
      return found;
    }
  }
  return {};
}

std::vector<std::string> parameters_of(std::string_view demangled) {
  const size_t close = demangled.rfind(')');
  if (close == std::string_view::npos) return {};
  int depth = 0;
  size_t open = close + 1;
  while (open-- > 0) {
    if (demangled[open] == ')') ++depth;
    if (demangled[open] == '(' && --depth == 0) break;
  }
  if (depth != 0 || open > close) return {};
  std::vector<std::string> parameters;
  const std::string_view list = demangled.substr(open + 1, close - open - 1);
  size_t begin = 0;
  for (size_t i = 0; i <= list.size(); ++i) {
    if (i < list.size()) {
      const char c = list[i];
      if (c == '(' || c == '<' || c == '[' || c == '{') ++depth;
      if (c == ')' || c == '>' || c == ']' || c == '}') --depth;
      if (c != ',' || depth != 0) continue;
    }
    const std::string_view part = trim(list.substr(begin, i - begin));
    if (!part.empty() && part != "void") parameters.emplace_back(part);
    begin = i + 1;
  }
  return parameters;
}

std::string element_of(std::string_view type) {
  for (const std::string_view word : {"__restrict__", "__restrict", "restrict"})
    type = without(type, word);
  if (type.ends_with('*')) type.remove_suffix(1);
  for (int i = 0; i < 2; ++i)
    for (const std::string_view word : {"const", "volatile"}) type = without(type, word);
  constexpr std::string_view kVector = "HIP_vector_type<";
  if (type.starts_with(kVector))
    type = type.substr(kVector.size(), std::min(type.find(','), type.size()) - kVector.size());
  for (const TypeName& known : kTypes)
    if (type == known.name) return std::string(known.element);
  return "";
}

}  // namespace wavetap::replay
