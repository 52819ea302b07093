// Textures and surfaces: arrays of every channel format, all address and filter modes, 1D to 3D and
// layered, linear and pitched memory, gathers, surfaces, and copies in and out, against the host.
//
// AMD's HSA runtime is built without its image library on arm64: HIP then has no arrays, and only the
// first part runs, which writes its own descriptors for images in plain memory.
#include <hip/hip_fp16.h>

#include <array>

#include "check.h"

namespace {

// --- Kernels.

#if !defined(__HIP_NO_IMAGE_SUPPORT) || !__HIP_NO_IMAGE_SUPPORT

template <class T>
__global__ void read_2d(hipTextureObject_t texture, T* out, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < width && y < height) out[y * width + x] = tex2D<T>(texture, x + 0.5f, y + 0.5f);
}

template <class T>
__global__ void sample_2d(hipTextureObject_t texture, const float2* at, T* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = tex2D<T>(texture, at[i].x, at[i].y);
}

__global__ void sample_1d(hipTextureObject_t texture, const float2* at, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = tex1D<float>(texture, at[i].x);
}

__global__ void sample_3d(hipTextureObject_t texture, const float4* at, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = tex3D<float>(texture, at[i].x, at[i].y, at[i].z);
}

__global__ void sample_layers(hipTextureObject_t texture, const float4* at, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = tex2DLayered<float>(texture, at[i].x, at[i].y, static_cast<int>(at[i].z));
}

__global__ void fetch_1d(hipTextureObject_t texture, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = tex1Dfetch<float>(texture, i);
}

__global__ void surface_add(hipSurfaceObject_t surface, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= width || y >= height) return;
  float value = 0;
  surf2Dread(&value, surface, x * 4, y);
  surf2Dwrite(value * 3 + x, surface, x * 4, y);
}

__global__ void surface_3d(hipSurfaceObject_t surface, int width) {
  const int x = threadIdx.x, y = blockIdx.x, z = blockIdx.y;
  if (x >= width) return;
  float value = 0;
  surf3Dread(&value, surface, x * 4, y, z);
  surf3Dwrite(value + z, surface, x * 4, y, z);
}

// gfx90a has no gather: the program must not hold the instruction for it.
__global__ void gather_2d(hipTextureObject_t texture, const float2* at, float4* out, int count) {
#if !defined(__gfx90a__)
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = tex2Dgather<float4>(texture, at[i].x, at[i].y, 0);
#endif
}

#endif

constexpr unsigned kBlock = 64;

// --- The host's texture unit: one component.

struct Volume {
  int width, height, depth;
  std::vector<float> texels;
  float at(int x, int y, int z) const { return texels[(size_t(z) * height + y) * width + x]; }
};

Volume make_volume(int width, int height, int depth) {
  Volume volume{width, height, depth, {}};
  check::Rng rng(static_cast<uint64_t>(width) * 1000 + height * 10 + depth);
  volume.texels.resize(size_t(width) * height * depth);
  for (float& texel : volume.texels) texel = rng.uniform(-8, 8);
  return volume;
}

// Index inside [0, size), or -1 for the border.
int address(int i, int size, hipTextureAddressMode mode) {
  switch (mode) {
    case hipAddressModeWrap: return ((i % size) + size) % size;
    case hipAddressModeMirror: {
      const int m = ((i % (2 * size)) + 2 * size) % (2 * size);
      return m < size ? m : 2 * size - 1 - m;
    }
    case hipAddressModeClamp: return i < 0 ? 0 : i >= size ? size - 1 : i;
    default: return i < 0 || i >= size ? -1 : i;
  }
}

struct Sampler {
  hipTextureAddressMode mode = hipAddressModeClamp;
  bool linear = false, normalized = false;
};

