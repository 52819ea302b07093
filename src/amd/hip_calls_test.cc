#include "amd/hip_calls.h"

#include <gtest/gtest.h>

namespace wavetap::amd {
namespace {

TEST(HipCalls, AFunctionIsFoundByItsWholeName) {
  ASSERT_NE(find_hip_call("hipMemcpyAsync"), nullptr);
  EXPECT_EQ(find_hip_call("hipMemcpyAsync")->does, HipDoes::kCopy);
  EXPECT_EQ(find_hip_call("hipMemcpyAsyn"), nullptr);
  EXPECT_EQ(find_hip_call(""), nullptr);
  EXPECT_EQ(find_hip_call("zzz"), nullptr);
}

TEST(HipCalls, NamesThatOnlySoundAlikeAreNotTaken) {
  // "Launch" and "Free" in a name do not make a launch or a free.
  EXPECT_EQ(find_hip_call("hipLaunchHostFunc")->does, HipDoes::kPlain);
  EXPECT_EQ(find_hip_call("hipMemAddressFree")->does, HipDoes::kPlain);
  EXPECT_EQ(find_hip_call("hipGraphAddMemcpyNode")->does, HipDoes::kPlain);
  EXPECT_EQ(find_hip_call("hipModuleLaunchKernel")->does, HipDoes::kLaunch);
}

TEST(HipCalls, ArgumentsByRole) {
  const HipCall& copy = *find_hip_call("hipMemcpyPeerAsync");
  EXPECT_EQ(argument_of(copy, HipRole::kDst), "dst");
  EXPECT_EQ(argument_of(copy, HipRole::kDstDevice), "dstDeviceId");
  EXPECT_EQ(argument_of(copy, HipRole::kSrcDevice), "srcDevice");
  EXPECT_EQ(argument_of(copy, HipRole::kBytes), "sizeBytes");
  EXPECT_EQ(argument_of(copy, HipRole::kKind), "=3");
  EXPECT_EQ(argument_of(copy, HipRole::kWidth), "");
  EXPECT_EQ(argument_of(*find_hip_call("hipMemcpy3D"), HipRole::kDepth), "p[18]");
}

TEST(HipCalls, FlagsSayWhatTheRecorderDoes) {
  EXPECT_TRUE(find_hip_call("hipMemcpy")->has(kBlocking));
  EXPECT_FALSE(find_hip_call("hipMemcpyAsync")->has(kBlocking));
  EXPECT_TRUE(find_hip_call("hipDrvMemcpy3D")->has(kBlocking));
  EXPECT_TRUE(find_hip_call("hipMemcpy_spt")->has(kPerThread));
  EXPECT_TRUE(find_hip_call("__hipRegisterFunction")->has(kUnrecorded));
}

TEST(HipCalls, CudasRuntimeIsFoundUnderTheNameOfItsTwin) {
  ASSERT_NE(find_hip_call("cudaMemcpyAsync"), nullptr);
  EXPECT_EQ(find_hip_call("cudaMemcpyAsync")->name, "hipMemcpyAsync");
  EXPECT_EQ(find_hip_call("cudaFree")->does, HipDoes::kFree);
  EXPECT_EQ(find_hip_call("cuda"), nullptr);
  EXPECT_EQ(find_hip_call("cuda" + std::string(500, 'x')), nullptr);
}

}  // namespace
}  // namespace wavetap::amd
