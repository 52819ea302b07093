// The page as text. tests/web opens it in a browser.
#include <gtest/gtest.h>

#include "export/export.h"

namespace wavetap::exporter {
namespace {

store::Trace small_trace() {
  store::Trace trace;
  trace.path = "small </script> & trace.rpd";
  trace.threads.push_back({1, 1});
  const auto call = [&](int64_t start, int64_t end, const char* name) {
    trace.apis.id.push_back(static_cast<int64_t>(trace.apis.id.size()) + 1);
    trace.apis.start.push_back(start);
    trace.apis.end.push_back(end);
    trace.apis.thread.push_back(0);
    trace.apis.name.push_back(trace.strings.intern(name));
    trace.apis.domain.push_back(0);
    trace.apis.category.push_back(0);
  };
  call(1000, 9000, "hipDeviceSynchronize");
  call(2000, 3000, "hipLaunchKernel</script><!-- \"");
  trace.ops.id = {1};
  trace.ops.gpu = {0};
  trace.ops.queue = {0};
  trace.ops.sequence = {1};
  trace.ops.start = {3500};
  trace.ops.end = {8000};
  trace.ops.description = {trace.strings.intern("void kernel<int>(int*)")};
  trace.ops.type = {trace.strings.intern("KernelExecution")};
  trace.links.id = {1};
  trace.links.api = {1};
  trace.links.op = {0};
  return trace;
}

std::string page_of(const store::Trace& trace) {
  Sink sink = Sink::in_memory();
  EXPECT_TRUE(find_format("html")->write(trace, {}, sink).ok());
  return std::string(sink.memory());
}

TEST(Html, NamesCannotEndTheScript) {
  const std::string page = page_of(small_trace());
  size_t scripts = 0;
  for (size_t at = page.find("</script>"); at != std::string::npos;
       at = page.find("</script>", at + 1))
    ++scripts;
  EXPECT_EQ(scripts, 3u);
  EXPECT_EQ(page.find("<!--"), std::string::npos);
  EXPECT_EQ(page.find("http"), std::string::npos) << "the page must not fetch anything";
  for (const char* mark : {"@TITLE@", "@STYLE@", "@DATA@", "@PACKED@", "@SCRIPT@"})
    EXPECT_EQ(page.find(mark), std::string::npos) << mark;
}

}  // namespace
}  // namespace wavetap::exporter
