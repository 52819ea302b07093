// Targets and wave sizes that tests run on.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "amd/gfx_target.h"

namespace wavetap::emu {

inline constexpr amd::GfxTarget kGfx906{9, 0, 6};
inline constexpr amd::GfxTarget kGfx908{9, 0, 8};
inline constexpr amd::GfxTarget kGfx90a{9, 0, 10};
inline constexpr amd::GfxTarget kGfx942{9, 4, 2};
inline constexpr amd::GfxTarget kGfx1010{10, 1, 0};
inline constexpr amd::GfxTarget kGfx1030{10, 3, 0};
inline constexpr amd::GfxTarget kGfx1100{11, 0, 0};

struct Configuration {
  amd::GfxTarget target;
  bool wave64;
};
inline constexpr Configuration kConfigurations[] = {
    {kGfx906, true},   {kGfx908, true},  {kGfx90a, true},   {kGfx942, true},
    {kGfx1030, false}, {kGfx1030, true}, {kGfx1100, false}, {kGfx1100, true}};

// The name of a parameterised test.
inline std::string configuration_name(const testing::TestParamInfo<Configuration>& info) {
  return amd::to_string(info.param.target) + (info.param.wave64 ? "_wave64" : "_wave32");
}

}  // namespace wavetap::emu
