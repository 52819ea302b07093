// The control socket's requests: any line must be parsed, and any answer must end as the protocol
// says.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "record/control.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace wavetap::record;
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  const Request request = parse_request(line);
  // Starting would open a session; the other answers are made from what is there.
  if (request == Request::kStart) return 0;
  char answer[512];
  const size_t length = answer_request(request, 1, answer, sizeof answer);
  const std::string_view text(answer, length);
  if (length == 0 || length > sizeof answer || text.back() != '\n') abort();
  if (!text.ends_with("ok\n") && text.find("error ") == std::string_view::npos) abort();
  return 0;
}
