// All-pairs gravity with LDS tiles and leapfrog steps, against the same integration in double.
#include "check.h"

constexpr float kSoftening = 0.05f;
constexpr int kTile = 64;

__global__ void step(const float4* position, float4* next_position, float4* velocity, int count,
                     float dt) {
  __shared__ float4 tile[kTile];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float4 own = i < count ? position[i] : make_float4(0, 0, 0, 0);
  float ax = 0, ay = 0, az = 0;
  for (int base = 0; base < count; base += kTile) {
    const int j = base + threadIdx.x;
    // Bodies past the end have no mass and so pull on nobody.
    tile[threadIdx.x] = j < count ? position[j] : make_float4(0, 0, 0, 0);
    __syncthreads();
    for (int k = 0; k < kTile; ++k) {
      const float dx = tile[k].x - own.x, dy = tile[k].y - own.y, dz = tile[k].z - own.z;
      const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + kSoftening);
      const float pull = tile[k].w * inverse * inverse * inverse;
      ax += dx * pull;
      ay += dy * pull;
      az += dz * pull;
    }
    __syncthreads();
  }
  if (i >= count) return;
  float4 v = velocity[i];
  v.x += ax * dt;
  v.y += ay * dt;
  v.z += az * dt;
  velocity[i] = v;
  next_position[i] = make_float4(own.x + v.x * dt, own.y + v.y * dt, own.z + v.z * dt, own.w);
}

int main() {
  const int count = 300, steps = 3;
  const float dt = 0.01f;
  check::Rng rng(9);
  std::vector<float4> position(count), velocity(count);
  for (int i = 0; i < count; ++i) {
    position[i] = make_float4(rng.uniform(-1, 1), rng.uniform(-1, 1), rng.uniform(-1, 1),
                              rng.uniform(0.1f, 1));
    velocity[i] = make_float4(rng.uniform(-1, 1), rng.uniform(-1, 1), rng.uniform(-1, 1), 0);
  }
  check::Buffer<float4> a(position), b(count), device_velocity(velocity);
  float4 *from = a, *to = b;
  for (int s = 0; s < steps; ++s) {
    step<<<check::blocks_for(count, kTile), kTile>>>(from, to, device_velocity, count, dt);
    std::swap(from, to);
  }
  check::sync();
  const std::vector<float4> device = from == a.get() ? a.read() : b.read();

  struct Body {
    double p[3], v[3], mass;
  };
  std::vector<Body> bodies(count);
  for (int i = 0; i < count; ++i) {
    bodies[i] = {{position[i].x, position[i].y, position[i].z},
                 {velocity[i].x, velocity[i].y, velocity[i].z},
                 position[i].w};
  }
  for (int s = 0; s < steps; ++s) {
    const std::vector<Body> old = bodies;
    for (int i = 0; i < count; ++i) {
      double pull[3] = {};
      for (int j = 0; j < count; ++j) {
        double d[3], square = kSoftening;
        for (int k = 0; k < 3; ++k) {
          d[k] = old[j].p[k] - old[i].p[k];
          square += d[k] * d[k];
        }
        for (int k = 0; k < 3; ++k) pull[k] += d[k] * old[j].mass / (square * std::sqrt(square));
      }
      for (int k = 0; k < 3; ++k) {
        bodies[i].v[k] += pull[k] * dt;
        bodies[i].p[k] += bodies[i].v[k] * dt;
      }
    }
  }
  std::vector<float> got;
  std::vector<double> want;
  for (int i = 0; i < count; ++i) {
    got.insert(got.end(), {device[i].x, device[i].y, device[i].z});
    want.insert(want.end(), bodies[i].p, bodies[i].p + 3);
  }
  check::near("positions after 3 steps", got, want, 1e-4, 1e-3);
  return check::finish();
}