double sample(const Volume& volume, const Sampler& sampler, double x, double y, double z,
              int axes) {
  double position[3] = {x, y, z};
  const int size[3] = {volume.width, volume.height, volume.depth};
  int first[3] = {0, 0, 0};
  double fraction[3] = {0, 0, 0};
  for (int a = 0; a < axes; ++a) {
    if (sampler.normalized) position[a] *= size[a];
    const double p = sampler.linear ? position[a] - 0.5 : position[a];
    first[a] = static_cast<int>(std::floor(p));
    if (sampler.linear) fraction[a] = p - first[a];
  }
  double sum = 0;
  for (int k = 0; k < 8; ++k) {
    double weight = 1;
    int at[3] = {0, 0, 0};
    bool border = false;
    for (int a = 0; a < 3; ++a) {
      const int step = k >> a & 1;
      weight *= step == 0 ? 1 - fraction[a] : fraction[a];
      if (a < axes) at[a] = address(first[a] + step, size[a], sampler.mode);
      else if (step != 0) weight = 0;
      border = border || at[a] < 0;
    }
    if (weight != 0 && !border) sum += weight * volume.at(at[0], at[1], at[2]);
  }
  return sum;
}

// Texels differ by up to 16, a weight has 8 fraction bits: half of 1/256 of that per axis.
constexpr double kLinearTolerance = 16.0 / 512 * 3;
double tolerance(const Sampler& sampler) { return sampler.linear ? kLinearTolerance : 1e-6; }

// Positions in texels, not on the border between two where nearest may go either way.
std::vector<float4> positions(const Volume& volume, const Sampler& sampler, int count) {
  check::Rng rng(77);
  std::vector<float4> at(count);
  const auto one = [&](int size) {
    float p = rng.uniform(-2.0f * size, 3.0f * size);
    const float inside = p - std::floor(p);
    if (inside < 0.01f || inside > 0.99f) p = std::floor(p) + 0.5f;
    // HIP allows wrap and mirror with normalised coordinates only.
    return sampler.normalized ? p / size : p;
  };
  for (float4& p : at) p = make_float4(one(volume.width), one(volume.height), one(volume.depth), 0);
  return at;
}

template <class F>
bool near_all(const std::vector<float>& got, const std::vector<float4>& at, double limit, F&& want,
              const char* what) {
  size_t wrong = 0, first = 0;
  for (size_t i = 0; i < at.size(); ++i)
    if (!(std::fabs(got[i] - want(at[i])) <= limit) && wrong++ == 0) first = i;
  if (wrong != 0)
    std::printf("     first at %g, %g, %g: got %g, want %g\n", at[first].x, at[first].y,
                at[first].z, got[first], static_cast<double>(want(at[first])));
  return check::expect(wrong == 0, "%s: %zu of %zu wrong", what, wrong, at.size());
}

const char* name_of(hipTextureAddressMode mode) {
  constexpr const char* kNames[] = {"wrap", "clamp", "mirror", "border"};
  return kNames[mode];
}

// --- Part one: images in plain memory, described by hand.

struct Descriptor {
  uint32_t image[12] = {};
  uint32_t sampler[4] = {};
};

Descriptor describe(const void* data, const Volume& volume, const Sampler& sampler, int major,
                    int minor) {
  const auto base = reinterpret_cast<uint64_t>(data) >> 8;
  const uint32_t width = volume.width - 1u, height = volume.height - 1u, pitch = 64 - 1;
  Descriptor d;
  d.image[0] = static_cast<uint32_t>(base);
  d.image[3] = 04 | 1u << 9 | 9u << 28;  // x, 0, 0, 1; linear; 2D
  if (major == 9) {
    d.image[1] = static_cast<uint32_t>(base >> 32) | 4u << 20 | 7u << 26;  // 32, float
    d.image[2] = width | height << 14;
    d.image[4] = pitch << 13;
  } else {
    d.image[1] = static_cast<uint32_t>(base >> 32) | 22u << 20 | width << 30;  // 32_FLOAT
    d.image[2] = width >> 2 | height << 14 | (major == 10 ? 1u << 31 : 0);
    if (major > 10 || minor >= 3) d.image[4] = pitch;
  }
  d.image[10] = width + 1;  // the device library looks here when it makes coordinates whole
  constexpr uint32_t kModes[] = {0, 2, 1, 6};  // of wrap, clamp, mirror, border
  d.sampler[0] = kModes[sampler.mode] * 0111 | (sampler.normalized ? 0 : 1u << 15);
  d.sampler[1] = 0xfffu << 12;
  d.sampler[2] = sampler.linear ? 5u << 20 : 0;
  return d;
}

