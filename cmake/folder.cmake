# wt_folder(NAME [IN_PROCESS] [LEVEL -O...] [WINGS subfolder...] [DEPS folder...] [LIBS library...] [FAST pattern...]
#           [APART pattern...] [ALONE pattern...] [TESTS_ALONE pattern...] [FUZZ_INPUTS n])
#
# Makes the static library wt_NAME from the *.cc of the folder and its wings, and beside it
#   NAME_test   from *_test.cc   (registered with ctest as unit.NAME)
#   NAME_bench  from *_bench.cc
#   one libFuzzer program per *_fuzz.cc (target `fuzzers`: all of them); without WT_FUZZ each is still built
#   as a plain program that runs the files or the number of random inputs named on its command line, and
#   is a test: fuzz.NAME.FILE runs random inputs and those of tests/corpus/NAME_FILE, once a bug each.
#   FUZZ_INPUTS: how many random ones that is, where one takes long.
#
# IN_PROCESS marks code that runs inside somebody else's process: no exceptions, no RTTI; compiled with -O2. Where FAST names
# the files that every call or dispatch goes through, the others are compiled with -O1.
# The other folders run offline, in our own programs: numbers come from files there, and sums of hostile ones wrap
# instead of being undefined. They are compiled lightly (-Og, less than half the time), but for FAST ones, patterns of files
# with the loops over events; where that is not the whole folder, they are the target wt_NAME_fast.
# LEVEL: another optimisation of a folder: -O3 for the recorder and the handlers of probes, -O1 for what reads and writes files of
# events, where the text takes the time.
# APART: patterns of files that a library of ours takes without the rest of the folder;
# ALONE: of files that are heavy or have options of their own and gain nothing from company (WT_UNITY below);
# TESTS_ALONE: of tests that are heavy, or whose helpers have the names of other tests' helpers.
#
# WT_UNITY, on in what `make` builds: the files of a folder are compiled up to twenty-four at a time, its tests eight at
# a time (GoogleTest's headers alone take two seconds). Most of a small file's time goes into the headers it includes, so
# a build from nothing is shorter; a change to one file takes its neighbours along, which is why a developer's own build
# folder has it off. Names in the unnamed namespaces of one folder must therefore differ; a test whose helpers have the names of
# others' has a namespace with the name of its file.
set(WT_UNITY_FILES 24)
set(WT_UNITY_TESTS 8)
add_library(wt_flags INTERFACE)
target_include_directories(wt_flags INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
target_compile_options(wt_flags INTERFACE -Wall -Wextra -Wshadow -Wno-unused-parameter
  $<$<BOOL:${WT_WERROR}>:-Werror>)
# A unit of many files needs a gigabyte or more anyway, and gcc would go through all of it for garbage again and again.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(wt_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=1048576>)
endif()
# gcc 13 and newer take references into what outlives a call, and scratch space that a callee is lent, for dangling.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  target_compile_options(wt_flags INTERFACE -Wno-dangling-pointer $<$<COMPILE_LANGUAGE:CXX>:-Wno-dangling-reference>)
endif()
target_compile_definitions(wt_flags INTERFACE WAVETAP_VERSION="${PROJECT_VERSION}")

add_custom_target(fuzzers)
if(NOT WT_FUZZ)
  add_library(wt_fuzz_driver OBJECT ${CMAKE_SOURCE_DIR}/cmake/fuzz_driver.cc)
  set_target_properties(wt_fuzz_driver PROPERTIES EXCLUDE_FROM_ALL TRUE)
  target_link_libraries(wt_fuzz_driver PRIVATE wt_flags)
endif()

# wt_offline(TARGET LEVEL): how offline code is compiled; sanitizer builds are all -O1.
function(wt_offline TARGET LEVEL)
  if(WT_SANITIZE)
    target_compile_options(${TARGET} PRIVATE -O1 -fwrapv -g1)
  else()
    target_compile_options(${TARGET} PRIVATE ${LEVEL} -fwrapv)
  endif()
endfunction()

# wt_in_process(TARGET LEVEL): how in-process code is compiled.
function(wt_in_process TARGET LEVEL)
  target_compile_options(${TARGET} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions -fno-rtti> $<$<CONFIG:Release>:${LEVEL}>)
endfunction()

# wt_unity(TARGET FILES [APART file...] [ALONE file...]): compiles the target's sources up to FILES at a time, in batches
# of one size; those APART in batches of their own, those ALONE one by one.
function(wt_unity TARGET FILES)
  cmake_parse_arguments(ARG "" "" "APART;ALONE" ${ARGN})
  if(NOT WT_UNITY)
    return()
  endif()
  get_target_property(sources ${TARGET} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cc$")
  foreach(which sources ARG_APART ARG_ALONE)
    list(TRANSFORM ${which} REPLACE "^([^/].*)" "${CMAKE_CURRENT_SOURCE_DIR}/\\1")
  endforeach()
  if(ARG_ALONE OR ARG_APART)
    list(REMOVE_ITEM sources ${ARG_ALONE} ${ARG_APART})
  endif()
  if(ARG_APART)
    list(REMOVE_ITEM ARG_APART ${ARG_ALONE})
  endif()
  wt_unity_batches(${TARGET} ${FILES} ${sources})
  wt_unity_batches(${TARGET}_apart ${FILES} ${ARG_APART})
  set_target_properties(${TARGET} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # A class of one file may hold what is in its unnamed namespace: the file is still the only one that sees it.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${TARGET} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
  endif()
endfunction()

# Neighbours stay together and batches differ by one file at most: a last batch of two files would read all headers again.
function(wt_unity_batches NAME FILES)
  list(LENGTH ARGN count)
  math(EXPR batches "(${count} + ${FILES} - 1) / ${FILES}")
  set(place 0)
  foreach(source ${ARGN})
    math(EXPR batch "${place} * ${batches} / ${count}")
    set_property(SOURCE ${source} PROPERTY UNITY_GROUP ${NAME}_${batch})
    math(EXPR place "${place} + 1")
  endforeach()
endfunction()

function(wt_folder NAME)
  cmake_parse_arguments(ARG "IN_PROCESS" "FUZZ_INPUTS;LEVEL" "WINGS;DEPS;LIBS;FAST;APART;ALONE;TESTS_ALONE" ${ARGN})
  foreach(which fast apart alone tests_alone)
    string(TOUPPER ARG_${which} patterns)
    set(${which} "")
    foreach(pattern ${${patterns}})
      file(GLOB some CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${pattern})
      list(APPEND ${which} ${some})
    endforeach()
  endforeach()
  foreach(which fast apart alone)
    list(FILTER ${which} EXCLUDE REGEX "_(test|bench|fuzz|main)\\.cc$")
  endforeach()
  file(GLOB all CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  foreach(wing ${ARG_WINGS})
    file(GLOB more CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${wing}/*.cc)
    list(APPEND all ${more})
  endforeach()
  set(sources ${all})
  list(FILTER sources EXCLUDE REGEX "(_(test|bench|fuzz|main)|/main)\\.cc$")
  set(tests ${all})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  set(benches ${all})
  list(FILTER benches INCLUDE REGEX "_bench\\.cc$")
  set(fuzzers ${all})
  list(FILTER fuzzers INCLUDE REGEX "_fuzz\\.cc$")

  set(deps ${ARG_DEPS})
  list(TRANSFORM deps PREPEND wt_)
  if(sources)
    if(ARG_LEVEL)
      set(level ${ARG_LEVEL})
    elseif(ARG_IN_PROCESS)
      set(level -O2)
    else()
      set(level -Og)
    endif()
    if(fast)
      list(REMOVE_ITEM sources ${fast})
    endif()
    if(fast AND NOT sources)
      set(sources ${fast})
      set(level -O2)
    elseif(fast)
      set(fast_apart ${apart})
      list(REMOVE_ITEM apart ${fast})
      list(REMOVE_ITEM fast_apart ${apart})
      add_library(wt_${NAME}_fast OBJECT ${fast})
      wt_unity(wt_${NAME}_fast ${WT_UNITY_FILES} APART ${fast_apart} ALONE ${alone})
      target_link_libraries(wt_${NAME}_fast PRIVATE wt_flags ${deps} ${ARG_LIBS})
      if(ARG_IN_PROCESS)
        wt_in_process(wt_${NAME}_fast ${level})
        set(level -O1)
      else()
        wt_offline(wt_${NAME}_fast -O2)
      endif()
      list(APPEND sources $<TARGET_OBJECTS:wt_${NAME}_fast>)
    endif()
    add_library(wt_${NAME} STATIC ${sources})
    wt_unity(wt_${NAME} ${WT_UNITY_FILES} APART ${apart} ALONE ${alone})
    target_link_libraries(wt_${NAME} PUBLIC wt_flags ${deps} ${ARG_LIBS} Threads::Threads)
    if(ARG_IN_PROCESS)
      wt_in_process(wt_${NAME} ${level})
    else()
      wt_offline(wt_${NAME} ${level})
    endif()
  else()
    add_library(wt_${NAME} INTERFACE)
    target_link_libraries(wt_${NAME} INTERFACE wt_flags ${deps} ${ARG_LIBS} Threads::Threads)
  endif()

  if(WT_SANITIZE_THREAD AND NOT ARG_IN_PROCESS)
    set(tests "")  # offline code has one thread
  endif()
  if(WT_TESTS AND tests)
    add_executable(${NAME}_test ${tests})
    wt_unity(${NAME}_test ${WT_UNITY_TESTS} ALONE ${tests_alone})
    target_link_libraries(${NAME}_test PRIVATE wt_${NAME} GTest::gtest_main GTest::gmock)
    target_compile_definitions(${NAME}_test PRIVATE WT_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
                               WT_BUILD_DIR="${CMAKE_BINARY_DIR}")
    # Half the time to compile; what they test is compiled as it ships.
    target_compile_options(${NAME}_test PRIVATE -O1)
    if(WT_SANITIZE)
      target_compile_options(${NAME}_test PRIVATE -g1)
    endif()
    add_test(NAME unit.${NAME} COMMAND ${NAME}_test --gtest_brief=1)
    set_tests_properties(unit.${NAME} PROPERTIES LABELS unit)
    wt_test_limits(900 unit.${NAME})
  endif()
  if(WT_BENCH AND benches)
    add_executable(${NAME}_bench ${benches})
    target_link_libraries(${NAME}_bench PRIVATE wt_${NAME} benchmark::benchmark_main)
  endif()
  if(NOT ARG_FUZZ_INPUTS)
    set(ARG_FUZZ_INPUTS 2000)
  endif()
  foreach(fuzzer ${fuzzers})
    get_filename_component(fuzz_name ${fuzzer} NAME_WE)
    add_executable(${NAME}_${fuzz_name} ${fuzzer})
    target_link_libraries(${NAME}_${fuzz_name} PRIVATE wt_${NAME})
    add_dependencies(fuzzers ${NAME}_${fuzz_name})
    if(WT_FUZZ)
      target_link_options(${NAME}_${fuzz_name} PRIVATE -fsanitize=fuzzer)
    else()
      target_sources(${NAME}_${fuzz_name} PRIVATE $<TARGET_OBJECTS:wt_fuzz_driver>)
      if(WT_TESTS)
        file(GLOB inputs CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/corpus/${NAME}_${fuzz_name}/*)
        add_test(NAME fuzz.${NAME}.${fuzz_name} COMMAND ${NAME}_${fuzz_name} --random ${ARG_FUZZ_INPUTS} 1 ${inputs})
        set_tests_properties(fuzz.${NAME}.${fuzz_name} PROPERTIES LABELS fuzz)
        wt_test_limits(300 fuzz.${NAME}.${fuzz_name})
      endif()
    endif()
  endforeach()
endfunction()
