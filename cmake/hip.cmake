# HIP programs and tests that run them on a virtual GPU.
#
# wt_hip_program(NAME SOURCES file... [ARCHS gfx...] [FLAGS flag...] [LIBS -l...] [DEPENDS file...])
#   Compiles the sources with hipcc into build/bin/hip/NAME, with code for each of ARCHS (default:
#   gfx1030 gfx90a). The target is hip_NAME and belongs to ALL. Flags default to -O2 -std=c++17; FLAGS
#   come after them and may override them. hipcc adds "-amdgpu-function-calls=false" on its own: a
#   program with recursion or function pointers passes FLAGS -mllvm -amdgpu-function-calls=true.
#
# wt_hipcc_commands(VARIABLE OUTPUT arg...)
#   The commands that call hipcc with these arguments and `-o OUTPUT`, for add_custom_command. hipcc leaves empty
#   folders in the temporary folder, so it gets one of its own, which goes when it has succeeded.
#
#   The headers of cmake/hip_prefix.h come precompiled: two thirds of the time such a program took to compile, and the
#   result is the same file. A flag that the precompiled form may not agree with makes do without.
#
# wt_hsa_program(NAME SOURCES file... [FLAGS flag...] [LIBS ...])
#   An ordinary C++ program linked with libhsa-runtime64, into build/bin/hsa/NAME. Target: hsa_NAME.
#
# wt_code_object(NAME SOURCE file ARCH gfx... [WAVE64] [ON_DEMAND] [PREFIX] [FLAGS flag...] [DEPENDS file...])
#   Device code only, no host program: build/co/NAME.hsaco, by clang-19, so that targets newer than
#   hipcc's compiler (gfx942) can be had. SOURCE is HIP (any extension), OpenCL (.cl) or assembler (.s).
#   Target: co_NAME; ON_DEMAND: none, for a target of the caller's that depends on the file. PREFIX: with precompiled
#   headers, for HIP sources of which there are many for one target.
#
# wt_gpu_test(NAME PROGRAM name|path GPU model... [ARGS arg...] [ENV VAR=value...] [RUN_OPTIONS option...]
#             [TIMEOUT seconds] [LABELS label...] [PASS regex] [FAIL regex] [WILL_FAIL])
#   Registers `wavetap run --gpu MODEL --no-trace -- PROGRAM ARGS` with ctest, once per entry of GPU, as
#   NAME.MODEL. An entry "rx6800xt,mi210" is one test with two devices. PROGRAM is a name given to
#   wt_hip_program or wt_hsa_program, or the path of any program. PASS: output must match (the exit code
#   is then not looked at, as ctest does it). A sanitizer build may leave out models (cmake/sanitize.cmake).
#
# WT_HIP_FROM=FOLDER: the HIP programs of another build are used instead of compiling them again.
#
# Without hipcc none of these make anything; configure says so once.

# A program without code for one of the devices it sees is refused by HIP 5.2, so the default is both.
set(WT_HIP_ARCHS gfx1030 gfx90a CACHE STRING "GPU targets HIP programs are compiled for")

set(WT_HIP_FROM "" CACHE PATH "Build folder whose compiled HIP programs are used; empty: compile them")
if(IS_SYMLINK ${CMAKE_BINARY_DIR}/bin/hip)
  file(REMOVE ${CMAKE_BINARY_DIR}/bin/hip)
endif()
if(WT_HIP_FROM)
  file(REMOVE_RECURSE ${CMAKE_BINARY_DIR}/bin/hip)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
  file(CREATE_LINK ${WT_HIP_FROM}/bin/hip ${CMAKE_BINARY_DIR}/bin/hip SYMBOLIC)
endif()

find_program(WT_HIPCC hipcc)
find_program(WT_DEVICE_CLANG NAMES clang++-19 clang++-20 clang++-18)
find_library(WT_HSA_LIBRARY hsa-runtime64)
if(NOT WT_HIPCC)
  message(STATUS "hipcc not found: HIP programs and their tests are left out (package hipcc)")
endif()

function(wt_hipcc_commands VARIABLE OUTPUT)
  set(folder ${OUTPUT}.tmp)
  set(${VARIABLE}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
    COMMAND ${CMAKE_COMMAND} -E env TMPDIR=${folder} ${WT_HIPCC} ${ARGN} -o ${OUTPUT}
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${folder} PARENT_SCOPE)
endfunction()