void images_by_hand(int major, int minor) {
  const Volume volume = make_volume(37, 21, 1);
  std::vector<float> rows(64 * 21);
  for (int y = 0; y < 21; ++y)
    for (int x = 0; x < 37; ++x) rows[y * 64 + x] = volume.at(x, y, 0);
  check::Buffer<float> data(rows);
  for (const bool linear : {false, true})
    for (const hipTextureAddressMode mode :
         {hipAddressModeWrap, hipAddressModeClamp, hipAddressModeMirror, hipAddressModeBorder}) {
      const Sampler sampler{mode, linear, true};
      check::Buffer<Descriptor> descriptor(
          std::vector<Descriptor>{describe(data.get(), volume, sampler, major, minor)});
      const std::vector<float4> at = positions(volume, sampler, 500);
      std::vector<float2> at2;
      for (const float4& p : at) at2.push_back(make_float2(p.x, p.y));
      check::Buffer<float2> in(at2);
      check::Buffer<float> out(at.size());
      sample_2d<float><<<check::blocks_for(at.size(), kBlock), kBlock>>>(
          reinterpret_cast<hipTextureObject_t>(descriptor.get()), in, out, int(at.size()));
      check::sync();
      char what[64];
      std::snprintf(what, sizeof what, "by hand: %s, %s", linear ? "linear" : "nearest",
                    name_of(mode));
      near_all(
          out.read(), at, tolerance(sampler),
          [&](const float4& p) { return sample(volume, sampler, p.x, p.y, 0, 2); }, what);
    }
}

// --- Part two: through HIP.

hipTextureObject_t make_texture(const hipResourceDesc& resource, const Sampler& sampler,
                                hipTextureReadMode mode = hipReadModeElementType) {
  hipTextureDesc desc{};
  for (hipTextureAddressMode& m : desc.addressMode) m = sampler.mode;
  desc.filterMode = sampler.linear ? hipFilterModeLinear : hipFilterModePoint;
  desc.readMode = mode;
  desc.normalizedCoords = sampler.normalized;
  hipTextureObject_t texture = nullptr;
  WT_HIP(hipCreateTextureObject(&texture, &resource, &desc, nullptr));
  return texture;
}

hipResourceDesc of_array(hipArray* array) {
  hipResourceDesc resource{};
  resource.resType = hipResourceTypeArray;
  resource.res.array.array = array;
  return resource;
}

template <class T>
std::vector<T> random_texels(size_t count) {
  check::Rng rng(sizeof(T) * 31 + count);
  std::vector<T> texels(count);
  auto* bytes = reinterpret_cast<unsigned char*>(texels.data());
  for (size_t i = 0; i < count * sizeof(T); ++i) bytes[i] = static_cast<unsigned char>(rng.next());
  return texels;
}
template <>
std::vector<float4> random_texels(size_t count) {
  check::Rng rng(5);
  std::vector<float4> texels(count);
  for (float4& t : texels)
    t = make_float4(rng.uniform(-1, 1), rng.uniform(-9, 9), rng.uniform(0, 1), 7);
  return texels;
}
template <>
std::vector<float2> random_texels(size_t count) {
  std::vector<float2> texels;
  for (const float4& t : random_texels<float4>(count)) texels.push_back(make_float2(t.x, t.y));
  return texels;
}
template <>
std::vector<float> random_texels(size_t count) {
  std::vector<float> texels;
  for (const float4& t : random_texels<float4>(count)) texels.push_back(t.y);
  return texels;
}

