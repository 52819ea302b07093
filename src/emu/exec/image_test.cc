// image_*: every form against a plain reference, on every target that has images. What is tested here
// once per target, tests/hip repeats through AMD's runtime.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "emu/exec/float_ops.h"
#include "emu/exec/image_resource.h"
#include "emu/testing/machine.h"

namespace wavetap::emu::image_test {
namespace {

constexpr uint64_t kData = TestMachine::kData;
constexpr uint32_t kImage = 8;     // s[8:15]
constexpr uint32_t kSampler = 16;  // s[16:19]

struct Target {
  amd::GfxTarget target;
  bool wave64;
};
const Target kTargets[] = {{{9, 0, 8}, true},
                           {{9, 0, 10}, true},
                           {{10, 3, 0}, false},
                           {{10, 3, 0}, true},
                           {{11, 0, 0}, false}};

TestMachine::Options options_for(const Target& target) {
  TestMachine::Options options;
  options.target = target.target;
  options.wave64 = target.wave64;
  options.vgprs = 32;
  options.agprs = 0;
  return options;
}

std::string name_of(const Target& target) {
  return amd::to_string(target.target) + (target.wave64 ? " wave64" : " wave32");
}

// A format by its layout and number, as each generation codes it.
struct Format {
  const char* name;
  uint32_t gfx10, gfx11, gfx9_layout, gfx9_number;
  uint32_t bytes, components;
};
constexpr Format kFloat1 = {"32_float", 22, 22, 4, 7, 4, 1};
constexpr Format kFloat4 = {"32_32_32_32_float", 77, 63, 14, 7, 16, 4};
constexpr Format kUint1 = {"32_uint", 20, 20, 4, 4, 4, 1};
constexpr Format kUint2 = {"32_32_uint", 62, 48, 11, 4, 8, 2};
constexpr Format kUnorm4 = {"8_8_8_8_unorm", 56, 42, 10, 0, 4, 4};
constexpr Format kSrgb4 = {"8_8_8_8_srgb", 130, 66, 10, 9, 4, 4};
constexpr Format kHalf2 = {"16_16_float", 29, 29, 5, 7, 4, 2};
constexpr Format kSint1 = {"16_sint", 12, 12, 2, 5, 2, 1};
constexpr Format kByte1 = {"8_unorm", 1, 1, 1, 0, 1, 1};

struct Image {
  ImageType type = ImageType::k2D;
  Format format = kFloat1;
  uint32_t width = 8, height = 8, depth = 1;
  uint32_t swizzle = 0;
  uint32_t pitch = 0;  // texels; 0: the least the hardware allows
};

uint32_t pitch_of(const Image& image) {
  const uint32_t row = 256 / image.format.bytes;
  return image.pitch != 0 ? image.pitch : (image.width + row - 1) / row * row;
}

void set_image(TestMachine& machine, const Target& target, const Image& image) {
  const bool has_planes = image.type == ImageType::k3D || image.type == ImageType::k1DArray ||
                          image.type == ImageType::k2DArray || image.type == ImageType::kCube;
  const uint32_t selects = image.format.components == 1   ? 04 | 1 << 9
                           : image.format.components == 2 ? 04 | 05 << 3 | 1 << 9
                                                          : 07654;
  uint32_t word[8] = {static_cast<uint32_t>(kData >> 8), 0, (image.height - 1) << 14, 0};
  word[3] = selects | image.swizzle << 20 | static_cast<uint32_t>(image.type) << 28;
  if (target.target.major == 9) {
    word[1] = image.format.gfx9_layout << 20 | image.format.gfx9_number << 26;
    word[2] |= image.width - 1;
    word[4] = (has_planes ? image.depth - 1 : 0) | (pitch_of(image) - 1) << 13;
  } else {
    const bool is_gfx10 = target.target.major == 10;
    word[1] = (is_gfx10 ? image.format.gfx10 : image.format.gfx11) << 20 | (image.width - 1) << 30;
    word[2] |= (image.width - 1) >> 2;
    word[4] = has_planes ? image.depth - 1 : pitch_of(image) - 1;
  }
  for (uint32_t i = 0; i < 8; ++i) machine.set_s(kImage + i, word[i]);
}

struct Sampling {
  Clamp clamp = Clamp::kLastTexel;
  bool is_linear = false;
  bool unnormalized = true;
  uint32_t border = 0;
  uint32_t compare = 0;
};

void set_sampler(TestMachine& machine, const Sampling& sampling) {
  const auto clamp = static_cast<uint32_t>(sampling.clamp);
  machine.set_s(kSampler,
                clamp * 0111 | sampling.compare << 12 | (sampling.unnormalized ? 1u << 15 : 0));
  machine.set_s(kSampler + 1, 0xfff << 12);
  machine.set_s(kSampler + 2, sampling.is_linear ? 5u << 20 : 0);
  machine.set_s(kSampler + 3, sampling.border << 30);
}

// "image_load v[0:3], v[4:5], s[8:15] dmask:0xf" with the dimension as the target spells it.
std::string text(const Target& target, const std::string& op, const std::string& data,
                 const std::string& address, const char* dim, const std::string& rest) {
  const bool samples = op.find("sample") != op.npos || op.find("gather") != op.npos;
  std::string line = op + " " + data + ", " + address + ", s[8:15]";
  if (samples) line += ", s[16:19]";
  line += " " + rest.substr(0, rest.find(' '));  // dmask
  const std::string kind = dim;
  const std::string others = rest.find(' ') == rest.npos ? "" : rest.substr(rest.find(' '));
  if (target.target.major != 9) return line + " dim:SQ_RSRC_IMG_" + kind + others;
  return line + others + (kind.find("ARRAY") != kind.npos || kind == "CUBE" ? " da" : "");
}

float texel_value(uint32_t x, uint32_t y, uint32_t z) {
  return static_cast<float>(x * x + 10 * y + 100 * z) * 0.25f;
}

void fill(TestMachine& machine, const Image& image) {
  for (uint32_t z = 0; z < image.depth; ++z)
    for (uint32_t y = 0; y < image.height; ++y)
      for (uint32_t x = 0; x < image.width; ++x)
        machine.memory.write<float>(
            kData + ((uint64_t{z} * image.height + y) * pitch_of(image) + x) * 4,
            texel_value(x, y, z));
}

bool run(TestMachine& machine, const Target& target, const std::string& code) {
  const bool ran = machine.run(code);
  EXPECT_TRUE(ran) << name_of(target) << ": " << code;
  EXPECT_FALSE(machine.faulted()) << name_of(target) << ": " << code << ": "
                                  << machine.wave.fault.detail;
  return ran && !machine.faulted();
}

TEST(Image, WhatIsStoredIsLoaded) {
  const Format formats[] = {kFloat1, kFloat4, kUint1, kUint2, kUnorm4,
                            kSrgb4,  kHalf2,  kSint1, kByte1};
  for (const Target& target : kTargets) {
    const uint32_t tiled = target.target.major == 9 ? 22 : 2;
    for (const Format& format : formats) {
      for (const uint32_t swizzle : {0u, tiled}) {
        TestMachine machine(options_for(target));
        Image image{.format = format, .width = 8, .height = 8, .swizzle = swizzle};
        if (swizzle != 0 && target.target.major == 9) image.pitch = 128;
        set_image(machine, target, image);
        const bool is_float = std::string(format.name).find("int") == std::string::npos;
        for (int lane = 0; lane < machine.wave.lanes; ++lane) {
          machine.set_v(8, lane, static_cast<uint32_t>(lane % 8));
          machine.set_v(9, lane, static_cast<uint32_t>(lane / 8));
          for (uint32_t i = 0; i < 4; ++i) {
            // Exact in every format: multiples of 1/255 are not, 0 and 1 are.
            const bool on = (static_cast<uint32_t>(lane) * 7 + i) % 3 == 0;
            machine.set_v(i, lane, is_float ? (on ? bits(1.0f) : 0) : (on ? 25u + i : 3u));
            machine.set_v(4 + i, lane, 0xdeadu);
          }
        }
        ASSERT_TRUE(run(machine, target,
                        text(target, "image_store", "v[0:3]", "v[8:9]", "2D", "dmask:0xf unorm")));
        ASSERT_TRUE(run(machine, target,
                        text(target, "image_load", "v[4:7]", "v[8:9]", "2D", "dmask:0xf unorm")));
        for (int lane = 0; lane < machine.wave.lanes; ++lane)
          for (uint32_t i = 0; i < 4; ++i) {
            const uint32_t missing = i == 3 ? (is_float ? bits(1.0f) : 1u) : 0u;
            EXPECT_EQ(machine.v(4 + i, lane), i < format.components ? machine.v(i, lane) : missing)
                << name_of(target) << " " << format.name << " swizzle " << swizzle << " lane "
                << lane << " component " << i;
          }
      }
    }
  }
}

TEST(Image, TexelsBesideTheImageReadZeroAndAreNotWritten) {
  for (const Target& target : kTargets) {
    TestMachine machine(options_for(target));
    const Image image{.width = 5, .height = 3};
    set_image(machine, target, image);
    fill(machine, image);
    machine.set_v<uint32_t>(8, {4, 5, 0, 0xffffffff});
    machine.set_v<uint32_t>(9, {2, 0, 3, 0});
    machine.set_exec(0xf);
    ASSERT_TRUE(run(machine, target,
                    text(target, "image_load", "v[4:5]", "v[8:9]", "2D", "dmask:0x9 unorm")));
    EXPECT_EQ(machine.v(4, 0), bits(texel_value(4, 2, 0)));
    EXPECT_EQ(machine.v(5, 0), bits(1.0f));
    for (int lane = 1; lane < 4; ++lane) {
      EXPECT_EQ(machine.v(4, lane), 0u) << name_of(target) << lane;
      EXPECT_EQ(machine.v(5, lane), 0u) << name_of(target) << lane;
    }
    machine.set_v<float>(0, {-1, -1, -1, -1});
    ASSERT_TRUE(
        run(machine, target, text(target, "image_store", "v0", "v[8:9]", "2D", "dmask:0x1 unorm")));
    EXPECT_EQ(machine.memory.read<float>(kData + (2 * pitch_of(image) + 4) * 4), -1.0f);
    EXPECT_EQ(machine.memory.read<float>(kData), texel_value(0, 0, 0));
    EXPECT_EQ(machine.memory.read<float>(kData + 5 * 4), 0.0f);
    EXPECT_EQ(machine.memory.read<float>(kData + 3 * pitch_of(image) * 4), 0.0f);
  }
}

TEST(Image, EveryShapeHasItsCoordinates) {
  struct Shape {
    ImageType type;
    const char* dim;
    uint32_t coordinates, y, z;  // which coordinate is which; 9: none
    uint32_t height, depth;
  };
  constexpr Shape kShapes[] = {
      {ImageType::k1D, "1D", 1, 9, 9, 1, 1},
      {ImageType::k2D, "2D", 2, 1, 9, 4, 1},
      {ImageType::k3D, "3D", 3, 1, 2, 4, 3},
      {ImageType::k1DArray, "1D_ARRAY", 2, 9, 1, 1, 3},
      {ImageType::k2DArray, "2D_ARRAY", 3, 1, 2, 4, 3},
      {ImageType::kCube, "CUBE", 3, 1, 2, 4, 6},
  };
  for (const Target& target : kTargets)
    for (const Shape& shape : kShapes) {
      TestMachine machine(options_for(target));
      const Image image{
          .type = shape.type, .width = 6, .height = shape.height, .depth = shape.depth};
      set_image(machine, target, image);
      fill(machine, image);
      for (uint32_t lane = 0; lane < 24; ++lane) {
        machine.set_v(8, static_cast<int>(lane), lane % 6);
        if (shape.y != 9)
          machine.set_v(8 + shape.y, static_cast<int>(lane), lane / 6 % shape.height);
        if (shape.z != 9)
          machine.set_v(8 + shape.z, static_cast<int>(lane), lane / 3 % shape.depth);
      }
      machine.set_exec(0xffffff);
      const std::string address =
          shape.coordinates == 1 ? "v8" : "v[8:" + std::to_string(7 + shape.coordinates) + "]";
      ASSERT_TRUE(run(machine, target,
                      text(target, "image_load", "v4", address, shape.dim, "dmask:0x1 unorm")));
      for (uint32_t lane = 0; lane < 24; ++lane)
        EXPECT_EQ(machine.v(4, static_cast<int>(lane)),
                  bits(texel_value(lane % 6, shape.y == 9 ? 0 : lane / 6 % shape.height,
                                   shape.z == 9 ? 0 : lane / 3 % shape.depth)))
            << name_of(target) << " " << shape.dim << " lane " << lane;
    }
}

TEST(Image, ColoursAreLinearInRegistersAndSrgbInMemory) {
  for (const Target& target : kTargets) {
    TestMachine machine(options_for(target));
    set_image(machine, target, {.format = kSrgb4});
    machine.memory.write<uint32_t>(kData, 0x80ff0a80);
    machine.set_exec(1);
    ASSERT_TRUE(run(machine, target,
                    text(target, "image_load", "v[4:7]", "v[8:9]", "2D", "dmask:0xf unorm")));
    const float expected[] = {0.2158605f, 0.0030353f, 1.0f, 128 / 255.0f};
    for (uint32_t i = 0; i < 4; ++i)
      EXPECT_NEAR(f32_of(machine.v(4 + i, 0)), expected[i], 1e-6) << name_of(target) << i;
    machine.set_v<uint32_t>(8, {1});
    ASSERT_TRUE(run(machine, target,
                    text(target, "image_store", "v[4:7]", "v[8:9]", "2D", "dmask:0xf unorm")));
    EXPECT_EQ(machine.memory.read<uint32_t>(kData + 4), 0x80ff0a80u) << name_of(target);
  }
}

// --- Sampling against exact arithmetic.

double wrapped(double position, uint32_t size, Clamp clamp, bool& border) {
  const double n = size;
  border = false;
  switch (clamp) {
    case Clamp::kWrap: return position - std::floor(position / n) * n;
    case Clamp::kMirror: {
      const double p = position - std::floor(position / (2 * n)) * 2 * n;
      return p < n ? p : 2 * n - 1 - p;
    }
    case Clamp::kLastTexel: return std::fmin(std::fmax(position, 0), n - 1);
    default: border = position < 0 || position >= n; return position;
  }
}

double reference_texel(int x, int y, const Image& image, Clamp clamp) {
  bool border_x, border_y;
  const double at_x = wrapped(x, image.width, clamp, border_x);
  const double at_y = wrapped(y, image.height, clamp, border_y);
  if (border_x || border_y) return 0;
  return texel_value(static_cast<uint32_t>(at_x), static_cast<uint32_t>(at_y), 0);
}

double reference_sample(double x, double y, const Image& image, const Sampling& sampling) {
  if (!sampling.is_linear)
    return reference_texel(static_cast<int>(std::floor(x)), static_cast<int>(std::floor(y)), image,
                           sampling.clamp);
  x -= 0.5, y -= 0.5;
  const int x0 = static_cast<int>(std::floor(x)), y0 = static_cast<int>(std::floor(y));
  const double fx = x - x0, fy = y - y0;
  double sum = 0;
  for (int j = 0; j < 2; ++j)
    for (int i = 0; i < 2; ++i)
      sum += (i == 0 ? 1 - fx : fx) * (j == 0 ? 1 - fy : fy) *
             reference_texel(x0 + i, y0 + j, image, sampling.clamp);
  return sum;
}

TEST(ImageSample, FollowsEveryAddressModeAndFilter) {
  const Image image{.width = 8, .height = 4};
  for (const Target& target : kTargets)
    for (const Clamp clamp : {Clamp::kWrap, Clamp::kMirror, Clamp::kLastTexel, Clamp::kBorder})
      for (const bool is_linear : {false, true})
        for (const bool unnormalized : {false, true}) {
          const Sampling sampling{clamp, is_linear, unnormalized};
          TestMachine machine(options_for(target));
          set_image(machine, target, image);
          set_sampler(machine, sampling);
          fill(machine, image);
          const int lanes = machine.wave.lanes;
          for (int lane = 0; lane < lanes; ++lane) {
            // Multiples of 1/32 texel: exact in the 8 fraction bits, and normalised as well.
            const float x = static_cast<float>(lane * 13 % 41 - 12) + static_cast<float>(lane) / 32;
            const float y =
                static_cast<float>(lane * 7 % 17 - 6) + static_cast<float>(lane % 5) / 8;
            machine.set_v(8, lane, bits(unnormalized ? x : x / 8));
            machine.set_v(9, lane, bits(unnormalized ? y : y / 4));
          }
          // gfx90a has no form without level of detail; with one level it is the same.
          const bool plain = target.target == amd::GfxTarget{9, 0, 10};
          ASSERT_TRUE(run(machine, target,
                          text(target, plain ? "image_sample" : "image_sample_lz", "v4", "v[8:9]",
                               "2D", "dmask:0x1")));
          for (int lane = 0; lane < lanes; ++lane) {
            const double x = f32_of(machine.v(8, lane)) * (unnormalized ? 1.0 : 8.0);
            const double y = f32_of(machine.v(9, lane)) * (unnormalized ? 1.0 : 4.0);
            EXPECT_NEAR(f32_of(machine.v(4, lane)), reference_sample(x, y, image, sampling), 1e-4)
                << name_of(target) << " clamp " << static_cast<int>(clamp)
                << (is_linear ? " linear" : " nearest") << (unnormalized ? "" : " normalised")
                << " at " << x << ", " << y;
          }
        }
}

TEST(ImageSample, WeightsHaveEightFractionBits) {
  const Target target = kTargets[2];
  TestMachine machine(options_for(target));
  set_image(machine, target, {.width = 2, .height = 1});
  set_sampler(machine, {.is_linear = true});
  machine.memory.write<float>(kData + 4, 256.0f);  // texels 0 and 256: the result is the weight
  machine.set_exec(0x3f);
  machine.set_v<float>(8, {0.5f, 0.5f + 0.0019f, 0.5f + 0.0020f, 1.0f, 1.4999f, -5.0f});
  machine.set_v<float>(9, {0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f});
  ASSERT_TRUE(
      run(machine, target, text(target, "image_sample_lz", "v4", "v[8:9]", "2D", "dmask:0x1")));
  const float expected[] = {0, 0, 1, 128, 256, 0};
  for (int lane = 0; lane < 6; ++lane)
    EXPECT_EQ(f32_of(machine.v(4, lane)), expected[lane]) << lane;
}

TEST(ImageSample, NotANumberAndInfinityAreHarmless) {
  const Target target = kTargets[2];
  for (const Clamp clamp : {Clamp::kWrap, Clamp::kMirror, Clamp::kLastTexel, Clamp::kBorder})
    for (const bool unnormalized : {false, true}) {
      TestMachine machine(options_for(target));
      set_image(machine, target, {});
      set_sampler(machine, {clamp, true, unnormalized});
      fill(machine, {});
      machine.set_v<float>(8, {NAN, INFINITY, -INFINITY, 1e30f, -1e30f});
      machine.set_v<float>(9, {NAN, 1, INFINITY, -1e30f, 1e30f});
      machine.set_exec(0x1f);
      ASSERT_TRUE(
          run(machine, target, text(target, "image_sample_lz", "v4", "v[8:9]", "2D", "dmask:0x1")));
      for (int lane = 0; lane < 5; ++lane)
        EXPECT_TRUE(std::isfinite(f32_of(machine.v(4, lane)))) << lane;
    }
}

TEST(ImageSample, AllFormsReadTheirAddressesInOrder) {
  // Two texels apart in x by the offset; the level, bias and gradients change nothing in one level.
  struct Form {
    const char* op;
    std::vector<uint32_t> address;  // 2D
    float expected;
  };
  const uint32_t x = bits(2.5f), y = bits(1.5f), any = bits(7.0f), one_right = 1;
  const float here = texel_value(2, 1, 0), right = texel_value(3, 1, 0);
  const Form forms[] = {
      {"image_sample", {x, y}, here},
      {"image_sample_l", {x, y, any}, here},
      {"image_sample_b", {any, x, y}, here},
      {"image_sample_cl", {x, y, any}, here},
      {"image_sample_d", {any, any, any, any, x, y}, here},
      {"image_sample_lz_o", {one_right, x, y}, right},
      {"image_sample_d_o", {one_right, any, any, any, any, x, y}, right},
      {"image_sample_b_cl_o", {one_right, any, x, y, any}, right},
      {"image_sample_c_lz", {bits(here), x, y}, 1},
      {"image_sample_c_l_o", {one_right, bits(here), x, y, any}, 0},
  };
  for (const Target& target : kTargets) {
    if (target.target == amd::GfxTarget{9, 0, 10}) continue;
    for (const Form& form : forms) {
      TestMachine machine(options_for(target));
      set_image(machine, target, {});
      set_sampler(machine, {.compare = 2});  // equal
      fill(machine, {});
      for (uint32_t i = 0; i < form.address.size(); ++i) machine.set_v(8 + i, 3, form.address[i]);
      machine.set_exec(0x8);
      const std::string last = std::to_string(7 + form.address.size());
      ASSERT_TRUE(run(machine, target,
                      text(target, form.op, "v4", "v[8:" + last + "]", "2D", "dmask:0x1")));
      EXPECT_EQ(f32_of(machine.v(4, 3)), form.expected) << name_of(target) << " " << form.op;
      EXPECT_EQ(machine.v(4, 2), 0u) << "a lane outside EXEC";
    }
  }
}

TEST(ImageSample, GatherTakesTheFootprintAgainstTheClock) {
  for (const Target& target : kTargets) {
    if (target.target == amd::GfxTarget{9, 0, 10}) continue;
    TestMachine machine(options_for(target));
    set_image(machine, target, {});
    set_sampler(machine, {});
    fill(machine, {});
    machine.set_v<float>(8, {3.0f});
    machine.set_v<float>(9, {5.0f});
    machine.set_exec(1);
    ASSERT_TRUE(run(machine, target,
                    text(target, "image_gather4_lz", "v[4:7]", "v[8:9]", "2D", "dmask:0x1")));
    const float expected[] = {texel_value(2, 5, 0), texel_value(3, 5, 0), texel_value(3, 4, 0),
                              texel_value(2, 4, 0)};
    for (uint32_t i = 0; i < 4; ++i) EXPECT_EQ(f32_of(machine.v(4 + i, 0)), expected[i]) << i;
  }
}

TEST(ImageSample, VolumesAreFilteredAndSlicesChosen) {
  const Target target = kTargets[2];
  TestMachine machine(options_for(target));
  Image image{.type = ImageType::k3D, .width = 4, .height = 4, .depth = 4};
  fill(machine, image);
  set_image(machine, target, image);
  set_sampler(machine, {.is_linear = true});
  machine.set_v<float>(8, {1.5f, 1.5f, 1.5f});
  machine.set_v<float>(9, {1.5f, 1.5f, 1.5f});
  machine.set_v<float>(10, {2.0f, 2.5f, 9.0f});
  machine.set_exec(7);
  ASSERT_TRUE(
      run(machine, target, text(target, "image_sample_lz", "v4", "v[8:10]", "3D", "dmask:0x1")));
  EXPECT_EQ(f32_of(machine.v(4, 0)), (texel_value(1, 1, 1) + texel_value(1, 1, 2)) / 2);
  EXPECT_EQ(f32_of(machine.v(4, 1)), texel_value(1, 1, 2));
  EXPECT_EQ(f32_of(machine.v(4, 2)), texel_value(1, 1, 3));
  image.type = ImageType::k2DArray;
  set_image(machine, target, image);
  ASSERT_TRUE(run(machine, target,
                  text(target, "image_sample_lz", "v4", "v[8:10]", "2D_ARRAY", "dmask:0x1")));
  EXPECT_EQ(f32_of(machine.v(4, 0)), texel_value(1, 1, 2));
  EXPECT_EQ(f32_of(machine.v(4, 1)), texel_value(1, 1, 2));  // to even
  EXPECT_EQ(f32_of(machine.v(4, 2)), texel_value(1, 1, 3));
}

// --- Encodings.

TEST(Image, AddressesMayStandInAnyRegisters) {
  for (const Target& target : kTargets) {
    if (target.target.major == 9) continue;
    TestMachine machine(options_for(target));
    set_image(machine, target, {});
    set_sampler(machine, {});
    fill(machine, {});
    machine.set_exec(1);
    machine.set_v<float>(20, {2.5f});
    machine.set_v<float>(9, {1.5f});
    ASSERT_TRUE(run(machine, target,
                    text(target, "image_sample_lz", "v4", "[v20, v9]", "2D", "dmask:0x1")));
    EXPECT_EQ(f32_of(machine.v(4, 0)), texel_value(2, 1, 0));
    // More than fit into gfx11's one dword: the last ones follow each other.
    machine.set_v<float>(14, {2.5f});
    machine.set_v<float>(15, {1.5f});
    ASSERT_TRUE(run(machine, target,
                    target.target.major == 10
                        ? text(target, "image_sample_d", "v4", "[v21, v9, v22, v8, v14, v15]", "2D",
                               "dmask:0x1")
                        : text(target, "image_sample_d", "v4", "[v21, v9, v22, v8, v[14:15]]", "2D",
                               "dmask:0x1")));
    EXPECT_EQ(f32_of(machine.v(4, 0)), texel_value(2, 1, 0));
    TestMachine small(options_for(target));
    ASSERT_TRUE(small.run(text(target, "image_sample_lz", "v4", "[v20, v99]", "2D", "dmask:0x1")));
    ASSERT_TRUE(small.faulted());
    EXPECT_EQ(small.wave.fault.kind, FaultKind::kBadDescriptor);
  }
}

TEST(Image, SixteenBitAddressesAndDataArePacked) {
  for (const Target& target : kTargets) {
    if (target.target.major == 9) continue;  // the same fields, no assembler spelling for all
    TestMachine machine(options_for(target));
    const Image image{.type = ImageType::k3D, .width = 8, .height = 4, .depth = 3};
    set_image(machine, target, image);
    set_sampler(machine, {});
    fill(machine, image);
    machine.set_exec(1);
    machine.set_v<uint32_t>(8, {5 | 3 << 16});
    machine.set_v<uint32_t>(9, {2});
    ASSERT_TRUE(run(machine, target,
                    text(target, "image_load", "v4", "v[8:9]", "3D", "dmask:0x1 unorm a16")));
    EXPECT_EQ(f32_of(machine.v(4, 0)), texel_value(5, 3, 2));
    machine.set_v<uint32_t>(8, {0x4500u | 0x4300u << 16});  // 5.0, 3.5
    machine.set_v<uint32_t>(9, {0x4100u});                  // 2.5
    ASSERT_TRUE(run(machine, target,
                    text(target, "image_sample_lz", "v4", "v[8:9]", "3D", "dmask:0x1 a16")));
    EXPECT_EQ(f32_of(machine.v(4, 0)), texel_value(5, 3, 2));
    machine.set_v<uint32_t>(4, {0xaaaabbbb});
    machine.set_v<uint32_t>(5, {0xaaaabbbb});
    machine.set_v<uint32_t>(8, {4});
    machine.set_v<uint32_t>(9, {0});
    machine.set_v<uint32_t>(10, {0});
    ASSERT_TRUE(run(machine, target,
                    text(target, "image_load", "v[4:5]", "v[8:10]", "3D", "dmask:0xb unorm d16")));
    EXPECT_EQ(machine.v(4, 0), 0x4400u);                // x = 4.0, y = 0
    EXPECT_EQ(machine.v(5, 0), 0xaaaa0000u | 0x3c00u);  // w = 1, the other half stays
  }
}

TEST(Image, ResidencyIsReported) {
  const Target target = kTargets[2];
  TestMachine machine(options_for(target));
  set_image(machine, target, {});
  fill(machine, {});
  machine.set_exec(1);
  machine.set_v<uint32_t>(5, {99});
  ASSERT_TRUE(run(machine, target,
                  text(target, "image_load", "v[4:5]", "v[8:9]", "2D", "dmask:0x1 unorm tfe")));
  EXPECT_EQ(f32_of(machine.v(4, 0)), texel_value(0, 0, 0));
  EXPECT_EQ(machine.v(5, 0), 0u);
}

TEST(Image, ResourcesTellTheirSize) {
  for (const Target& target : kTargets) {
    TestMachine machine(options_for(target));
    set_image(machine, target, {.type = ImageType::k3D, .width = 7, .height = 5, .depth = 3});
    machine.set_exec(3);
    machine.set_v<uint32_t>(8, {0, 1});
    ASSERT_TRUE(run(machine, target,
                    text(target, "image_get_resinfo", "v[4:7]", "v8", "3D", "dmask:0xf unorm")));
    const uint32_t expected[] = {7, 5, 3, 1};
    for (uint32_t i = 0; i < 4; ++i) {
      EXPECT_EQ(machine.v(4 + i, 0), expected[i]);
      EXPECT_EQ(machine.v(4 + i, 1), 0u);
    }
  }
}

// --- Atomics.

TEST(ImageAtomic, EveryOperationOnOneTexel) {
  struct Case {
    const char* name;
    uint32_t data, memory, expected;
  };
  constexpr Case kCases[] = {
      {"add", 5, 7, 12},     {"sub", 5, 7, 2},    {"and", 6, 12, 4}, {"or", 6, 12, 14},
      {"xor", 6, 12, 10},    {"swap", 5, 7, 5},   {"umin", 5, 7, 5}, {"umax", 5, 7, 7},
      {"smin", ~0u, 7, ~0u}, {"smax", ~0u, 7, 7}, {"inc", 7, 7, 0},  {"dec", 9, 0, 9},
  };
  for (const Target& target : kTargets)
    for (const Case& test : kCases)
      for (const bool returns : {false, true}) {
        TestMachine machine(options_for(target));
        set_image(machine, target, {.format = kUint1});
        machine.memory.write<uint32_t>(kData + 3 * 4, test.memory);
        machine.set_exec(1);
        machine.set_v<uint32_t>(8, {3});
        machine.set_v<uint32_t>(9, {0});
        machine.set_v<uint32_t>(4, {test.data});
        const std::string rest = std::string("dmask:0x1 unorm") + (returns ? " glc" : "");
        ASSERT_TRUE(run(
            machine, target,
            text(target, std::string("image_atomic_") + test.name, "v4", "v[8:9]", "2D", rest)));
        EXPECT_EQ(machine.memory.read<uint32_t>(kData + 3 * 4), test.expected)
            << name_of(target) << " " << test.name;
        EXPECT_EQ(machine.v(4, 0), returns ? test.memory : test.data) << test.name;
      }
}

TEST(ImageAtomic, ComparesAndReachesAllLanes) {
  for (const Target& target : kTargets) {
    TestMachine machine(options_for(target));
    set_image(machine, target, {.format = kUint1});
    machine.set_exec(1);
    machine.memory.write<uint32_t>(kData, 7);
    machine.set_v<uint32_t>(4, {5});
    machine.set_v<uint32_t>(5, {7});
    ASSERT_TRUE(
        run(machine, target,
            text(target, "image_atomic_cmpswap", "v[4:5]", "v[8:9]", "2D", "dmask:0x3 unorm glc")));
    EXPECT_EQ(machine.memory.read<uint32_t>(kData), 5u);
    EXPECT_EQ(machine.v(4, 0), 7u);
    EXPECT_EQ(machine.v(5, 0), 7u);
    // 64 bits, every lane on the same texel.
    set_image(machine, target, {.format = kUint2});
    machine.memory.write<uint64_t>(kData, 0xffffffff);
    machine.set_exec(~0ull);
    for (int lane = 0; lane < machine.wave.lanes; ++lane) {
      machine.set_v(4, lane, 1);
      machine.set_v(5, lane, 0);
    }
    ASSERT_TRUE(run(machine, target,
                    text(target, "image_atomic_add", "v[4:5]", "v[8:9]", "2D", "dmask:0x3 unorm")));
    EXPECT_EQ(machine.memory.read<uint64_t>(kData), 0xffffffffu + uint64_t{machine.wave.lanes});
  }
}

// --- What goes wrong says what.

TEST(Image, WhatIsNotImplementedHasAName) {
  const Target target = kTargets[2];
  const auto detail = [&](auto&& change) {
    TestMachine machine(options_for(target));
    set_image(machine, target, {});
    set_sampler(machine, {});
    change(machine);
    EXPECT_TRUE(machine.run(text(target, "image_sample_lz", "v4", "v[8:9]", "2D", "dmask:0x1")));
    EXPECT_TRUE(machine.faulted());
    EXPECT_EQ(machine.wave.fault.kind, FaultKind::kUnimplemented);
    return std::string(machine.wave.fault.detail);
  };
  EXPECT_EQ(detail([](TestMachine& m) { m.set_s(kImage + 3, m.s(kImage + 3) | 1 << 16); }),
            "image: mip levels are not implemented");
  EXPECT_EQ(detail([](TestMachine& m) { m.set_s(kImage + 3, m.s(kImage + 3) | 5 << 20); }),
            "image: swizzle mode is not one of the runtime's");
  EXPECT_EQ(detail([](TestMachine& m) { m.set_s(kImage + 1, 300 << 20); }),
            "image: data format is not implemented");
  EXPECT_EQ(detail([](TestMachine& m) { m.set_s(kImage + 3, 0x0fffffff & m.s(kImage + 3)); }),
            "image: the resource is not an image's");
  EXPECT_EQ(detail([](TestMachine& m) { m.set_s(kSampler + 3, 3u << 30); }),
            "sampler: a palette of border colours is not implemented");
}

TEST(Image, AnImageThatIsNotMappedFaults) {
  const Target target = kTargets[2];
  TestMachine machine(options_for(target));
  set_image(machine, target, {});
  machine.set_s(kImage, 0x123456);
  ASSERT_TRUE(machine.run(text(target, "image_load", "v4", "v[8:9]", "2D", "dmask:0x1 unorm")));
  ASSERT_TRUE(machine.faulted());
  EXPECT_EQ(machine.wave.fault.kind, FaultKind::kPageFault);
  EXPECT_EQ(machine.wave.fault.address.value, 0x12345600u);
}

}  // namespace
}  // namespace wavetap::emu::image_test
