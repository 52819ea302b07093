#include <fmt/format.h>

#include <algorithm>

#include "store/import_parts.h"

namespace wavetap::store {

void import_markers(ImportContext& import) {
  SessionTexts& texts = import.texts;
  const int64_t user_marker = texts.string(kMarkerName);
  int64_t number = kFirstMarkerId;
  for (const MarkerEvent& marker : import.events.markers) {
    int64_t name = user_marker, domain = user_marker, category = texts.no_string();
    if (marker.named) {
      name = texts.string(marker.category);
      if (!marker.domain.empty()) domain = texts.string(marker.domain);
    } else {
      // NVTX-style domains and categories have their place in the category column.
      std::string path(marker.domain);
      if (!path.empty() && !marker.category.empty()) path += '/';
      path += marker.category;
      category = texts.string(path);
    }
    const int64_t start = import.ns(marker.start);
    import.writer.put(rows::Call{.id = import.id(number++),
                                 .pid = import.pid(),
                                 .tid = marker.tid,
                                 .start = start,
                                 .end = std::max(start, import.ns(marker.end)),
                                 .name = name,
                                 .category = category,
                                 .domain = domain,
                                 .args = texts.text(marker.message)});
  }
  import.result.events.markers += import.events.markers.size();
  if (import.events.unmatched_pops > 0)
    import.note(fmt::format("process {}: {} marker ends without a beginning", import.pid(),
                            import.events.unmatched_pops));
}

}  // namespace wavetap::store