// An array of T, written, read through a texture and copied back: three ways to the same bytes.
template <class T>
void format_round_trip(const char* name) {
  constexpr int kWidth = 37, kHeight = 21;
  const std::vector<T> texels = random_texels<T>(kWidth * kHeight);
  const hipChannelFormatDesc format = hipCreateChannelDesc<T>();
  hipArray* array = nullptr;
  WT_HIP(hipMallocArray(&array, &format, kWidth, kHeight, hipArrayDefault));
  WT_HIP(hipMemcpy2DToArray(array, 0, 0, texels.data(), kWidth * sizeof(T), kWidth * sizeof(T),
                            kHeight, hipMemcpyHostToDevice));
  const hipTextureObject_t texture = make_texture(of_array(array), {});
  check::Buffer<T> out(texels.size());
  read_2d<T>
      <<<dim3(check::blocks_for(kWidth, kBlock), kHeight), kBlock>>>(texture, out, kWidth, kHeight);
  check::sync();
  check::expect(std::memcmp(out.read().data(), texels.data(), out.bytes()) == 0,
                "array of %s: texture", name);
  std::vector<T> back(texels.size());
  WT_HIP(hipMemcpy2DFromArray(back.data(), kWidth * sizeof(T), array, 0, 0, kWidth * sizeof(T),
                              kHeight, hipMemcpyDeviceToHost));
  check::expect(std::memcmp(back.data(), texels.data(), out.bytes()) == 0,
                "array of %s: copied back", name);
  WT_HIP(hipDestroyTextureObject(texture));
  WT_HIP(hipFreeArray(array));
}

template <class T>
double number_of(T texel) {
  return texel;
}
// A signed channel for HIP, whatever it is for the host's compiler.
double number_of(char texel) { return static_cast<signed char>(texel); }

template <class T>
void normalized_floats(const char* name, double scale, double low) {
  constexpr int kWidth = 64, kHeight = 4;
  const std::vector<T> texels = random_texels<T>(kWidth * kHeight);
  const hipChannelFormatDesc format = hipCreateChannelDesc<T>();
  hipArray* array = nullptr;
  WT_HIP(hipMallocArray(&array, &format, kWidth, kHeight, hipArrayDefault));
  WT_HIP(hipMemcpy2DToArray(array, 0, 0, texels.data(), kWidth * sizeof(T), kWidth * sizeof(T),
                            kHeight, hipMemcpyHostToDevice));
  const hipTextureObject_t texture = make_texture(of_array(array), {}, hipReadModeNormalizedFloat);
  check::Buffer<float> out(texels.size());
  read_2d<float><<<dim3(1, kHeight), kBlock>>>(texture, out, kWidth, kHeight);
  check::sync();
  const std::vector<float> got = out.read();
  size_t wrong = 0;
  for (size_t i = 0; i < got.size(); ++i)
    wrong += std::fabs(got[i] - std::fmax(number_of(texels[i]) / scale, low)) > 1e-6 ? 1 : 0;
  check::expect(wrong == 0, "%s as numbers from %g to 1: %zu of %zu wrong", name, low, wrong,
                got.size());
  WT_HIP(hipDestroyTextureObject(texture));
  WT_HIP(hipFreeArray(array));
}