# Compiler arguments in ARGUMENTS, and files they need in FILES, for hipcc's FLAGS and ARCHS: the precompiled headers, one
# per target and one for the host, made by the first program that asks. clang takes NAME.pch when it is told to include
# NAME, and -Xarch_ says it to one of its passes. Both are empty where a flag changes what the headers mean.
function(wt_hip_prefix ARGUMENTS FILES FLAGS ARCHS)
  set(${ARGUMENTS} "" PARENT_SCOPE)
  set(${FILES} "" PARENT_SCOPE)
  set(other ${FLAGS})
  list(FILTER other EXCLUDE REGEX "^(-[DIgl].*|-O[0-3]|-w|-fno-omit-frame-pointer|--hipcc-func-supp)$")
  set(unknown ${ARCHS})
  list(REMOVE_ITEM unknown ${WT_HIP_ARCHS})
  if(other OR unknown)
    return()
  endif()
  set(level 2)
  if("-O0" IN_LIST FLAGS)
    set(level 0)
  endif()
  set(folder ${CMAKE_BINARY_DIR}/hip_prefix/O${level})
  if(NOT TARGET hip_prefix_O${level})
    set(source ${folder}/prefix.hip)
    file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${CMAKE_SOURCE_DIR}/cmake/hip_prefix.h\"\n")
    set(all "")
    foreach(pass host ${WT_HIP_ARCHS})
      set(only --cuda-device-only --offload-arch=${pass})
      if(pass STREQUAL host)
        list(GET WT_HIP_ARCHS 0 arch)  # else hipcc asks the machine for its GPUs
        set(only --cuda-host-only --offload-arch=${arch})
      endif()
      set(output ${folder}/${pass}.pch)
      wt_hipcc_commands(commands ${output} ${only} -O${level} -std=c++17 -Wall -S -Xclang -emit-pch ${source}
        -Wno-unused-command-line-argument -MD -MT ${output} -MF ${output}.d)
      add_custom_command(OUTPUT ${output} ${commands} DEPENDS ${source} DEPFILE ${output}.d
        COMMENT "HIP headers for ${pass}, -O${level}" VERBATIM)
      list(APPEND all ${output})
    endforeach()
    add_custom_target(hip_prefix_O${level} DEPENDS ${all})
  endif()
  set(arguments "")
  set(files hip_prefix_O${level})
  foreach(pass host ${ARCHS})
    list(APPEND arguments -Xarch_${pass} -include${folder}/${pass})
    list(APPEND files ${folder}/${pass}.pch)
  endforeach()
  set(${ARGUMENTS} ${arguments} PARENT_SCOPE)
  set(${FILES} ${files} PARENT_SCOPE)
endfunction()

function(wt_hip_program NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;ARCHS;FLAGS;LIBS;DEPENDS" ${ARGN})
  if(NOT WT_HIPCC)
    return()
  endif()
  if(WT_HIP_FROM)
    add_custom_target(hip_${NAME})
    return()
  endif()
  if(NOT ARG_ARCHS)
    set(ARG_ARCHS ${WT_HIP_ARCHS})
  endif()
  wt_hip_prefix(prefix prefix_files "${ARG_FLAGS};${ARG_LIBS}" "${ARG_ARCHS}")
  list(TRANSFORM ARG_ARCHS PREPEND --offload-arch=)
  set(sources "")
  foreach(source ${ARG_SOURCES})
    get_filename_component(source ${source} ABSOLUTE BASE_DIR ${CMAKE_CURRENT_SOURCE_DIR})
    list(APPEND sources ${source})
  endforeach()
  set(output ${CMAKE_BINARY_DIR}/bin/hip/${NAME})
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/bin/hip)
  # HIPCC_COMPILE_FLAGS_APPEND and friends of the caller's environment are left in force on purpose.
  wt_hipcc_commands(commands ${output} ${ARG_ARCHS} -O2 -std=c++17 -Wall -Wno-unused-result
    -Wno-unused-command-line-argument -I${CMAKE_CURRENT_SOURCE_DIR} -I${CMAKE_SOURCE_DIR}/tests/hip
    ${ARG_FLAGS} ${prefix} ${sources} ${ARG_LIBS} -MD -MT ${output} -MF ${output}.d)
  add_custom_command(OUTPUT ${output}
    ${commands}
    DEPENDS ${sources} ${prefix_files} ${ARG_DEPENDS}
    DEPFILE ${output}.d
    COMMENT "HIP ${NAME}"
    VERBATIM)
  add_custom_target(hip_${NAME} ALL DEPENDS ${output})
endfunction()

