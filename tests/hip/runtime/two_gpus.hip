// Two devices in one process: each computes on its own, copies go between them in both directions,
// events and streams belong to their device, peer access lets one read the other's memory.
#include "check.h"

__global__ void scale(int* data, int count, int by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] *= by;
}

int main() {
  int count_devices = 0;
  WT_HIP(hipGetDeviceCount(&count_devices));
  if (count_devices < 2) check::skip("needs two devices");
  const int count = 20000;
  const size_t bytes = count * sizeof(int);
  std::vector<int> values(count), out(count);
  for (int i = 0; i < count; ++i) values[i] = i;
  int* data[2] = {};
  hipStream_t streams[2];
  for (int d = 0; d < 2; ++d) {
    WT_HIP(hipSetDevice(d));
    WT_HIP(hipMalloc(&data[d], bytes));
    WT_HIP(hipStreamCreate(&streams[d]));
    WT_HIP(hipMemcpyAsync(data[d], values.data(), bytes, hipMemcpyHostToDevice, streams[d]));
    scale<<<check::blocks_for(count, 256), 256, 0, streams[d]>>>(data[d], count, d + 2);
  }
  for (int d = 0; d < 2; ++d) {
    WT_HIP(hipSetDevice(d));
    WT_HIP(hipStreamSynchronize(streams[d]));
    WT_HIP(hipMemcpy(out.data(), data[d], bytes, hipMemcpyDeviceToHost));
    bool right = true;
    for (int i = 0; i < count; ++i) right = right && out[i] == i * (d + 2);
    check::expect(right, "device %d (%s) computes", d, check::properties().gcnArchName);
    hipPointerAttribute_t attributes;
    WT_HIP(hipPointerGetAttributes(&attributes, data[d]));
    check::equal("its memory belongs to it", attributes.device, d);
  }

  for (int d = 0; d < 2; ++d) {
    const int other = 1 - d;
    WT_HIP(hipSetDevice(d));
    std::vector<int> mark(count, 100 + d);
    WT_HIP(hipMemcpy(data[d], mark.data(), bytes, hipMemcpyHostToDevice));
    WT_HIP(hipMemcpyPeer(data[other], other, data[d], d, bytes));
    WT_HIP(hipDeviceSynchronize());
    WT_HIP(hipMemcpy(out.data(), data[other], bytes, hipMemcpyDeviceToHost));
    check::equal(
        (std::string("peer copy ") + std::to_string(d) + " to " + std::to_string(other)).c_str(),
        out, mark);
    WT_HIP(hipSetDevice(other));  // without peer access only the owner can fill it
    WT_HIP(hipMemset(data[other], 0, bytes));
    WT_HIP(hipDeviceSynchronize());
    WT_HIP(hipSetDevice(d));
    WT_HIP(hipMemcpyPeerAsync(data[other], other, data[d], d, bytes, streams[d]));
    WT_HIP(hipStreamSynchronize(streams[d]));
    WT_HIP(hipMemcpy(out.data(), data[other], bytes, hipMemcpyDeviceToHost));
    check::equal("  asynchronously", out, mark);
  }

  int can = 0;
  WT_HIP(hipDeviceCanAccessPeer(&can, 0, 1));
  if (can != 0) {
    WT_HIP(hipSetDevice(0));
    WT_HIP(hipDeviceEnablePeerAccess(1, 0));
    WT_HIP_RETURNS(hipErrorPeerAccessAlreadyEnabled, hipDeviceEnablePeerAccess(1, 0));
    WT_HIP(hipMemcpy(data[1], values.data(), bytes, hipMemcpyDefault));
    // Device 0 writes device 1's memory.
    scale<<<check::blocks_for(count, 256), 256>>>(data[1], count, 9);
    check::sync();
    WT_HIP(hipMemcpy(out.data(), data[1], bytes, hipMemcpyDefault));
    bool right = true;
    for (int i = 0; i < count; ++i) right = right && out[i] == i * 9;
    check::expect(right, "device 0 works on device 1's memory");
    WT_HIP(hipDeviceDisablePeerAccess(1));
  } else {
    std::printf("the devices cannot reach each other's memory: direct access is not tried\n");
  }

  // A stream of one device waits for an event of the other.
  hipEvent_t event;
  WT_HIP(hipSetDevice(0));
  WT_HIP(hipEventCreateWithFlags(&event, hipEventDisableTiming));
  WT_HIP(hipMemcpy(data[0], values.data(), bytes, hipMemcpyHostToDevice));
  scale<<<check::blocks_for(count, 256), 256, 0, streams[0]>>>(data[0], count, 4);
  WT_HIP(hipEventRecord(event, streams[0]));
  WT_HIP(hipSetDevice(1));
  WT_HIP(hipStreamWaitEvent(streams[1], event, 0));
  WT_HIP(hipMemcpyPeerAsync(data[1], 1, data[0], 0, bytes, streams[1]));
  scale<<<check::blocks_for(count, 256), 256, 0, streams[1]>>>(data[1], count, 5);
  WT_HIP(hipStreamSynchronize(streams[1]));
  WT_HIP(hipMemcpy(out.data(), data[1], bytes, hipMemcpyDeviceToHost));
  bool right = true;
  for (int i = 0; i < count; ++i) right = right && out[i] == i * 20;
  check::expect(right, "an event orders work across devices");
  for (int d = 0; d < 2; ++d) {
    WT_HIP(hipSetDevice(d));
    WT_HIP(hipFree(data[d]));
    WT_HIP(hipStreamDestroy(streams[d]));
  }
  return check::finish();
}
