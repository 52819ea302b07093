# Installs the Python files of `source` below CMAKE_INSTALL_PREFIX, where Python looks for them when it looks below that
# prefix at all: /usr/local/lib/python3.11/dist-packages, say, in Debian.
set(destination "")
foreach(python /usr/bin/python3 python3)
  execute_process(COMMAND ${python} -c "import site\nprint('\\n'.join(site.getsitepackages()))"
    OUTPUT_VARIABLE folders ERROR_QUIET)
  string(REPLACE "\n" ";" folders "${folders}")
  foreach(folder ${folders})
    string(FIND "${folder}" "${CMAKE_INSTALL_PREFIX}/lib" at)
    if(at EQUAL 0 AND NOT destination)
      set(destination "${folder}")
    endif()
  endforeach()
endforeach()
if(NOT destination)
  set(destination "${CMAKE_INSTALL_PREFIX}/lib/python3/dist-packages")
  message(STATUS "Python does not look below ${CMAKE_INSTALL_PREFIX}: set PYTHONPATH=${destination}")
endif()
file(INSTALL "${source}" DESTINATION "${destination}" FILES_MATCHING PATTERN "*.py")
