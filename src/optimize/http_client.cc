#include "optimize/http_client.h"

#ifdef WT_HAS_CURL

#include <curl/curl.h>
#include <dlfcn.h>

#include "util/text.h"

namespace wavetap::optimize {
namespace {

// The functions of libcurl that are used, found by name.
struct Curl {
  decltype(&curl_easy_init) init = nullptr;
  decltype(&curl_easy_setopt) set = nullptr;
  decltype(&curl_easy_perform) perform = nullptr;
  decltype(&curl_easy_getinfo) get = nullptr;
  decltype(&curl_easy_cleanup) cleanup = nullptr;
  decltype(&curl_easy_strerror) describe = nullptr;
  decltype(&curl_slist_append) append = nullptr;
  decltype(&curl_slist_free_all) free_list = nullptr;
};

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

Result<Curl> load_curl() {
  void* const library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return errorf("libcurl.so.4: %s; install libcurl4 or choose another provider", dlerror());
  Curl curl;
  if (!find(library, "curl_easy_init", curl.init) || !find(library, "curl_easy_setopt", curl.set) ||
      !find(library, "curl_easy_perform", curl.perform) ||
      !find(library, "curl_easy_getinfo", curl.get) ||
      !find(library, "curl_easy_cleanup", curl.cleanup) ||
      !find(library, "curl_easy_strerror", curl.describe) ||
      !find(library, "curl_slist_append", curl.append) ||
      !find(library, "curl_slist_free_all", curl.free_list))
    return errorf("libcurl.so.4: not libcurl's functions in it; install libcurl4");
  return curl;
}

struct Received {
  std::string bytes;
  size_t most = 0;
  bool is_too_large = false;
};

size_t receive(char* bytes, size_t size, size_t count, void* to) {
  Received& received = *static_cast<Received*>(to);
  if (received.bytes.size() + size * count > received.most) {
    received.is_too_large = true;
    return 0;
  }
  received.bytes.append(bytes, size * count);
  return size * count;
}

// Failures that may be gone the next time. A timeout is none: what it asked for may have been paid.
bool may_pass(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_CONNECT:
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM: return true;
    default: return false;
  }
}

void read_facts(const Curl& curl, CURL* handle, HttpReply& reply) {
  curl.get(handle, CURLINFO_RESPONSE_CODE, &reply.status);
  char* location = nullptr;
  if (curl.get(handle, CURLINFO_REDIRECT_URL, &location) == CURLE_OK && location != nullptr)
    reply.location = location;
  curl_off_t wait = 0;
  if (curl.get(handle, CURLINFO_RETRY_AFTER, &wait) == CURLE_OK && wait > 0)
    reply.retry_after = static_cast<double>(wait);
}

}  // namespace

Result<HttpReply> post_json(const HttpRequest& request) {
  static const Result<Curl> curl = load_curl();
  if (!curl.ok()) return curl.error();
  CURL* const handle = curl->init();
  if (handle == nullptr) return errorf("libcurl.so.4: cannot be used; out of memory?");
  curl_slist* headers = curl->append(nullptr, "Content-Type: application/json");
  headers = curl->append(headers, "Expect:");
  if (!request.key.empty())
    headers = curl->append(headers, ("Authorization: Bearer " + request.key).c_str());
  Received received;
  received.most = request.most_bytes;
  curl->set(handle, CURLOPT_URL, request.url.c_str());
  curl->set(handle, CURLOPT_HTTPHEADER, headers);
  curl->set(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  curl->set(handle, CURLOPT_POSTFIELDS, request.body.data());
  curl->set(handle, CURLOPT_FOLLOWLOCATION, 0L);
  curl->set(handle, CURLOPT_ACCEPT_ENCODING, "");
  curl->set(handle, CURLOPT_USERAGENT, "wavetap");
  curl->set(handle, CURLOPT_CONNECTTIMEOUT, 30L);
  curl->set(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(request.seconds * 1e3));
  curl->set(handle, CURLOPT_WRITEFUNCTION, receive);
  curl->set(handle, CURLOPT_WRITEDATA, &received);
  const CURLcode code = curl->perform(handle);
  HttpReply reply;
  if (code == CURLE_OK) {
    read_facts(*curl, handle, reply);
    reply.body = std::move(received.bytes);
  } else if (received.is_too_large) {
    reply.failure = "the answer is larger than " + util::human_bytes(request.most_bytes);
  } else if (code == CURLE_OPERATION_TIMEDOUT) {
    reply.failure = errorf("no answer after %g seconds", request.seconds).message;
  } else {
    reply.failure = curl->describe(code);
    reply.can_retry = may_pass(code);
  }
  curl->cleanup(handle);
  curl->free_list(headers);
  return reply;
}

}  // namespace wavetap::optimize

#else

namespace wavetap::optimize {

Result<HttpReply> post_json(const HttpRequest&) {
  return errorf(
      "--provider http: this wavetap was built without libcurl; build it with libcurl4-openssl-dev "
      "installed, or choose another provider");
}

}  // namespace wavetap::optimize

#endif
