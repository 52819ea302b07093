#include "analysis/kernel_category.h"

#include "util/file.h"
#include "util/json.h"
#include "util/json_library.h"
#include "util/pattern.h"

namespace wavetap::analysis {
namespace {

const char* const kBuiltIn = R"json({
  "_Collective": ["ccl", "AllReduce", "AllGather", "ReduceScatter"],
  "GEMM": ["^Cijk_", "gemm", "Gemm", "wvSplt", "matmul"],
  "Attention": ["attn", "Attention", "fmha", "flash"],
  "Copy": ["^Copy", "^Memcpy", "copy_kernel", "CatArray"],
  "Normalisation": ["norm", "Norm"],
  "Elementwise": ["elementwise", "vectorized"]
})json";

Error malformed(const std::string& origin, const std::string& what) {
  return {origin + ": " + what + "; write {\"name\": [\"regex\", ...]}"};
}

}  // namespace

Result<KernelCategories> KernelCategories::parse(const std::string& text,
                                                 const std::string& origin) {
  const nlohmann::ordered_json json = util::read_json(text);
  if (!json.is_object()) return malformed(origin, "not a JSON object");
  KernelCategories out;
  for (const auto& [name, patterns] : json.items()) {
    if (!patterns.is_array()) return malformed(origin, "category " + name + " is not a list");
    Category category{name, {}};
    for (const auto& pattern : patterns) {
      if (!pattern.is_string())
        return malformed(origin, "category " + name + " holds something that is not a text");
      Result<util::Pattern> compiled = util::compile_pattern(pattern.get<std::string>());
      if (!compiled.ok()) return Error{origin + ": " + compiled.error().message};
      category.patterns.push_back(std::move(*compiled));
    }
    out.categories_.push_back(std::move(category));
  }
  return out;
}

Result<KernelCategories> KernelCategories::built_in() {
  return parse(kBuiltIn, "built-in categories");
}

Result<KernelCategories> KernelCategories::load(const std::string& path) {
  const Result<std::vector<std::byte>> file = util::read_file(path);
  if (!file.ok()) return file.error();
  return parse({reinterpret_cast<const char*>(file->data()), file->size()}, path);
}

std::string KernelCategories::find(std::string_view kernel) const {
  std::string found = kOther;
  for (const Category& category : categories_)
    for (const util::Pattern& pattern : category.patterns)
      if (util::is_found(pattern, kernel)) found = category.name;
  return found;
}

}  // namespace wavetap::analysis
