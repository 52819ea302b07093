// Draws the Mandelbrot set in the terminal. Every character cell is two pixels, every pixel one
// work-item.
//
//   hipcc --offload-arch=gfx1030 mandelbrot.hip -o mandelbrot
//   wavetap run --gpu rx6800xt -- ./mandelbrot [columns]
#include <hip/hip_runtime.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#define CHECK(call)                                                                  \
  do {                                                                               \
    const hipError_t error = (call);                                                 \
    if (error != hipSuccess) {                                                       \
      std::fprintf(stderr, "mandelbrot: %s: %s\n", #call, hipGetErrorString(error)); \
      std::exit(1);                                                                  \
    }                                                                                \
  } while (0)

constexpr int kMaxSteps = 240;

// Steps until z = z*z + c leaves the circle of radius 2, for each pixel; kMaxSteps when it stays.
__global__ void mandelbrot(int width, int height, float x0, float y0, float step, int* steps_out) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const float cx = x0 + x * step;
  const float cy = y0 + y * step;
  float zx = 0, zy = 0;
  int steps = 0;
  while (steps < kMaxSteps && zx * zx + zy * zy < 4.0f) {
    const float next = zx * zx - zy * zy + cx;
    zy = 2 * zx * zy + cy;
    zx = next;
    ++steps;
  }
  steps_out[y * width + x] = steps;
}

// 216 colours of a 256-colour terminal hold a path from dark blue over orange to white.
int colour(int steps) {
  if (steps >= kMaxSteps) return 16;
  static const int kPath[] = {17,  18,  19,  20,  26,  32,  38,  44,  50,  86,  122, 158,
                              194, 230, 229, 222, 215, 208, 202, 196, 160, 124, 88,  53};
  const int count = sizeof kPath / sizeof *kPath;
  return kPath[steps % count];
}

int main(int argc, char** argv) {
  const int width = argc > 1 ? std::atoi(argv[1]) : 78;
  const int height = (width * 10 / 13) & ~1;  // pixels are as high as wide
  if (width < 8 || width > 400) {
    std::fprintf(stderr, "mandelbrot: columns: must be 8 to 400\n");
    return 1;
  }

  int* device_steps = nullptr;
  const size_t bytes = sizeof(int) * width * height;
  CHECK(hipMalloc(reinterpret_cast<void**>(&device_steps), bytes));
  const dim3 block(16, 16);
  const dim3 grid((width + 15) / 16, (height + 15) / 16);
  const float step = 3.2f / width;
  mandelbrot<<<grid, block>>>(width, height, -2.35f, -step * height / 2, step, device_steps);
  CHECK(hipGetLastError());
  std::vector<int> steps(width * height);
  CHECK(hipMemcpy(steps.data(), device_steps, bytes, hipMemcpyDeviceToHost));
  CHECK(hipFree(device_steps));

  const bool colours = isatty(STDOUT_FILENO) && std::getenv("NO_COLOR") == nullptr;
  std::string out;
  for (int y = 0; y < height; y += 2) {
    for (int x = 0; x < width; ++x) {
      const int top = steps[y * width + x];
      const int bottom = steps[(y + 1) * width + x];
      if (colours) {
        char cell[64];
        std::snprintf(cell, sizeof cell, "\x1b[38;5;%d;48;5;%dm▀", colour(top), colour(bottom));
        out += cell;
      } else {
        const int mean = (top + bottom) / 2;
        out += mean >= kMaxSteps ? '#'
               : mean > 24       ? '%'
               : mean > 12       ? '*'
               : mean > 8        ? '+'
               : mean > 6        ? '-'
               : mean > 4        ? '.'
                                 : ' ';
      }
    }
    out += colours ? "\x1b[0m\n" : "\n";
  }
  std::fputs(out.c_str(), stdout);

  hipDeviceProp_t properties;
  CHECK(hipGetDeviceProperties(&properties, 0));
  std::printf("%d x %d pixels, computed by %s (%s)\n", width, height, properties.name,
              properties.gcnArchName);
  return 0;
}
