# wt_guest_library(TARGET EXPORTS): how a shared library with LLVM in it is linked that comes into programs of any root.
# It shows only what the version script EXPORTS names, brings its own C++ runtime and compression libraries (a directory
# with only their archives comes first on the search path), and stays loaded.
function(wt_guest_library TARGET EXPORTS)
  set(archives ${CMAKE_CURRENT_BINARY_DIR}/archives)
  file(MAKE_DIRECTORY ${archives})
  foreach(archive libz.a libzstd.a)
    find_library(WT_${archive} NAMES ${archive} REQUIRED)
    file(CREATE_LINK ${WT_${archive}} ${archives}/${archive} SYMBOLIC)
  endforeach()
  target_link_directories(${TARGET} BEFORE PRIVATE ${archives})
  target_link_options(${TARGET} PRIVATE
    -Wl,--version-script=${EXPORTS} -Wl,-z,defs -Wl,-z,nodelete -Wl,--exclude-libs,ALL -Wl,--gc-sections
    -Wl,--wrap=__cxa_atexit
    -static-libstdc++ -static-libgcc)
  set_target_properties(${TARGET} PROPERTIES LINK_DEPENDS ${EXPORTS})
endfunction()
