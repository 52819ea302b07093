; A kernel as a compiler of another language hands it over: no HIP, no device library, one kernel in the module. The data
; layout is put in by the test, as it differs between versions.
source_filename = "kernel.py"
target triple = "amdgcn-amd-amdhsa"

declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()

define amdgpu_kernel void @doubled(ptr addrspace(1) %in, ptr addrspace(1) %out, i32 %n) #0 !dbg !5 {
  %local = call i32 @llvm.amdgcn.workitem.id.x(), !dbg !8
  %group = call i32 @llvm.amdgcn.workgroup.id.x(), !dbg !8
  %base = mul i32 %group, 256, !dbg !8
  %i = add i32 %base, %local, !dbg !8
  %wide = zext i32 %i to i64, !dbg !8
  %from = getelementptr inbounds i32, ptr addrspace(1) %in, i64 %wide, !dbg !8
  %v = load i32, ptr addrspace(1) %from, align 4, !dbg !8
  %w = shl i32 %v, 1, !dbg !9
  %to = getelementptr inbounds i32, ptr addrspace(1) %out, i64 %wide, !dbg !9
  store i32 %w, ptr addrspace(1) %to, align 4, !dbg !9
  ret void, !dbg !9
}

attributes #0 = { nounwind "amdgpu-flat-work-group-size"="1,256" "target-cpu"="gfx1030" }

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3, !10}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, isOptimized: true, runtimeVersion: 0, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "kernel.py", directory: "/somewhere")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{i32 1, !"amdgpu_code_object_version", i32 400}
!5 = distinct !DISubprogram(name: "doubled", scope: !1, file: !1, line: 5, type: !6, scopeLine: 5, spFlags: DISPFlagDefinition, unit: !0)
!6 = !DISubroutineType(types: !7)
!7 = !{}
!8 = !DILocation(line: 7, column: 3, scope: !5)
!9 = !DILocation(line: 8, column: 3, scope: !5)
!10 = !{i32 7, !"PIC Level", i32 2}
