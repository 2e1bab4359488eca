# The plugin for CUDA, liboutgrow_cuda.so. nvcc makes it of the kernels that the virtual device has
# as C; nothing else of Outgrow knows CUDA.
find_program(NVCC nvcc PATHS /usr/local/cuda/bin)
if(NOT NVCC)
  message(NOTICE "outgrow: CUDA: nvcc is neither in PATH nor in /usr/local/cuda/bin; CUDA 13 brings it")
  message(NOTICE "hint: make PRESET=release")
  message(FATAL_ERROR "not configured: a dependency is missing")
endif()
# It is installed by halves where the compiler is there without headers or cuBLAS.
set(sample ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/cuda.cu)
file(WRITE ${sample} "#include <cublasLt.h>\nint probe(void)\n{\n    cublasLtHandle_t handle;\n    return cublasLtCreate(&handle);\n}\n")
execute_process(COMMAND ${NVCC} -shared -cudart static -Xcompiler -fPIC ${sample} -Xlinker -z,defs -lcublasLt -o ${sample}.so
  RESULT_VARIABLE status OUTPUT_VARIABLE words ERROR_VARIABLE words)
if(NOT status EQUAL 0)
  string(REGEX MATCH "[^\n]*(rror|cannot find)[^\n]*" words "${words}")
  message(NOTICE "outgrow: CUDA: a program with cublasLt.h does not compile and link by ${NVCC}: ${words}")
  message(NOTICE "hint: make PRESET=release")
  message(FATAL_ERROR "not configured: a dependency is missing")
endif()
set(OUTGROW_CUDA_ARCHITECTURES 80 90 CACHE STRING "GPUs that the plugin is compiled for; newer ones compile the last for themselves")

set(flags -std=c++20 -O3 -D_GNU_SOURCE -Werror all-warnings
  -Xcompiler -fPIC,-fvisibility=hidden,-Wall,-Wextra,-Wno-missing-field-initializers,-Werror
  -I${PROJECT_SOURCE_DIR}/src -I${PROJECT_SOURCE_DIR}/include -I${RANDOM123_INCLUDE})
foreach(sm ${OUTGROW_CUDA_ARCHITECTURES})
  list(APPEND flags -gencode arch=compute_${sm},code=sm_${sm})
endforeach()
list(GET OUTGROW_CUDA_ARCHITECTURES -1 newest)
set(sorted ${OUTGROW_CUDA_ARCHITECTURES})
list(SORT sorted COMPARE NATURAL)
list(GET sorted 0 least)
string(REGEX MATCH "^[0-9]+" least ${least})
list(APPEND flags -DOG_LEAST_GPU=${least}) # its compute capability, ten times
list(APPEND flags -gencode arch=compute_${newest},code=compute_${newest})

file(GLOB CUDA_SOURCES CONFIGURE_DEPENDS src/device/*.cu src/nn/device/*.cu src/nn/device/kernel_*.c)
foreach(source ${CUDA_SOURCES})
  get_filename_component(name ${source} NAME)
  set(object ${CMAKE_CURRENT_BINARY_DIR}/cuda/${name}.o)
  add_custom_command(OUTPUT ${object}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/cuda
    COMMAND ${NVCC} ${flags} -MD -MT ${object} -MF ${object}.d -x cu -c ${source} -o ${object}
    DEPENDS ${source} DEPFILE ${object}.d VERBATIM
    COMMENT "Compiling ${name} for CUDA")
  list(APPEND CUDA_OBJECTS ${object})
endforeach()

# Linking fails if a symbol is undefined (-z defs). None is the driver's, so that the plugin loads without a driver.
set(plugin ${CMAKE_CURRENT_BINARY_DIR}/liboutgrow_cuda.so)
add_custom_command(OUTPUT ${plugin}
  COMMAND ${NVCC} -shared -cudart static -arch=sm_${newest} ${CUDA_OBJECTS} -Xlinker -z,defs -lcublasLt -o ${plugin}
  DEPENDS ${CUDA_OBJECTS} VERBATIM
  COMMENT "Linking liboutgrow_cuda.so")
add_custom_target(outgrow_cuda ALL DEPENDS ${plugin})
install(FILES ${plugin} DESTINATION ${CMAKE_INSTALL_LIBDIR}/outgrow COMPONENT command)