// A float array of one to three dimensions, or with layers.
hipArray* make_array(const Volume& volume, int axes, unsigned flags) {
  const hipChannelFormatDesc format = hipCreateChannelDesc<float>();
  hipArray* array = nullptr;
  const hipExtent extent = make_hipExtent(volume.width, axes < 2 ? 0 : volume.height,
                                          volume.depth == 1 ? 0 : volume.depth);
  WT_HIP(hipMalloc3DArray(&array, &format, extent, flags));
  hipMemcpy3DParms copy{};
  copy.srcPtr = make_hipPitchedPtr(const_cast<float*>(volume.texels.data()), volume.width * 4,
                                   volume.width, volume.height);
  copy.dstArray = array;
  copy.extent = make_hipExtent(volume.width, volume.height, volume.depth);
  copy.kind = hipMemcpyHostToDevice;
  WT_HIP(hipMemcpy3D(&copy));
  return array;
}

void sampled(const char* shape, const Volume& volume, int axes, bool layered) {
  hipArray* array = make_array(volume, axes, layered ? hipArrayLayered : hipArrayDefault);
  for (const bool linear : {false, true})
    for (const bool normalized : {false, true})
      for (const hipTextureAddressMode mode :
           {hipAddressModeWrap, hipAddressModeClamp, hipAddressModeMirror, hipAddressModeBorder}) {
        if (!normalized && (mode == hipAddressModeWrap || mode == hipAddressModeMirror)) continue;
        const Sampler sampler{mode, linear, normalized};
        const hipTextureObject_t texture = make_texture(of_array(array), sampler);
        std::vector<float4> at = positions(volume, sampler, 300);
        if (layered)
          for (size_t i = 0; i < at.size(); ++i) at[i].z = static_cast<float>(i % volume.depth);
        std::vector<float2> at2;
        for (const float4& p : at) at2.push_back(make_float2(p.x, p.y));
        check::Buffer<float4> in(at);
        check::Buffer<float2> in2(at2);
        check::Buffer<float> out(at.size());
        const dim3 grid(check::blocks_for(at.size(), kBlock));
        const int count = static_cast<int>(at.size());
        if (layered) sample_layers<<<grid, kBlock>>>(texture, in, out, count);
        else if (axes == 1) sample_1d<<<grid, kBlock>>>(texture, in2, out, count);
        else if (axes == 2) sample_2d<float><<<grid, kBlock>>>(texture, in2, out, count);
        else sample_3d<<<grid, kBlock>>>(texture, in, out, count);
        check::sync();
        char what[96];
        std::snprintf(what, sizeof what, "%s: %s, %s%s", shape, linear ? "linear" : "nearest",
                      name_of(mode), normalized ? ", normalised" : "");
        near_all(
            out.read(), at, tolerance(sampler),
            [&](const float4& p) {
              if (!layered) return sample(volume, sampler, p.x, p.y, p.z, axes);
              const Volume layer{
                  volume.width,
                  volume.height,
                  1,
                  {volume.texels.begin() + size_t(p.z) * volume.width * volume.height,
                   volume.texels.begin() + size_t(p.z + 1) * volume.width * volume.height}};
              return sample(layer, sampler, p.x, p.y, 0, 2);
            },
            what);
        WT_HIP(hipDestroyTextureObject(texture));
      }
  WT_HIP(hipFreeArray(array));
}

void linear_and_pitched_memory() {
  const std::vector<float> values = random_texels<float>(1000);
  check::Buffer<float> data(values);
  hipResourceDesc resource{};
  resource.resType = hipResourceTypeLinear;
  resource.res.linear.devPtr = data.get();
  resource.res.linear.desc = hipCreateChannelDesc<float>();
  resource.res.linear.sizeInBytes = data.bytes();
  const hipTextureObject_t fetched = make_texture(resource, {});
  check::Buffer<float> out(values.size());
  fetch_1d<<<check::blocks_for(1000, kBlock), kBlock>>>(fetched, out, 1000);
  check::sync();
  check::expect(out.read() == values, "linear memory: tex1Dfetch");
  WT_HIP(hipDestroyTextureObject(fetched));

  const Volume volume = make_volume(40, 9, 1);
  void* pitched = nullptr;
  size_t pitch = 0;
  WT_HIP(hipMallocPitch(&pitched, &pitch, 40 * 4, 9));
  WT_HIP(hipMemcpy2D(pitched, pitch, volume.texels.data(), 160, 160, 9, hipMemcpyHostToDevice));
  resource = {};
  resource.resType = hipResourceTypePitch2D;
  resource.res.pitch2D = {pitched, hipCreateChannelDesc<float>(), 40, 9, pitch};
  const hipTextureObject_t texture = make_texture(resource, {});
  check::Buffer<float> rows(volume.texels.size());
  read_2d<float><<<dim3(1, 9), kBlock>>>(texture, rows, 40, 9);
  check::sync();
  check::expect(rows.read() == volume.texels, "pitched memory: tex2D");
  WT_HIP(hipDestroyTextureObject(texture));
  WT_HIP(hipFree(pitched));
}

