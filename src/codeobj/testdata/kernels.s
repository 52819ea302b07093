// Two kernels, a function, a variable that needs a relocation and one that another module defines.
  .amdgcn_target "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-"
  .text
  .globl _Z5twicePf
  .p2align 8
  .type _Z5twicePf,@function
_Z5twicePf:
  s_load_dwordx2 s[0:1], s[4:5], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  global_load_dword v1, v0, s[0:1]
  s_waitcnt vmcnt(0)
  v_add_f32_e32 v1, v1, v1
  global_store_dword v0, v1, s[0:1]
  s_endpgm
.Ltwice_end:
  .size _Z5twicePf, .Ltwice_end-_Z5twicePf

  .globl helper
  .p2align 2
  .type helper,@function
helper:
  s_setpc_b64 s[30:31]
.Lhelper_end:
  .size helper, .Lhelper_end-helper

  .globl plain
  .p2align 8
  .type plain,@function
plain:
  s_endpgm
.Lplain_end:
  .size plain, .Lplain_end-plain

  .rodata
  .p2align 6
  .amdhsa_kernel _Z5twicePf
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_user_sgpr_private_segment_buffer 1
    .amdhsa_next_free_vgpr 2
    .amdhsa_next_free_sgpr 6
    .amdhsa_accum_offset 4
    .amdhsa_group_segment_fixed_size 1024
  .end_amdhsa_kernel
  .amdhsa_kernel plain
    .amdhsa_next_free_vgpr 1
    .amdhsa_next_free_sgpr 1
    .amdhsa_accum_offset 4
  .end_amdhsa_kernel

  .data
  .globl pointer_to_pointer
  .p2align 3
  .type pointer_to_pointer,@object
pointer_to_pointer:
  .quad target+8
  .size pointer_to_pointer, 8
  .globl target
  .p2align 3
  .type target,@object
target:
  .quad 0x1122334455667788
  .quad elsewhere+16
  .size target, 16

  .amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-
amdhsa.kernels:
  - .name: _Z5twicePf
    .symbol: _Z5twicePf.kd
    .kernarg_segment_size: 64
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 12
    .vgpr_count: 2
    .agpr_count: 0
    .max_flat_workgroup_size: 256
    .reqd_workgroup_size: [256, 1, 1]
    .args:
      - {.name: data, .size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global, .type_name: 'float*'}
      - {.size: 4, .offset: 8, .value_kind: hidden_block_count_x}
...
  .end_amdgpu_metadata
