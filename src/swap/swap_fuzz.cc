// The texts that swap reads: a user's manifest, the cache of an index, the table handed to the
// program. Each must be refused or read, never more; what is read and written again must stay itself.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "swap/index_cache.h"
#include "swap/manifest.h"
#include "swap/table.h"

namespace {

using namespace wavetap::swap;

void table(std::string_view text) {
  const auto parsed = Table::parse(text);
  if (!parsed.ok()) return;
  (void)parsed->find("_Z4vaddPfS_");
  const std::string written = parsed->text();
  const auto again = Table::parse(written);
  if (!again.ok() || again->text() != written) std::abort();
}

// Random bytes never have the right sum at their end.
std::string with_sum(std::string text) {
  uint64_t sum = 0xcbf29ce484222325;
  for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return text + "E " + std::to_string(sum) + " \n";
}

void cache(std::string_view text) {
  const std::string written = write_cache(read_cache(text));
  if (write_cache(read_cache(written)) != written) std::abort();
}

void manifest(std::string_view text) {
  const auto rules = parse_manifest(text, "/folder");
  if (!rules.ok() && rules.error().message.empty()) std::abort();
}

void words(std::string_view text) {
  if (unescape_word(escape_word(text)) != text) std::abort();
  const size_t half = text.size() / 2;
  (void)matches(text.substr(0, half), text.substr(half));
  (void)matches_kernel(text.substr(0, half), text.substr(half));
}

}  // namespace

// The first byte chooses the reader, the second one whether a good first line is put before the text.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  std::string text(reinterpret_cast<const char*>(data + 2), size - 2);
  const bool has_head = (data[1] & 1) != 0;
  switch (data[0] % 4) {
    case 0:
      if (has_head) {
        const std::string empty =
            Table({}, {.watch = (data[1] & 2) != 0, .turns = (data[1] & 4) != 0}).text();
        text = empty.substr(0, empty.find('\n') + 1) + text;
      }
      table(text);
      break;
    case 1:
      if (has_head) {
        const std::string empty = write_cache({});
        text = with_sum(empty.substr(0, empty.find('\n') + 1) + text + "\n");
      }
      cache(text);
      break;
    case 2: manifest(text); break;
    default: words(text); break;
  }
  return 0;
}