function(wt_hsa_program NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;FLAGS;LIBS" ${ARGN})
  if(NOT WT_HSA_LIBRARY)
    return()
  endif()
  add_executable(hsa_${NAME} ${ARG_SOURCES})
  set_target_properties(hsa_${NAME} PROPERTIES OUTPUT_NAME ${NAME}
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin/hsa)
  target_compile_definitions(hsa_${NAME} PRIVATE LITTLEENDIAN_CPU=1)
  target_compile_options(hsa_${NAME} PRIVATE -Wall -Wextra ${ARG_FLAGS})
  target_link_libraries(hsa_${NAME} PRIVATE ${WT_HSA_LIBRARY} Threads::Threads ${ARG_LIBS})
endfunction()

# AMD's device libraries as compiler arguments. clang's own search would refuse a target that is newer
# than the installed libraries, although the only thing it lacks is two constants; those are made here.
function(wt_device_library_flags ARCH WAVE64 OUT)
  find_file(WT_OCKL_BITCODE ockl.bc PATH_SUFFIXES amdgcn/bitcode lib/${CMAKE_LIBRARY_ARCHITECTURE}/amdgcn/bitcode
            PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE} /usr)
  get_filename_component(folder ${WT_OCKL_BITCODE} DIRECTORY)
  string(REGEX REPLACE "^gfx(.*)(.)(.)$" "\\1;\\2;\\3" parts ${ARCH})
  list(GET parts 0 major)
  list(GET parts 1 minor)
  list(GET parts 2 stepping)
  math(EXPR version "${major} * 1000 + ${minor} * 100 + 0x${stepping}")
  set(constants ${CMAKE_BINARY_DIR}/co/isa_${ARCH})
  file(CONFIGURE OUTPUT ${constants}.ll CONTENT
"target triple = \"amdgcn-amd-amdhsa\"
@__oclc_ISA_version = linkonce_odr protected addrspace(4) constant i32 ${version}
@__oclc_ABI_version = linkonce_odr protected addrspace(4) constant i32 500
")
  if(NOT EXISTS ${constants}.bc OR ${constants}.ll IS_NEWER_THAN ${constants}.bc)
    execute_process(COMMAND ${WT_DEVICE_CLANG} --target=amdgcn-amd-amdhsa -nogpulib -Wno-override-module
                            -emit-llvm -c ${constants}.ll -o ${constants}.bc COMMAND_ERROR_IS_FATAL ANY)
  endif()
  set(wave64 off)
  if(WAVE64 OR ${major} LESS 10)
    set(wave64 on)
  endif()
  set(flags "")
  foreach(library hip ocml ockl oclc_daz_opt_off oclc_unsafe_math_off oclc_finite_only_off
                  oclc_correctly_rounded_sqrt_on oclc_wavefrontsize64_${wave64})
    list(APPEND flags -Xclang -mlink-builtin-bitcode -Xclang ${folder}/${library}.bc)
  endforeach()
  list(APPEND flags -Xclang -mlink-builtin-bitcode -Xclang ${constants}.bc)
  set(${OUT} ${flags} PARENT_SCOPE)
endfunction()

# The headers of cmake/hip_prefix.h, precompiled for ARCH by the compiler of wt_code_object with these arguments.
function(wt_code_object_prefix OUT ARCH)
  set(output ${CMAKE_BINARY_DIR}/hip_prefix/device/${ARCH}.pch)
  set(${OUT} ${output} PARENT_SCOPE)
  if(TARGET co_prefix_${ARCH})
    return()
  endif()
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/hip_prefix/device)
  add_custom_command(OUTPUT ${output}
    COMMAND ${WT_DEVICE_CLANG} ${ARGN} -w -emit-llvm -c -Xclang -emit-pch ${CMAKE_SOURCE_DIR}/cmake/hip_prefix.h
            -o ${output} -MD -MT ${output} -MF ${output}.d
    DEPENDS ${CMAKE_SOURCE_DIR}/cmake/hip_prefix.h DEPFILE ${output}.d COMMENT "HIP headers for ${ARCH}" VERBATIM)
  add_custom_target(co_prefix_${ARCH} DEPENDS ${output})
endfunction()