void surfaces() {
  constexpr int kWidth = 70, kHeight = 13;
  std::vector<float> texels;
  for (int i = 0; i < kWidth * kHeight; ++i) texels.push_back(static_cast<float>(i * 7 % 1001));
  const hipChannelFormatDesc format = hipCreateChannelDesc<float>();
  hipArray* array = nullptr;
  WT_HIP(hipMallocArray(&array, &format, kWidth, kHeight, hipArrayDefault));
  WT_HIP(hipMemcpy2DToArray(array, 0, 0, texels.data(), kWidth * 4, kWidth * 4, kHeight,
                            hipMemcpyHostToDevice));
  const hipResourceDesc resource = of_array(array);
  hipSurfaceObject_t surface = nullptr;
  WT_HIP(hipCreateSurfaceObject(&surface, &resource));
  surface_add<<<dim3(2, kHeight), kBlock>>>(surface, kWidth, kHeight);
  check::sync();
  std::vector<float> back(texels.size());
  WT_HIP(hipMemcpy2DFromArray(back.data(), kWidth * 4, array, 0, 0, kWidth * 4, kHeight,
                              hipMemcpyDeviceToHost));
  size_t wrong = 0;
  for (size_t i = 0; i < back.size(); ++i)
    wrong += back[i] != texels[i] * 3 + static_cast<float>(i % kWidth) ? 1 : 0;
  check::expect(wrong == 0, "surface 2D, read and written: %zu of %zu wrong", wrong, back.size());
  WT_HIP(hipDestroySurfaceObject(surface));
  WT_HIP(hipFreeArray(array));

  const Volume volume = make_volume(20, 6, 5);
  hipArray* cube = make_array(volume, 3, hipArrayDefault);
  const hipResourceDesc cube_resource = of_array(cube);
  WT_HIP(hipCreateSurfaceObject(&surface, &cube_resource));
  surface_3d<<<dim3(6, 5), kBlock>>>(surface, 20);
  check::sync();
  std::vector<float> planes(volume.texels.size());
  hipMemcpy3DParms copy{};
  copy.srcArray = cube;
  copy.dstPtr = make_hipPitchedPtr(planes.data(), 80, 20, 6);
  copy.extent = make_hipExtent(20, 6, 5);
  copy.kind = hipMemcpyDeviceToHost;
  WT_HIP(hipMemcpy3D(&copy));
  wrong = 0;
  for (size_t i = 0; i < planes.size(); ++i)
    wrong += planes[i] != volume.texels[i] + static_cast<float>(i / 120) ? 1 : 0;
  check::expect(wrong == 0, "surface 3D, read and written: %zu of %zu wrong", wrong, planes.size());
  WT_HIP(hipDestroySurfaceObject(surface));
  WT_HIP(hipFreeArray(cube));
}

