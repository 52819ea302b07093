// Spheres over a chequered floor with shadows and two mirror bounces: nested divergence, early
// exits, vector structs by value. The host traces the same scene with the same code.
#include "check.h"

struct Vec {
  float x, y, z;
};
__host__ __device__ inline Vec operator+(Vec a, Vec b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
__host__ __device__ inline Vec operator-(Vec a, Vec b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
__host__ __device__ inline Vec operator*(Vec a, float s) { return {a.x * s, a.y * s, a.z * s}; }
__host__ __device__ inline float dot(Vec a, Vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__host__ __device__ inline Vec normalize(Vec a) { return a * (1.0f / sqrtf(dot(a, a))); }

struct Sphere {
  Vec centre;
  float radius, mirror, shade;
};
struct Scene {
  Sphere spheres[5];
  Vec light;
};

__host__ __device__ float hit_sphere(const Sphere& s, Vec from, Vec direction) {
  const Vec to = s.centre - from;
  const float along = dot(to, direction);
  const float square = dot(to, to) - along * along;
  if (square > s.radius * s.radius) return -1;
  const float half = sqrtf(s.radius * s.radius - square);
  const float near_hit = along - half;
  return near_hit > 1e-3f ? near_hit : along + half;
}

__host__ __device__ float trace(const Scene& scene, Vec from, Vec direction) {
  float light = 0, weight = 1;
  for (int bounce = 0; bounce < 3; ++bounce) {
    float nearest = 1e30f;
    int which = -1;
    for (int i = 0; i < 5; ++i) {
      const float t = hit_sphere(scene.spheres[i], from, direction);
      if (t > 1e-3f && t < nearest) nearest = t, which = i;
    }
    const float floor_hit = direction.y < -1e-4f ? -from.y / direction.y : -1;
    const bool on_floor = floor_hit > 1e-3f && floor_hit < nearest;
    if (on_floor) nearest = floor_hit;
    if (!on_floor && which < 0) return light + weight * (0.2f + 0.3f * fmaxf(direction.y, 0.0f));
    const Vec point = from + direction * nearest;
    const Vec normal = on_floor ? Vec{0, 1, 0} : normalize(point - scene.spheres[which].centre);
    float shade = on_floor ? (static_cast<int>(floorf(point.x) + floorf(point.z)) & 1 ? 0.9f : 0.3f)
                           : scene.spheres[which].shade;
    const Vec to_light = normalize(scene.light - point);
    float lit = fmaxf(dot(normal, to_light), 0.0f);
    for (int i = 0; i < 5 && lit > 0; ++i) {
      if (hit_sphere(scene.spheres[i], point, to_light) > 1e-3f) lit = 0;
    }
    const float mirror = on_floor ? 0.1f : scene.spheres[which].mirror;
    light += weight * (1 - mirror) * shade * (0.15f + 0.85f * lit);
    weight *= mirror;
    if (weight < 0.02f) break;
    direction = direction - normal * (2 * dot(direction, normal));
    from = point;
  }
  return light;
}

__host__ __device__ float pixel(const Scene& scene, int x, int y, int width, int height) {
  const Vec direction = normalize({(x + 0.5f) / width - 0.5f, 0.35f - (y + 0.5f) / height, 0.8f});
  return trace(scene, {0, 1.5f, -4}, direction);
}

__global__ void render(Scene scene, float* out, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height) out[y * width + x] = pixel(scene, x, y, width, height);
}

int main() {
  const int width = 90, height = 61;
  Scene scene = {{{{0, 1, 0}, 1, 0.5f, 0.8f},
                  {{2, 0.7f, 1}, 0.7f, 0.3f, 0.5f},
                  {{-2, 0.5f, -1}, 0.5f, 0.0f, 0.9f},
                  {{0.7f, 0.3f, -1.5f}, 0.3f, 0.8f, 0.4f},
                  {{-1, 2.2f, 2}, 0.9f, 0.2f, 0.6f}},
                 {4, 6, -5}};
  check::Buffer<float> out(width * height);
  render<<<dim3(check::blocks_for(width, 8), check::blocks_for(height, 8)), dim3(8, 8)>>>(
      scene, out, width, height);
  check::sync();
  const std::vector<float> got = out.read();
  // A ray that grazes an edge may fall on either side of it by one rounding.
  int different = 0;
  double sum_got = 0, sum_want = 0;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const float want = pixel(scene, x, y, width, height);
      different += !(std::fabs(got[y * width + x] - want) <= 1e-3f);
      sum_got += got[y * width + x];
      sum_want += want;
    }
  }
  check::expect(different < width * height / 200, "%d of %d pixels differ (edges only)", different,
                width * height);
  check::expect(std::fabs(sum_got - sum_want) < 1e-3 * sum_want, "mean brightness %.5f, want %.5f",
                sum_got / got.size(), sum_want / got.size());
  return check::finish();
}
