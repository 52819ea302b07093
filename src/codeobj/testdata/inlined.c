// source_map_test.cc knows these line numbers.
static inline __attribute__((always_inline)) void put(int* data, int value) {
  *data = value;
}
static inline __attribute__((always_inline)) void put_both(int* data, int value) {
  put(data, value);
  put(data + 64, value + 1);
}
__attribute__((amdgpu_kernel, visibility("protected"))) void both(__attribute__((address_space(1))) int* data, int value) {
  put_both((int*)data, value);
}
