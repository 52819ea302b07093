// Device code of the HSA tests: small kernels with plain names that need no library and no hidden
// argument. Workgroups have 64 work-items (Kernels::packet() in hsa_test.h).

uint work_item(void) { return __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x(); }

kernel void fill(global uint* out, uint value, uint count) {
  const uint i = work_item();
  if (i < count) out[i] = value + i;
}

kernel void add_one(global atomic_uint* counter) {
  __opencl_atomic_fetch_add(counter, 1u, memory_order_relaxed, memory_scope_all_svm_devices);
}

// out[i] = i * i + in[i]
kernel void square_add(global const uint* in, global uint* out, uint count) {
  const uint i = work_item();
  if (i < count) out[i] = i * i + in[i];
}

// Spins until the host writes something else.
kernel void wait_for_host(global atomic_uint* flag, global uint* out) {
  while (__opencl_atomic_load(flag, memory_order_acquire, memory_scope_all_svm_devices) == 0) {
  }
  *out = 1;
}

kernel void trap(global uint* out) {
  *out = 1;
  __builtin_trap();
}

// A store to an address the host passes as a number.
kernel void poke(ulong address, uint value) { *(global volatile uint*)address = value; }
