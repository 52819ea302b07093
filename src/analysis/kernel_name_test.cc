#include "analysis/kernel_name.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace wavetap::analysis
