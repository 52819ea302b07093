#include "optimize/file_access.h"

#include <gtest/gtest.h>

namespace wavetap::optimize {
namespace {

const Sources kBefore = {{"a.hip", "#include \"common.h\"\n#include \"b.h\"\n"}, {"b.h", ""}};

TEST(FileAccess, WhatIsFineStaysFine) {
  for (const char* text : {
           "#include <hip/hip_fp16.h>\n",
           "#include \"common.h\"\n# include \"b.h\"  // ours\n",
           "// #include \"/etc/passwd\" would be read\n/* __has_include\n#include \"x\"\n*/ int a;",
           "const char* s = \"#include \\\"/x\\\"\";\n  float f = 1'000.0f; // '\n",
           "R\"x(\n#include <cmath>\n)x\";",
           "int include = 3, embed; #pragma unroll\n",
       })
    EXPECT_EQ(find_file_access(kBefore, text), "") << text;
}

TEST(FileAccess, FilesByWhateverNameAreSeen) {
  for (const char* text : {
           "#include \"/etc/passwd\"\n",
           "#include </etc/passwd>\n",
           "#include <../../ledger.json>\n",
           "#include \"other.h\"\n",
           "  %:  include \"x.h\"\n",
           "#/* */include/**/\"x.h\"\n",
           "/* a */ # /* \n */ include \"x.h\"\n",
           "#inc\\\nlude \"x.h\"\n",
           "#inc\\\r\nlude \"x.h\"\n",
           "#define FILE \"x\"\n#include FILE\n",
           "#import \"x.h\"\n",
           "#include_next \"x.h\"\n",
           "#embed <x>\n",
           "#if __has_include(\"../../ledger.json\")\n#endif\n",
           "asm(\".incbin \\\"/etc/passwd\\\"\");",
           // What is no comment and no raw string to a compiler.
           "const char* s = \"/*\";\n#include \"x.h\"\nconst char* t = \"*/\";",
           "char c = '\"'; /* \" */\n#include \"x.h\"\n",
           "auto s = fooR\"(\";\n#include \"x.h\"\n//)\"",
           "#if 0\n1'/*\n#endif\n#include \"x.h\"\n",
           "// a comment\\\nthat goes on\n#include \"x.h\"\n",
       })
    EXPECT_NE(find_file_access(kBefore, text), "") << text;
}

TEST(FileAccess, WhatTheOriginalDoesIsNotNew) {
  const Sources before = {{"a.hip", "#if __has_include(<x.h>)\n#include \"/opt/x.h\"\n#endif\n"}};
  EXPECT_EQ(find_file_access(before, "#include \"/opt/x.h\"\n#if __has_include(<y>)\n#endif"), "");
  EXPECT_EQ(find_file_access(before, "#include \"/opt/y.h\"\n"), "#include \"/opt/y.h\"");
}

}  // namespace
}  // namespace wavetap::optimize
