# Sanitizer builds: WT_SANITIZE is address,undefined (presets asan and fuzz) or thread (preset tsan).
#
# Everything of this tree is instrumented; AMD's libraries and the HIP programs are not and need not be:
# `wavetap run` loads the sanitizer's runtime into them first, then the instrumented libwavetap_gpu.so. The
# runtime is therefore always the shared one, also with clang, whose default is a static one.
#
# Instrumented code is five to twenty times slower, so a sanitizer build runs a reduced suite, by these rules,
# and says so when it is configured:
#   A GPU test that has several models takes one of them, tests in turn (wt_gpu_models below).
#   Of the host tests those stay that need the stand-in for libamdhip64 alone; none with the thread sanitizer.
#   With the thread sanitizer, HIP kernels that are about arithmetic are left out, the random ones too
#   (tests/hip/CMakeLists.txt names the ones that stay), and unit tests of folders that run offline. On arm64
#   also captures whose addresses are the sanitizer's own (tests/capture/CMakeLists.txt).
# Time limits are multiplied by ten.
#
# WT_SANITIZER_RUNTIME               the shared runtime, to be the first library of a process
# WT_UNTYPED_CALLS                   options for what calls functions whose type clang's check cannot know
# wt_gpu_models(OUT model...)        the models a GPU test runs on in this build
# wt_test_limits(SECONDS test...)    time limit of tests; in sanitizer builds also options and suppressions

set(WT_SANITIZE_THREAD OFF)
set(WT_TIMEOUT_FACTOR 1)
set(WT_UNTYPED_CALLS "")
if(WT_SANITIZE)
  set(WT_TIMEOUT_FACTOR 10)
  # Code that runs in other people's processes has no RTTI, which the vptr check needs.
  add_compile_options(-fsanitize=${WT_SANITIZE} -fno-sanitize=vptr -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${WT_SANITIZE})
  # Of the standard library's headers alone: gcc loses track of what is set between its own checks (<regex>), and
  # clang tells of what libstdc++ has deprecated and uses itself (stable_sort). The ordinary build has both on.
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    add_compile_options(-Wno-maybe-uninitialized)
  else()
    add_compile_options(-Wno-deprecated-declarations)
  endif()
  if(WT_SANITIZE MATCHES thread)
    set(WT_SANITIZE_THREAD ON)
    add_compile_definitions(WT_SANITIZE_THREAD)
  else()
    add_compile_definitions(WT_SANITIZE_ADDRESS)
  endif()
  if(WT_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link)
    add_compile_definitions(_GLIBCXX_ASSERTIONS)
  else()
    # The runtime as a file, for those who preload it.
    set(runtime asan)
    if(WT_SANITIZE_THREAD)
      set(runtime tsan)
    endif()
    if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
      set(runtime clang_rt.${runtime}-${CMAKE_SYSTEM_PROCESSOR})
    endif()
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=lib${runtime}.so
      OUTPUT_VARIABLE runtime OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    file(REAL_PATH ${runtime} WT_SANITIZER_RUNTIME)
    if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
      get_filename_component(folder ${WT_SANITIZER_RUNTIME} DIRECTORY)
      add_link_options(-shared-libsan -Wl,-rpath,${folder})
    endif()
  endif()
  # What the engine compiled has no type before its first instruction, and the check may read before the page; the
  # functions of a stand-in for ROCr have another type than those they stand for.
  if(WT_SANITIZE MATCHES undefined AND CMAKE_CXX_COMPILER_ID MATCHES Clang)
    set(WT_UNTYPED_CALLS -fno-sanitize=function)
  endif()
  message(STATUS "sanitizer build: GPU tests run on one model each, the others are left out (cmake/sanitize.cmake)")
endif()

function(wt_gpu_models OUT)
  list(LENGTH ARGN count)
  if(WT_SANITIZE AND count GREATER 1)
    get_property(turn GLOBAL PROPERTY WT_MODEL_TURN)
    if(NOT turn)
      set(turn 0)
    endif()
    math(EXPR next "${turn} + 1")
    set_property(GLOBAL PROPERTY WT_MODEL_TURN ${next})
    math(EXPR index "${turn} % ${count}")
    list(GET ARGN ${index} one)
    set(${OUT} ${one} PARENT_SCOPE)
  else()
    set(${OUT} ${ARGN} PARENT_SCOPE)
  endif()
endfunction()

# clang's runtimes need it for names in reports; gcc's have their own.
find_program(WT_SYMBOLIZER llvm-symbolizer HINTS /usr/lib/llvm-19/bin)
set(WT_SYMBOLIZER_OPTION "")
if(WT_SYMBOLIZER)
  set(WT_SYMBOLIZER_OPTION :external_symbolizer_path=${WT_SYMBOLIZER})
endif()

function(wt_test_limits SECONDS)
  math(EXPR seconds "${SECONDS} * ${WT_TIMEOUT_FACTOR}")
  set_tests_properties(${ARGN} PROPERTIES TIMEOUT ${seconds})
  if(WT_SANITIZE)
    set(folder ${CMAKE_SOURCE_DIR}/tests/sanitizers)
    set_property(TEST ${ARGN} APPEND PROPERTY ENVIRONMENT
      "LSAN_OPTIONS=suppressions=${folder}/leaks.supp:print_suppressions=0"
      "UBSAN_OPTIONS=print_stacktrace=1"
      "TSAN_OPTIONS=suppressions=${folder}/races.supp:print_suppressions=0:ignore_noninstrumented_modules=1:die_after_fork=0${WT_SYMBOLIZER_OPTION}")
    # AMD's compiler library gives threads an alternate stack, which the sanitizer would take for its own.
    foreach(test ${ARGN})
      get_property(environment TEST ${test} PROPERTY ENVIRONMENT)
      if(NOT "${environment}" MATCHES "ASAN_OPTIONS=")
        set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT ASAN_OPTIONS=use_sigaltstack=0)
      endif()
    endforeach()
  endif()
endfunction()
