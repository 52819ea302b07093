#include "agent/libraries.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <map>
#include <string>

#include "agent/recording.h"
#include "format/reader.h"

namespace wavetap::agent {
namespace {

TEST(Libraries, AreNamedOnceAndWithWhatTheyAnswerFor) {
  std::string folder = (std::filesystem::temp_directory_path() / "libraries-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  setenv("WAVETAP_SESSION", folder.c_str(), 1);
  setenv("XDG_RUNTIME_DIR", folder.c_str(), 1);
  record::forget_session();
  watch_libraries();
  ensure_started();
  write_library_changes();  // nothing has changed
  {
    Result<format::SessionReader> session = format::SessionReader::open(folder);
    ASSERT_TRUE(session.ok());
    std::map<std::string, int> sonames;
    format::Record record;
    while (session->processes().at(0).facts()->next(record)) {
      if (record.header.kind != format::Kind::kLibrary) continue;
      EXPECT_EQ(record.header.flags, static_cast<uint8_t>(format::LibraryEvent::kStartup));
      format::TextCursor texts(record.after<format::LibraryFact>());
      texts.next();
      ++sonames[std::string(texts.next())];
      texts.next();
      EXPECT_EQ(texts.next(), "");
    }
    EXPECT_EQ(sonames["libc.so.6"], 1);
  }
  record::finish_process();
  record::forget_session();
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace wavetap::agent
