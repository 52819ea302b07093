// Batched Stockham FFT in LDS (radix 2, 256 points per block), single and double precision: forward
// transform against a direct DFT, and the inverse must return the input.
#include <complex>

#include "check.h"

constexpr int kPoints = 256;

template <class T>
struct Complex {
  T re, im;
};

template <class T>
__global__ void fft(const Complex<T>* in, Complex<T>* out, T sign) {
  __shared__ Complex<T> buffer[2][kPoints];
  const int lane = threadIdx.x;  // kPoints / 2 of them
  const size_t base = static_cast<size_t>(blockIdx.x) * kPoints;
  buffer[0][lane] = in[base + lane];
  buffer[0][lane + kPoints / 2] = in[base + lane + kPoints / 2];
  __syncthreads();
  int from = 0;
  for (int span = 1; span < kPoints; span *= 2) {
    const int k = lane & (span - 1);
    const T angle = sign * static_cast<T>(M_PI) * static_cast<T>(k) / static_cast<T>(span);
    T s, c;
    if constexpr (sizeof(T) == 4) {
      sincosf(angle, &s, &c);
    } else {
      sincos(angle, &s, &c);
    }
    const Complex<T> a = buffer[from][lane];
    const Complex<T> b = buffer[from][lane + kPoints / 2];
    const Complex<T> t = {b.re * c - b.im * s, b.re * s + b.im * c};
    const int j = ((lane - k) << 1) + k;
    buffer[1 - from][j] = {a.re + t.re, a.im + t.im};
    buffer[1 - from][j + span] = {a.re - t.re, a.im - t.im};
    from = 1 - from;
    __syncthreads();
  }
  out[base + lane] = buffer[from][lane];
  out[base + lane + kPoints / 2] = buffer[from][lane + kPoints / 2];
}

template <class T>
void run(const char* name, double tolerance) {
  const int batch = 5;
  check::Rng rng(4);
  std::vector<Complex<T>> in(batch * kPoints);
  for (Complex<T>& v : in)
    v = {static_cast<T>(rng.uniform64(-1, 1)), static_cast<T>(rng.uniform64(-1, 1))};
  check::Buffer<Complex<T>> device_in(in), spectrum(in.size()), back(in.size());
  fft<T><<<batch, kPoints / 2>>>(device_in, spectrum, T(-1));
  fft<T><<<batch, kPoints / 2>>>(spectrum, back, T(1));
  check::sync();

  std::vector<T> got, returned, original;
  std::vector<double> want;
  const std::vector<Complex<T>> device_spectrum = spectrum.read(), device_back = back.read();
  std::vector<std::complex<double>> roots(kPoints);
  for (int i = 0; i < kPoints; ++i) roots[i] = std::polar(1.0, -2 * M_PI * i / kPoints);
  for (int b = 0; b < batch; ++b) {
    for (int k = 0; k < kPoints; ++k) {
      std::complex<double> sum = 0;
      for (int i = 0; i < kPoints; ++i) {
        sum += std::complex<double>(in[b * kPoints + i].re, in[b * kPoints + i].im) *
               roots[i * k % kPoints];
      }
      want.insert(want.end(), {sum.real(), sum.imag()});
    }
  }
  for (size_t i = 0; i < in.size(); ++i) {
    got.insert(got.end(), {device_spectrum[i].re, device_spectrum[i].im});
    returned.insert(returned.end(), {device_back[i].re / kPoints, device_back[i].im / kPoints});
    original.insert(original.end(), {in[i].re, in[i].im});
  }
  check::near((std::string(name) + " forward").c_str(), got, want, 0, tolerance);
  check::near((std::string(name) + " there and back").c_str(), returned, original, 0, tolerance);
}

int main() {
  run<float>("float", 2e-4);
  run<double>("double", 1e-12);
  return check::finish();
}
