#include "optimize/answer_text.h"

#include <gtest/gtest.h>

namespace wavetap::optimize {
namespace {

const Sources kOne = {{"a.hip", "__global__ void f() {}"}};
const std::string kObject =
    R"({"kind": "file", "rationale": "why", "files": {"a.hip": "int x;\n"}})";

std::string found(const std::string& text, const Sources& sources = kOne) {
  const Result<Proposed> answer = find_answer(text, sources);
  if (!answer.ok()) return "error: " + answer.error().message;
  if (answer->declined) return "declined: " + answer->rationale;
  std::string all;
  for (const auto& [name, content] : answer->files) all += name + "=" + content;
  return all;
}

TEST(AnswerText, AnObjectIsFoundBareFencedAndAmongWords) {
  for (const std::string& text :
       {kObject, "```json\n" + kObject + "\n```", "Here:\n\n~~~\n" + kObject + "\n~~~\nDone {x}.",
        "Sure {really}! " + kObject + " Good luck.",
        "<think>{\"files\": {\"a.hip\": \"no\"}}</think>\n" + kObject})
    EXPECT_EQ(found(text), "a.hip=int x;\n") << text;
}

TEST(AnswerText, TheSchemaMayBeLeftOutButNotBeAnother) {
  EXPECT_EQ(found(R"({"schema": "x/1", "files": {"a.hip": "y"}})").substr(0, 5), "error");
  EXPECT_FALSE(parse_answer(kObject).ok());
  EXPECT_TRUE(parse_answer(kObject, true).ok());
}

TEST(AnswerText, AFenceWithAKernelIsTheOnlyFile) {
  EXPECT_EQ(found("Like so:\n```cpp\n__global__ void f() { /* {} */ }\n```\n"),
            "a.hip=__global__ void f() { /* {} */ }\n");
  EXPECT_EQ(find_answer("Like so:\n```\n__global__\n```", kOne)->rationale, "Like so:");
}

TEST(AnswerText, FencesAreFilesByTheirNames) {
  const Sources two = {{"a.hip", ""}, {"b.h", ""}};
  EXPECT_EQ(found("```cpp a.hip\nA\n```\nand `b.h`:\n````\n```\nB\n````\n", two),
            "a.hip=A\nb.h=```\nB\n");
  EXPECT_EQ(found("```\n__global__\n```", two).substr(0, 5), "error");
}

TEST(AnswerText, WhatIsCutShortIsNotTaken) {
  EXPECT_NE(found("```cpp\n__global__ void f() {").find("in the middle of a.hip"),
            std::string::npos);
  EXPECT_NE(found(kObject.substr(0, kObject.size() - 3)).find("neither"), std::string::npos);
  EXPECT_NE(found("").find("neither"), std::string::npos);
  EXPECT_NE(found(std::string(5000, '{')).find("neither"), std::string::npos);
  EXPECT_NE(found(R"({"files": {"a.hip": 7}})").find("neither"), std::string::npos);
}

TEST(AnswerText, DecliningIsAnAnswer) {
  EXPECT_EQ(found("```json\n{\"kind\": \"declined\", \"rationale\": \"as good as it gets\"}\n```"),
            "declined: as good as it gets");
}

}  // namespace
}  // namespace wavetap::optimize
