#include "analysis/kernel_name.h"

#include <gtest/gtest.h>

#include <set>

namespace wavetap::analysis {
namespace {

TEST(ShortKernelName, KeepsWhatAPersonRecognises) {
  EXPECT_EQ(short_kernel_name("void at::native::elementwise_kernel<512, 1, F<int>>(int, F)"),
            "at::native::elementwise_kernel<…>");
  EXPECT_EQ(short_kernel_name(
                "void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, 1>(float*)"),
            "at::native::CatArrayBatchedCopy<…>");
  EXPECT_EQ(short_kernel_name("std::enable_if<(x > 1), void>::type vllm::norm<half>(half*)"),
            "vllm::norm<…>");
  EXPECT_EQ(short_kernel_name(
                "std::enable_if<((8)>(0))&&(true), void>::type vllm::rms<c10::Half, 8>(int)"),
            "vllm::rms<…>");
  EXPECT_EQ(short_kernel_name("saxpy(int, float)"), "saxpy");
}

TEST(ShortKernelName, Demangles) {
  EXPECT_EQ(short_kernel_name("_Z5saxpyifPKfPf"), "saxpy");
  EXPECT_EQ(short_kernel_name("_Z5saxpyifPKfPf.kd"), "saxpy");
}

TEST(ShortKernelName, LeavesOtherNamesAlone) {
  EXPECT_EQ(short_kernel_name("Cijk_Ailk_Bljk_SB_MT128x64x16"), "Cijk_Ailk_Bljk_SB_MT128x64x16");
  EXPECT_EQ(short_kernel_name("CopyHostToDevice"), "CopyHostToDevice");
  EXPECT_EQ(short_kernel_name("reduce \"max\""), "reduce \"max\"");
  EXPECT_EQ(short_kernel_name("GAP <=10us"), "GAP <=10us");
  EXPECT_EQ(short_kernel_name("void saxpy<float>"), "saxpy<…>");
  EXPECT_EQ(short_kernel_name(""), "");
  EXPECT_EQ(short_kernel_name("_Znonsense"), "_Znonsense");
}

TEST(ShortKernelName, SurvivesUnbalancedBrackets) {
  EXPECT_EQ(short_kernel_name("a<b<c"), "a<…>");
  EXPECT_EQ(short_kernel_name("(("), "((");
  EXPECT_EQ(short_kernel_name("f>g"), "f>g");
}

std::vector<std::string> labels(std::vector<std::string_view> names) {
  return kernel_labels(names);
}

using Texts = std::vector<std::string>;

TEST(KernelLabels, AreShortWhereThatIsEnough) {
  EXPECT_EQ(labels({"void add<int, 3>(int*)", "void scale<int>(int*)", "_Z5saxpyifPKfPf"}),
            (Texts{"add<…>", "scale<…>", "saxpy"}));
  EXPECT_EQ(labels({"void add<int, 3>(int*)", "void add<int, 3>(int*)"}),
            (Texts{"add<…>", "add<…>"}))
      << "the same kernel twice is not two kernels";
}

TEST(KernelLabels, KeepTheArgumentsThatDiffer) {
  EXPECT_EQ(labels({"void add<int, 3>(int*)", "void add<int, 1>(int*)"}),
            (Texts{"add<…, 3>", "add<…, 1>"}));
  EXPECT_EQ(labels({"k<float, a, b, 4>()", "k<half, a, b, 4>()", "k<half, a, b, 8>()"}),
            (Texts{"k<float, …, 4>", "k<half, …, 4>", "k<half, …, 8>"}));
  EXPECT_EQ(labels({"k<F<int, A>, 2>()", "k<F<int, B>, 2>()", "k<G<int>, 2>()"}),
            (Texts{"k<F<…, A>, …>", "k<F<…, B>, …>", "k<G<…>, …>"}));
  EXPECT_EQ(labels({"a<int>::k<1>()", "a<int>::k<2>()"}), (Texts{"a<…>::k<1>", "a<…>::k<2>"}));
  EXPECT_EQ(labels({"k<1>()", "k<1, 2>()"}), (Texts{"k<1>", "k<1, 2>"}));
}

TEST(KernelLabels, OverloadsKeepTheirParameters) {
  EXPECT_EQ(labels({"k(int*)", "k(float*)", "j(int*)"}), (Texts{"k(int*)", "k(float*)", "j"}));
  EXPECT_EQ(labels({"k<int>(int)", "k<int>(float)"}), (Texts{"k<…>(int)", "k<…>(float)"}));
}

TEST(KernelLabels, DifferentNamesHaveDifferentLabelsWhateverTheyAre) {
  const std::vector<std::string_view> odd = {"_Z5saxpyifPKfPf",
                                             "_Z5saxpyifPKfPf.kd",
                                             "saxpy",
                                             "void saxpy",
                                             "a<b<c",
                                             "a<b<d",
                                             "((",
                                             "(",
                                             "",
                                             "k<…>()",
                                             "k<1>",
                                             "f>g",
                                             "f<",
                                             "f<<<<<<<<<<<<a",
                                             "f<<<<<<<<<<<<b"};
  const Texts texts = labels(odd);
  EXPECT_EQ(std::set<std::string>(texts.begin(), texts.end()).size(), odd.size());
}

}  // namespace
}  // namespace wavetap::analysis
