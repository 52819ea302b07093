// A kernel that never ends.
  .amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
  .text
  .globl endless
  .p2align 8
  .type endless,@function
endless:
  s_nop 0
  s_branch endless
  s_endpgm
  .size endless, .-endless

  .rodata
  .p2align 6
  .amdhsa_kernel endless
    .amdhsa_next_free_vgpr 4
    .amdhsa_next_free_sgpr 8
    .amdhsa_accum_offset 4
  .end_amdhsa_kernel
