# A first build compiles several sources together (tools/units): each header is read once a unit. Names
# of a source that another one shadows are warned of by the builds that compile them one by one.
find_program(AWK awk)

function(og_units target)
  get_target_property(sources ${target} SOURCES)
  list(TRANSFORM sources PREPEND "${PROJECT_SOURCE_DIR}/" REGEX "^[^/]")
  list(FILTER sources INCLUDE REGEX "\\.c$")
  execute_process(COMMAND ${AWK} -f ${PROJECT_SOURCE_DIR}/tools/units MOST=8 ${sources}
    OUTPUT_VARIABLE lines RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    return() # one by one, then
  endif()
  string(REGEX MATCHALL "[^\n]+" lines "${lines}")
  foreach(line ${lines})
    string(REGEX MATCH "^([0-9]+) (.*)$" line "${line}")
    set_source_files_properties("${CMAKE_MATCH_2}" PROPERTIES UNITY_GROUP "${CMAKE_MATCH_1}")
  endforeach()
  # Tests replace functions of these sources (--wrap). Callers in the same unit would not see that.
  set_source_files_properties(src/flow/exchange_place.c PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  # A test includes this source. What else its unit had would come with it twice.
  set_source_files_properties(src/io/uring.c PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sources}) # what a source defines may change
endfunction()
