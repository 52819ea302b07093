// 4096 stubs of one size. Stub I counts in wt_slots[I].calls and goes on to wt_slots[I].target with every argument
// register, the stack and the return address as they were. Only the registers a call may change anyway are used.
#define STUBS 4096

        .text
        .globl  wt_stubs, wt_stubs_end
        .hidden wt_stubs, wt_stubs_end, wt_slots

#if defined(__aarch64__)
        .balign 16
wt_stubs:
        .set    index, 0
        .rept   STUBS
        hint    #34                     // bti c
        mov     w17, #index
        b       count
        nop
        .set    index, index + 1
        .endr
wt_stubs_end:

count:
        stp     x9, x10, [sp, #-16]!
        adrp    x16, wt_slots
        add     x16, x16, :lo12:wt_slots
        add     x16, x16, x17, lsl #4
        ldr     x9, [x16]
1:      ldxr    x10, [x9]
        add     x10, x10, #1
        stxr    w17, x10, [x9]
        cbnz    w17, 1b
        ldr     x16, [x16, #8]
        ldp     x9, x10, [sp], #16
        br      x16

#elif defined(__x86_64__)
        .balign 16
wt_stubs:
        .set    index, 0
        .rept   STUBS
        endbr64
        movl    $index, %r11d
        jmp     count
        .balign 16
        .set    index, index + 1
        .endr
wt_stubs_end:

count:
        pushq   %rax
        leaq    wt_slots(%rip), %rax
        shlq    $4, %r11
        addq    %rax, %r11
        movq    (%r11), %rax
        lock incq (%rax)
        popq    %rax
        jmpq    *8(%r11)
#else
#error "no stubs for this processor"
#endif

        .section .note.GNU-stack,"",%progbits
