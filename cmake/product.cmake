# What `make` builds, and what can be left out.
#
# wt_product(TARGET...)
#   These targets are what a user installs; the target `product` builds them, `all` builds tests and benchmarks too.
#
# wt_optional_part(VARIABLE PACKAGE WHAT DEBIAN_PACKAGE)
#   Resolves an ON/OFF/AUTO option by looking for PACKAGE: AUTO becomes ON where it is installed.
add_custom_target(product)

function(wt_product)
  add_dependencies(product ${ARGN})
endfunction()

macro(wt_optional_part VARIABLE PACKAGE WHAT DEBIAN_PACKAGE)
  if(${VARIABLE})
    find_package(${PACKAGE} QUIET)
    if(NOT ${PACKAGE}_FOUND AND NOT ${VARIABLE} STREQUAL "AUTO")
      message(FATAL_ERROR "${PACKAGE} not found: install it (package ${DEBIAN_PACKAGE}) or say -D${VARIABLE}=OFF")
    elseif(NOT ${PACKAGE}_FOUND)
      message(STATUS "${PACKAGE} not found: ${WHAT} cannot be built (package ${DEBIAN_PACKAGE})")
      set(${VARIABLE} OFF)
    else()
      set(${VARIABLE} ON)
    endif()
  endif()
endmacro()
