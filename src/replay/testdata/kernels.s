// accumulate(int* data, int add): data[i] += add + calls, and calls, a variable of the code object,
// goes up by one.
// chase(int*** from, int* to): *to = ***from. The addresses are in the data.
  .amdgcn_target "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-"
  .text
  .globl accumulate
  .p2align 8
  .type accumulate,@function
accumulate:
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_load_dword s6, s[0:1], 0x8
  s_getpc_b64 s[8:9]
  s_add_u32 s8, s8, calls@rel32@lo+4
  s_addc_u32 s9, s9, calls@rel32@hi+12
  v_mov_b32_e32 v2, 0
  global_load_dword v3, v2, s[8:9]
  v_and_b32_e32 v0, 0x3ff, v0
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  global_load_dword v1, v0, s[4:5]
  s_waitcnt vmcnt(0)
  v_add3_u32 v1, v1, s6, v3
  global_store_dword v0, v1, s[4:5]
  v_add_u32_e32 v3, 1, v3
  global_store_dword v2, v3, s[8:9]
  s_endpgm
.Laccumulate_end:
  .size accumulate, .Laccumulate_end-accumulate

  .globl chase
  .p2align 8
  .type chase,@function
chase:
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_load_dwordx2 s[8:9], s[4:5], 0x0
  s_waitcnt lgkmcnt(0)
  s_load_dwordx2 s[10:11], s[8:9], 0x0
  s_waitcnt lgkmcnt(0)
  s_load_dword s12, s[10:11], 0x0
  v_mov_b32_e32 v0, 0
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v1, s12
  global_store_dword v0, v1, s[6:7]
  s_endpgm
.Lchase_end:
  .size chase, .Lchase_end-chase

  .rodata
  .p2align 6
  .amdhsa_kernel accumulate
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_next_free_vgpr 4
    .amdhsa_next_free_sgpr 10
    .amdhsa_accum_offset 4
  .end_amdhsa_kernel
  .amdhsa_kernel chase
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_next_free_vgpr 4
    .amdhsa_next_free_sgpr 13
    .amdhsa_accum_offset 4
  .end_amdhsa_kernel

  .data
  .p2align 2
  .type calls,@object
calls:
  .long 0
  .size calls, 4

  .amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-
amdhsa.kernels:
  - .name: accumulate
    .symbol: accumulate.kd
    .kernarg_segment_size: 12
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 10
    .vgpr_count: 4
    .max_flat_workgroup_size: 256
    .args:
      - {.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.offset: 8, .size: 4, .value_kind: by_value}
  - .name: chase
    .symbol: chase.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 13
    .vgpr_count: 4
    .max_flat_workgroup_size: 256
    .args:
      - {.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}
...
  .end_amdgpu_metadata
