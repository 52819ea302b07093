// What a kernel is for, told by its name: matrix products, attention, collectives, …
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "util/pattern.h"

namespace wavetap::analysis {

class KernelCategories {
 public:
  static constexpr const char* kOther = "_Other";
  static constexpr const char* kCollective = "_Collective";

  static Result<KernelCategories> built_in();
  // From a JSON file, {"name": ["regex", ...]}.
  static Result<KernelCategories> load(const std::string& path);

  // The last category one of whose patterns is found in the name, or kOther.
  std::string find(std::string_view kernel) const;

 private:
  static Result<KernelCategories> parse(const std::string& text, const std::string& origin);
  struct Category {
    std::string name;
    std::vector<util::Pattern> patterns;
  };
  std::vector<Category> categories_;
};

}  // namespace wavetap::analysis