// HIP's generations number the components differently: here they are all alike.
void gathers() {
  const Volume volume = make_volume(16, 16, 1);
  std::vector<float4> texels;
  for (const float t : volume.texels) texels.push_back(make_float4(t, t, t, t));
  const hipChannelFormatDesc format = hipCreateChannelDesc<float4>();
  hipArray* array = nullptr;
  WT_HIP(hipMallocArray(&array, &format, 16, 16, hipArrayDefault));
  WT_HIP(hipMemcpy2DToArray(array, 0, 0, texels.data(), 256, 256, 16, hipMemcpyHostToDevice));
  // Nearest would make the coordinates whole first.
  const hipTextureObject_t texture =
      make_texture(of_array(array), {hipAddressModeClamp, true, false});
  std::vector<float2> at;
  for (int i = 0; i < 14 * 13; ++i)
    at.push_back(make_float2(1 + i % 14 + 0.25f, 1 + i / 14 + 0.75f));
  check::Buffer<float2> in(at);
  check::Buffer<float4> out(at.size());
  gather_2d<<<check::blocks_for(at.size(), kBlock), kBlock>>>(texture, in, out, int(at.size()));
  check::sync();
  const std::vector<float4> got = out.read();
  size_t wrong = 0;
  for (size_t i = 0; i < at.size(); ++i) {
    const int x = static_cast<int>(std::floor(at[i].x - 0.5f)), y = int(std::floor(at[i].y - 0.5f));
    const float want[] = {volume.at(x, y + 1, 0), volume.at(x + 1, y + 1, 0),
                          volume.at(x + 1, y, 0), volume.at(x, y, 0)};
    wrong += std::memcmp(&got[i], want, sizeof want) != 0 ? 1 : 0;
  }
  check::expect(wrong == 0, "gather: %zu of %zu wrong", wrong, at.size());
  WT_HIP(hipDestroyTextureObject(texture));
  WT_HIP(hipFreeArray(array));
}

}  // namespace

int main() {
  const hipDeviceProp_t device = check::properties();
  const std::string arch = device.gcnArchName;
  if (arch.rfind("gfx94", 0) == 0 || arch.rfind("gfx95", 0) == 0)
    check::skip("this GPU has no image instructions");
  const int major = arch.rfind("gfx9", 0) == 0 ? 9 : std::atoi(arch.substr(3, 2).c_str());
  images_by_hand(major, arch[5] - '0');

  hipArray* array = nullptr;
  const hipChannelFormatDesc format = hipCreateChannelDesc<float>();
  const hipError_t error = hipMallocArray(&array, &format, 8, 8, hipArrayDefault);
  if (error != hipSuccess) {
    (void)hipGetLastError();
    std::printf("note: no arrays and textures here (%s): this HSA runtime has no image library\n",
                hipGetErrorName(error));
    return check::finish();
  }
  WT_HIP(hipFreeArray(array));
  format_round_trip<char>("char");
  format_round_trip<unsigned char>("unsigned char");
  format_round_trip<uchar2>("uchar2");
  format_round_trip<char4>("char4");
  format_round_trip<short>("short");
  format_round_trip<ushort2>("ushort2");
  format_round_trip<ushort4>("ushort4");
  format_round_trip<int>("int");
  format_round_trip<uint2>("uint2");
  format_round_trip<int4>("int4");
  format_round_trip<float>("float");
  format_round_trip<float2>("float2");
  format_round_trip<float4>("float4");
  normalized_floats<unsigned char>("unsigned char", 255, 0);
  normalized_floats<char>("char", 127, -1);
  normalized_floats<unsigned short>("unsigned short", 65535, 0);
  normalized_floats<short>("short", 32767, -1);
  sampled("1D", make_volume(50, 1, 1), 1, false);
  sampled("2D", make_volume(37, 21, 1), 2, false);
  sampled("2D large", make_volume(300, 130, 1), 2, false);
  sampled("3D", make_volume(19, 9, 7), 3, false);
  sampled("2D layers", make_volume(23, 11, 4), 2, true);
  linear_and_pitched_memory();
  surfaces();
  if (arch.rfind("gfx90a", 0) != 0) gathers();
  return check::finish();
}
