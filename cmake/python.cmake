# Python, for the tests: the interpreter itself. What stands in the PATH may be a script that first looks for one
# (pyenv's does, for a tenth of a second each time), and there are five hundred tests in Python.
if(NOT DEFINED Python3_EXECUTABLE)
  find_program(python python3 NO_CACHE)
  if(python)
    execute_process(COMMAND ${python} -c "import sys; print(sys.executable)" OUTPUT_VARIABLE python ERROR_QUIET
                    OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE status)
    if(status EQUAL 0)
      set(Python3_EXECUTABLE ${python} CACHE FILEPATH "Python interpreter of the tests")
    endif()
  endif()
endif()

# The command of a test in Python: without what the machine has installed beside Python's own library. Tests use none of it,
# and only to look for it costs up to four fifths of a start.
set(WT_PYTHON Python3::Interpreter -S)
