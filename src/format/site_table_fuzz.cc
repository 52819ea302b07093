// Any bytes, and any lines with a checksum that fits: the reader must end and stay inside.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

#include "format/site_table.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using wavetap::format::read_site_tables;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  (void)read_site_tables(bytes);
  const std::string table = "wavetap-sites 3\nf a\nn b\nk c 2 64\ns 0 0 0 0 0 -\n" + bytes + "\n";
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : table) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  char last[32];
  std::snprintf(last, sizeof last, "end %016llx\n", static_cast<unsigned long long>(hash));
  (void)read_site_tables(table + last);
  return 0;
}
