# Compilers are called through ccache where there is one. Whether there is one is decided when a build folder is
# configured for the first time and then kept: a ccache that is installed later would change every command line, and
# everything would be compiled a second time.
if(NOT DEFINED CACHE{WT_CCACHE})
  find_program(ccache ccache NO_CACHE)
  if(NOT ccache)
    set(ccache "")
  endif()
  set(WT_CCACHE "${ccache}" CACHE STRING "Program that compilers are called through; empty: none")
endif()
foreach(language C CXX)
  if(WT_CCACHE AND NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER)
    set(CMAKE_${language}_COMPILER_LAUNCHER ${WT_CCACHE})
  endif()
endforeach()
