// BySite<T>: a T for every site of every code that a strand or a dispatch meets, made when first
// asked for. Most kernels are one code, so the last one is remembered.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "wavetap/handler.h"

namespace wavetap::probe {

template <class T>
class BySite {
 public:
  T& at(const wavetap_code& code, uint32_t site) {
    if (&code != last_code_) select(code);
    return last_[site];
  }

  // f(code, site, value) in the order of codes and sites, whether touched or not.
  template <class F>
  void for_each(F&& f) {
    for (const Part& part : parts_)
      for (uint32_t site = 0; site < part.code->site_count; ++site)
        f(*part.code, site, part.values[site]);
  }

 private:
  struct Part {
    const wavetap_code* code;
    std::unique_ptr<T[]> values;
  };

  void select(const wavetap_code& code) {
    last_code_ = &code;
    for (const Part& part : parts_)
      if (part.code == &code) {
        last_ = part.values.get();
        return;
      }
    parts_.push_back({&code, std::make_unique<T[]>(code.site_count)});
    last_ = parts_.back().values.get();
  }

  std::vector<Part> parts_;
  const wavetap_code* last_code_ = nullptr;
  T* last_ = nullptr;
};

}  // namespace wavetap::probe
