# Tests of a build without models (OUTGROW_MODELS=OFF).
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/cache) # nothing is kept in the home of the user
file(GLOB SUPPORT_SOURCES CONFIGURE_DEPENDS support/files.c support/folder.c support/runs.c)
foreach(name test_loader test_loader_calls test_loader_places test_loader_threads)
  add_executable(${name} loader/${name}.c ${SUPPORT_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE outgrow_static outgrow_flags PkgConfig::DEPS ${CMOCKA_LIBRARY} Threads::Threads m)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300 ENVIRONMENT XDG_CACHE_HOME=${CMAKE_CURRENT_BINARY_DIR}/cache)
endforeach()

# The other commands work; those that compute say in one line that they cannot.
add_test(NAME without_models COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/runs/without_models.sh $<TARGET_FILE:outgrow> $<TARGET_FILE:outgrow_shared>)
set_tests_properties(without_models PROPERTIES TIMEOUT 60 ENVIRONMENT XDG_CACHE_HOME=${CMAKE_CURRENT_BINARY_DIR}/cache)
