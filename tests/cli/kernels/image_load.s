// A kernel with an instruction the engine has no semantics for.
  .amdgcn_target "amdgcn-amd-amdhsa--gfx1030"
  .text
  .globl image_load
  .p2align 8
  .type image_load,@function
image_load:
  v_mov_b32 v0, 0
  image_load v[0:3], v0, s[0:7] dmask:0xf dim:SQ_RSRC_IMG_1D
  s_waitcnt vmcnt(0)
  s_endpgm
  .size image_load, .-image_load

  .rodata
  .p2align 6
  .amdhsa_kernel image_load
    .amdhsa_next_free_vgpr 4
    .amdhsa_next_free_sgpr 8
    .amdhsa_wavefront_size32 1
  .end_amdhsa_kernel
