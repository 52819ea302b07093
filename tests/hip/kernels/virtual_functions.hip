// Virtual calls on objects constructed on the device: different dynamic types in one wave, a call
// through two levels of inheritance, virtual destructors.
#include "check.h"

struct Shape {
  __device__ virtual ~Shape() {}
  __device__ virtual float area() const = 0;
  __device__ virtual int sides() const { return 0; }
};
struct Square : Shape {
  float edge;
  __device__ explicit Square(float e) : edge(e) {}
  __device__ float area() const override { return edge * edge; }
  __device__ int sides() const override { return 4; }
};
struct Circle : Shape {
  float radius;
  __device__ explicit Circle(float r) : radius(r) {}
  __device__ float area() const override { return 3.0f * radius * radius; }
};
struct BigSquare : Square {
  int* destroyed;
  __device__ BigSquare(float e, int* d) : Square(e), destroyed(d) {}
  __device__ ~BigSquare() override { atomicAdd(destroyed, 1); }
  __device__ float area() const override { return 100.0f * Square::area(); }
};

__global__ void run(float* areas, int* sides, int* destroyed, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  alignas(16) char storage[sizeof(BigSquare)];
  Shape* shape;
  switch (i % 3) {
    case 0: shape = new (storage) Square(static_cast<float>(i)); break;
    case 1: shape = new (storage) Circle(static_cast<float>(i)); break;
    default: shape = new (storage) BigSquare(static_cast<float>(i), destroyed); break;
  }
  areas[i] = shape->area();
  sides[i] = shape->sides();
  shape->~Shape();
}

int main() {
  const int count = 333;
  std::vector<float> areas(count);
  std::vector<int> sides(count);
  for (int i = 0; i < count; ++i) {
    const float size = static_cast<float>(i);
    areas[i] = (i % 3 == 0 ? 1.0f : i % 3 == 1 ? 3.0f : 100.0f) * size * size;
    sides[i] = i % 3 == 1 ? 0 : 4;
  }
  check::Buffer<float> device_areas(count);
  check::Buffer<int> device_sides(count), destroyed(1);
  destroyed.fill_bytes(0);
  run<<<check::blocks_for(count, 64), 64>>>(device_areas, device_sides, destroyed, count);
  check::sync();
  check::near("areas", device_areas.read(), areas, 1e-6, 0);
  check::equal("sides", device_sides.read(), sides);
  check::equal("destructors run", destroyed.read()[0], count / 3);
  return check::finish();
}
