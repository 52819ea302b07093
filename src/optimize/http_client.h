// One POST of a JSON document over HTTP or HTTPS, by libcurl.
//
// libcurl is loaded when a request is made, not when wavetap starts: with all it needs it is twenty
// libraries, and of all commands only `optimize --provider http` talks to anybody. Redirects are not
// followed: the document and the key are for the host that the user named.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace wavetap::optimize {

struct HttpRequest {
  std::string url, body;
  std::string key;  // for "Authorization: Bearer"; "": none is sent
  double seconds = 300;
  size_t most_bytes = 4 << 20;  // of the answer
};

struct HttpReply {
  long status = 0;  // 0: no whole answer came, and `failure` says why
  std::string body, failure;
  std::string location;     // of a redirect
  double retry_after = -1;  // seconds; below 0: the server did not say
  bool can_retry = false;   // of a failure: it may pass
};

// An error when there is no libcurl.
Result<HttpReply> post_json(const HttpRequest& request);

}  // namespace wavetap::optimize
