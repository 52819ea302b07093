// A kernel that is filled up with zeros to where the next one might begin, as generated assembler has it.
  .amdgcn_target "amdgcn-amd-amdhsa--gfx1030"
  .text
  .globl padded
  .p2align 8
  .type padded,@function
padded:
  v_mov_b32 v0, 0
  s_endpgm
  .fill 6, 4, 0
  .size padded, .-padded

  .rodata
  .p2align 6
  .amdhsa_kernel padded
    .amdhsa_next_free_vgpr 4
    .amdhsa_next_free_sgpr 8
    .amdhsa_wavefront_size32 1
  .end_amdhsa_kernel
