// Lines of anything: the server must answer or be silent, and still know what a ping is. The first byte chooses
// how much sound JSON is put around the input: none, a message, a call of a tool, its arguments.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "mcp/server.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace wavetap::mcp;
  static const wavetap::Result<Roots> roots = Roots::make({"/usr/share"});
  if (!roots.ok()) std::abort();
  std::string last;
  Server server({.program = "/bin/true", .roots = *roots, .allow_run = true, .choices = {}},
                [&](const std::string& line) { last = line; });
  server.receive(
      R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26"}})");
  const std::string text(reinterpret_cast<const char*>(data) + (size > 0), size - (size > 0));
  switch (size == 0 ? 0 : data[0] % 4) {
    case 0: server.receive(text); break;
    case 1: server.receive(R"({"jsonrpc":"2.0","id":1,"method":)" + text + "}"); break;
    case 2:
      server.receive(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":)" + text + "}");
      break;
    default:
      server.receive(
          R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"analyze","arguments":{"analysis":"gaps","trace":)" +
          text + "}}}");
  }
  server.receive(R"({"jsonrpc":"2.0","id":"alive","method":"ping"})");
  if (last.find("\"alive\"") == std::string::npos) std::abort();
  return 0;
}
