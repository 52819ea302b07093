// A kernel with an instruction the engine has no semantics for.
  .amdgcn_target "amdgcn-amd-amdhsa--gfx1030"
  .text
  .globl get_lod
  .p2align 8
  .type get_lod,@function
get_lod:
  v_mov_b32 v0, 0
  image_get_lod v0, v0, s[0:7], s[0:3] dmask:0x1 dim:SQ_RSRC_IMG_1D
  s_waitcnt vmcnt(0)
  s_endpgm
  .size get_lod, .-get_lod

  .rodata
  .p2align 6
  .amdhsa_kernel get_lod
    .amdhsa_next_free_vgpr 4
    .amdhsa_next_free_sgpr 8
    .amdhsa_wavefront_size32 1
  .end_amdhsa_kernel