function(wt_code_object NAME)
  cmake_parse_arguments(ARG "WAVE64;ON_DEMAND;PREFIX" "SOURCE;ARCH" "FLAGS;DEPENDS" ${ARGN})
  if(NOT WT_DEVICE_CLANG)
    return()
  endif()
  get_filename_component(source ${ARG_SOURCE} ABSOLUTE BASE_DIR ${CMAKE_CURRENT_SOURCE_DIR})
  get_filename_component(extension ${ARG_SOURCE} LAST_EXT)
  set(output ${CMAKE_BINARY_DIR}/co/${NAME}.hsaco)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/co)
  if(extension STREQUAL ".s")
    set(language -x assembler --target=amdgcn-amd-amdhsa -mcpu=${ARG_ARCH})
  else()
    wt_device_library_flags(${ARG_ARCH} "${ARG_WAVE64}" libraries)
    if(extension STREQUAL ".cl")
      set(language -x cl -cl-std=CL2.0 --target=amdgcn-amd-amdhsa -mcpu=${ARG_ARCH} -nogpulib)
    else()
      set(language -x hip --cuda-device-only --no-gpu-bundle-output --offload-arch=${ARG_ARCH}
          -nogpulib --rocm-path=/usr -std=c++17)
    endif()
    if(ARG_WAVE64)
      list(APPEND language -mwavefrontsize64)
    endif()
    list(APPEND language -O2 -mcode-object-version=5 ${libraries})
  endif()
  set(dependencies DEPENDS ${source} ${ARG_DEPENDS})
  if(extension MATCHES "^\\.(s|cl)$")
    add_custom_command(OUTPUT ${output}
      COMMAND ${WT_DEVICE_CLANG} ${language} ${ARG_FLAGS} ${source} -o ${output}
      ${dependencies} COMMENT "code object ${NAME}" VERBATIM)
  else()
    # By way of bitcode: HIP's headers call intrinsics by names of their time, which a newer compiler knows
    # only when it reads them from a file.
    set(bitcode ${CMAKE_BINARY_DIR}/co/${NAME}.bc)
    if(ARG_PREFIX)
      wt_code_object_prefix(prefix ${ARG_ARCH} ${language})
      list(APPEND dependencies ${prefix})
      list(APPEND language -include-pch ${prefix})
    endif()
    add_custom_command(OUTPUT ${output}
      COMMAND ${WT_DEVICE_CLANG} ${language} ${ARG_FLAGS} -emit-llvm -c -Xclang -disable-llvm-passes ${source} -o ${bitcode}
              -MD -MT ${output} -MF ${output}.d
      COMMAND ${WT_DEVICE_CLANG} -x ir --target=amdgcn-amd-amdhsa -mcpu=${ARG_ARCH} -nogpulib -O2
              -mcode-object-version=5 ${bitcode} -o ${output}
      COMMAND ${CMAKE_COMMAND} -E rm ${bitcode}
      ${dependencies} DEPFILE ${output}.d COMMENT "code object ${NAME}" VERBATIM)
  endif()
  if(NOT ARG_ON_DEMAND)
    add_custom_target(co_${NAME} ALL DEPENDS ${output})
  endif()
endfunction()

function(wt_gpu_test NAME)
  cmake_parse_arguments(ARG "WILL_FAIL" "PROGRAM;TIMEOUT;PASS;FAIL" "GPU;ARGS;ENV;RUN_OPTIONS;LABELS" ${ARGN})
  if(NOT WT_HIPCC)
    return()
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(NOT ARG_LABELS)
    set(ARG_LABELS gpu)
  endif()
  if(TARGET hip_${ARG_PROGRAM})
    set(program ${CMAKE_BINARY_DIR}/bin/hip/${ARG_PROGRAM})
  elseif(TARGET hsa_${ARG_PROGRAM})
    set(program ${CMAKE_BINARY_DIR}/bin/hsa/${ARG_PROGRAM})
  else()
    set(program ${ARG_PROGRAM})
  endif()
  set(environment ${ARG_ENV})
  if(WT_SANITIZE)
    # AMD's libraries leak at exit by design; for the stack see cmake/sanitize.cmake. A test that looks at the output only
    # must see our errors too.
    list(APPEND environment ASAN_OPTIONS=detect_leaks=0:use_sigaltstack=0)
    list(APPEND ARG_FAIL "ERROR: (Address|Leak)Sanitizer" ": runtime error: " "WARNING: ThreadSanitizer")
  endif()
  wt_gpu_models(gpus ${ARG_GPU})
  foreach(gpu ${gpus})
    set(test ${NAME}.${gpu})
    add_test(NAME ${test}
      COMMAND ${CMAKE_BINARY_DIR}/bin/wavetap run --gpu ${gpu} --no-trace ${ARG_RUN_OPTIONS} -- ${program} ${ARG_ARGS})
    set_tests_properties(${test} PROPERTIES LABELS "${ARG_LABELS}" ENVIRONMENT "${environment}")
    wt_test_limits(${ARG_TIMEOUT} ${test})
    if(ARG_PASS)
      set_tests_properties(${test} PROPERTIES PASS_REGULAR_EXPRESSION "${ARG_PASS}")
    endif()
    if(ARG_FAIL)
      set_tests_properties(${test} PROPERTIES FAIL_REGULAR_EXPRESSION "${ARG_FAIL}")
    endif()
    if(ARG_WILL_FAIL)
      set_tests_properties(${test} PROPERTIES WILL_FAIL TRUE)
    endif()
  endforeach()
endfunction()
