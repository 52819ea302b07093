; A kernel as Triton's AMD back end hands it to LLVM: no target at the function, the constants of the device libraries, arguments in
; registers, one dynamic block of LDS, accesses to global memory through raw buffers with an offset outside them for lanes that
; have nothing to do. For ROCm 5.2 alone: version 4 of code objects, and no queue to launch others on. The words between @ are put in by
; the test.
source_filename = "LLVMDialectModule"
target triple = "amdgcn-amd-amdhsa"

@global_smem = external addrspace(3) global [0 x i8], align 16
@__oclc_ISA_version = weak_odr hidden local_unnamed_addr addrspace(4) constant i32 @ISA@
@__oclc_wavefrontsize64 = linkonce_odr hidden local_unnamed_addr addrspace(4) constant i8 @WAVE64@

declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare void @llvm.amdgcn.s.barrier()
declare ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p1(ptr addrspace(1), i16, i32, i32)
declare i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8), i32, i32, i32)
declare void @llvm.amdgcn.raw.ptr.buffer.store.i32(i32, ptr addrspace(8), i32, i32, i32)
declare i32 @llvm.amdgcn.raw.ptr.buffer.atomic.add.i32(i32, ptr addrspace(8), i32, i32, i32)

; out[i] = in[i] of the neighbour, doubled, for three work-items of four; the first word counts the others.
define amdgpu_kernel void @neighbours(ptr addrspace(1) inreg %in, ptr addrspace(1) inreg %out, i32 inreg %n) #0 !dbg !5 {
  %local = call i32 @llvm.amdgcn.workitem.id.x(), !dbg !8
  %group = call i32 @llvm.amdgcn.workgroup.id.x(), !dbg !8
  %base = shl i32 %group, 8, !dbg !8
  %i = or i32 %base, %local, !dbg !8
  %quarter = and i32 %local, 3, !dbg !8
  %idle = icmp eq i32 %quarter, 0, !dbg !8
  %bytes = shl i32 %i, 2, !dbg !9
  %from = select i1 %idle, i32 -2147483648, i32 %bytes, !dbg !9
  %input = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p1(ptr addrspace(1) %in, i16 0, i32 2147483646, i32 @FLAGS@), !dbg !9
  %v = call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %input, i32 %from, i32 0, i32 0), !dbg !9
  %near = shl i32 %local, 2, !dbg !10
  %mine = getelementptr i8, ptr addrspace(3) @global_smem, i32 %near, !dbg !10
  store i32 %v, ptr addrspace(3) %mine, align 4, !dbg !10
  fence syncscope("workgroup") release, !dbg !11
  call void @llvm.amdgcn.s.barrier(), !dbg !11
  fence syncscope("workgroup") acquire, !dbg !11
  %beside = xor i32 %near, 4, !dbg !12
  %other = getelementptr i8, ptr addrspace(3) @global_smem, i32 %beside, !dbg !12
  %w = load i32, ptr addrspace(3) %other, align 4, !dbg !12
  %x = shl i32 %w, 1, !dbg !13
  %output = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p1(ptr addrspace(1) %out, i16 0, i32 2147483646, i32 @FLAGS@), !dbg !13
  %last = icmp eq i32 %quarter, 3, !dbg !13
  %to = select i1 %last, i32 -2147483648, i32 %bytes, !dbg !13
  call void @llvm.amdgcn.raw.ptr.buffer.store.i32(i32 %x, ptr addrspace(8) %output, i32 %to, i32 0, i32 0), !dbg !13
  %count = select i1 %last, i32 12, i32 -2147483648, !dbg !14
  %old = call i32 @llvm.amdgcn.raw.ptr.buffer.atomic.add.i32(i32 1, ptr addrspace(8) %output, i32 %count, i32 0, i32 0), !dbg !14
  ret void, !dbg !14
}

attributes #0 = { nounwind "amdgpu-no-default-queue" "amdgpu-no-completion-action" "amdgpu-flat-work-group-size"="1,256" "amdgpu-waves-per-eu"="1" "denormal-fp-math-f32"="ieee" "uniform-work-group-size"="true" }

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3, !4}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, producer: "triton", isOptimized: true, runtimeVersion: 0, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "kernel.py", directory: "/somewhere")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{i32 1, !"amdhsa_code_object_version", i32 400}
!4 = !{i32 8, !"PIC Level", i32 0}
!5 = distinct !DISubprogram(name: "neighbours", linkageName: "neighbours", scope: !1, file: !1, line: 5, type: !6, scopeLine: 5, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!6 = !DISubroutineType(cc: DW_CC_normal, types: !7)
!7 = !{}
!8 = !DILocation(line: 6, column: 3, scope: !5)
!9 = !DILocation(line: 7, column: 3, scope: !5)
!10 = !DILocation(line: 8, column: 3, scope: !5)
!11 = !DILocation(line: 9, column: 3, scope: !5)
!12 = !DILocation(line: 10, column: 3, scope: !5)
!13 = !DILocation(line: 11, column: 3, scope: !5)
!14 = !DILocation(line: 12, column: 3, scope: !5)
