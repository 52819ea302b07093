// Linked with kernels.s: the code object then has two metadata notes, one for each.
  .text
  .globl second
  .p2align 8
  .type second,@function
second:
  s_endpgm
.Lsecond_end:
  .size second, .Lsecond_end-second

  .rodata
  .p2align 6
  .amdhsa_kernel second
    .amdhsa_next_free_vgpr 1
    .amdhsa_next_free_sgpr 1
    .amdhsa_accum_offset 4
  .end_amdhsa_kernel

  .amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-
amdhsa.kernels:
  - .name: second
    .symbol: second.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 6
    .vgpr_count: 1
    .agpr_count: 0
    .max_flat_workgroup_size: 64
    .args:
      - {.name: size, .size: 8, .offset: 0, .value_kind: by_value}
...
  .end_amdgpu_metadata
