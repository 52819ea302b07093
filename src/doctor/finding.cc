#include "doctor/finding.h"

#include <algorithm>
#include <utility>

namespace wavetap::doctor {

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::kError: return "error";
    case Verdict::kWarning: return "warning";
    case Verdict::kNote: return "note";
    case Verdict::kUnknown: return "unknown";
    case Verdict::kOk: return "ok";
  }
  return "";
}

Finding& Findings::add(Verdict verdict, std::string id, std::string summary) {
  Finding finding;
  finding.id = std::move(id);
  finding.group = group_;
  finding.verdict = verdict;
  finding.summary = std::move(summary);
  all_.push_back(std::move(finding));
  return all_.back();
}

bool Findings::has(Verdict verdict, std::string_view id) const {
  return std::any_of(all_.begin(), all_.end(), [&](const Finding& finding) {
    return finding.verdict == verdict && finding.id == id;
  });
}

bool Findings::clean_since(size_t mark) const {
  return std::none_of(
      all_.begin() + static_cast<std::ptrdiff_t>(mark), all_.end(), [](const Finding& finding) {
        return finding.verdict == Verdict::kError || finding.verdict == Verdict::kWarning;
      });
}

}  // namespace wavetap::doctor
