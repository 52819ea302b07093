// The page is opened in a real browser where one is installed: it must run to its end and draw
// something.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

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
  EXPECT_EQ(scripts, 2u);
  EXPECT_EQ(page.find("<!--"), std::string::npos);
  EXPECT_EQ(page.find("http"), std::string::npos) << "the page must not fetch anything";
  EXPECT_EQ(page.find("@DATA@"), std::string::npos);
}

// What `chromium --dump-dom` prints of the page, or "" when there is no browser.
std::string dom_of(const std::string& page) {
  if (access("/usr/bin/chromium", X_OK) != 0) return "";
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("wavetap-html-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "page.html") << page;
  const std::string command =
      "timeout 100 /usr/bin/chromium --headless --no-sandbox --disable-gpu --disable-quic "
      "--no-first-run "
      "--disable-background-networking --disable-component-update --disable-sync "
      "--disable-dev-shm-usage "
      "--virtual-time-budget=3000 --user-data-dir=" +
      (folder / "profile").string() + " --dump-dom file://" + (folder / "page.html").string() +
      " 2>/dev/null";
  std::string dom;
  if (std::FILE* pipe = popen(command.c_str(), "r")) {
    char part[4096];
    for (size_t n = 0; (n = fread(part, 1, sizeof part, pipe)) > 0;) dom.append(part, n);
    pclose(pipe);
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return dom;
}

TEST(Html, RunsInABrowser) {
  const std::string dom = dom_of(page_of(small_trace()));
  if (dom.empty()) GTEST_SKIP() << "no /usr/bin/chromium, or it does not start here";
  EXPECT_NE(dom.find("data-ready=\"yes\""), std::string::npos);
  EXPECT_NE(dom.find("data-tracks=\"2\""), std::string::npos);
  EXPECT_NE(dom.find("data-drawn=\"3\""), std::string::npos) << "three bars: two calls, one kernel";
}

TEST(Html, AnEmptyTraceRunsInABrowser) {
  const std::string dom = dom_of(page_of(store::Trace()));
  if (dom.empty()) GTEST_SKIP() << "no /usr/bin/chromium, or it does not start here";
  EXPECT_NE(dom.find("data-ready=\"yes\""), std::string::npos);
}

}  // namespace
}  // namespace wavetap::exporter
