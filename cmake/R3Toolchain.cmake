# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# CMake toolchain file: CUDA, HIP and C++ by r3-clang++.
#
#   cmake -S . -B build --toolchain …/R3Toolchain.cmake [-DCMAKE_CUDA_ARCHITECTURES=90] [-DCUDAToolkit_ROOT=DIR]
#
# It only sets what is not set already. A project that names compiler, toolkit and architectures itself does not need
# it, except for one thing: up to 4.0, CMake identifies clang by compiling for sm_52, which CUDA 13 no longer knows.

# try_compile reads this file in a project of its own: hand it what was chosen.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CUDAToolkit_ROOT R3_CLANGXX)

# The newest toolkit of NVIDIA's Python packages that are installed beside a program of a virtual environment.
function(r3_toolkit_beside program result)
  get_filename_component(bin "${program}" DIRECTORY)
  file(GLOB toolkits "${bin}/../lib/python3*/site-packages/nvidia/cu1*/bin/nvcc")
  list(SORT toolkits COMPARE NATURAL ORDER DESCENDING)
  set(${result} "" PARENT_SCOPE)
  if(toolkits)
    list(GET toolkits 0 nvcc)
    get_filename_component(root "${nvcc}/../.." ABSOLUTE)
    set(${result} "${root}" PARENT_SCOPE)
  endif()
endfunction()

# Installed, this file is PREFIX/lib/r3cc/cmake/R3Toolchain.cmake and the compilers are in PREFIX/bin.
find_program(R3_CLANGXX r3-clang++ HINTS "${CMAKE_CURRENT_LIST_DIR}/../../../bin")
if(NOT R3_CLANGXX)
  message(FATAL_ERROR "r3-clang++ was not found: put its folder on PATH, or set R3_CLANGXX to its path.")
endif()
if(NOT CMAKE_CXX_COMPILER)
  set(CMAKE_CXX_COMPILER "${R3_CLANGXX}")
endif()
if(NOT CMAKE_CUDA_COMPILER)
  set(CMAKE_CUDA_COMPILER "${R3_CLANGXX}")
endif()
if(NOT CMAKE_HIP_COMPILER)
  set(CMAKE_HIP_COMPILER "${R3_CLANGXX}")
endif()

# CMake itself would take these, but not for identifying the compiler.
foreach(r3_variable CUDAToolkit_ROOT CUDA_PATH)
  if(NOT CUDAToolkit_ROOT AND DEFINED ENV{${r3_variable}})
    set(CUDAToolkit_ROOT "$ENV{${r3_variable}}")
  endif()
endforeach()
if(NOT CUDAToolkit_ROOT)
  r3_toolkit_beside("${R3_CLANGXX}" r3_toolkit)
  if(r3_toolkit)
    set(CUDAToolkit_ROOT "${r3_toolkit}")
  endif()
endif()

if(NOT CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
    OUTPUT_VARIABLE r3_capability ERROR_QUIET RESULT_VARIABLE r3_no_gpu)
  if(NOT r3_no_gpu AND r3_capability MATCHES "^([0-9]+)\\.([0-9]+)")
    set(CMAKE_CUDA_ARCHITECTURES "${CMAKE_MATCH_1}${CMAKE_MATCH_2}")
  else()
    set(CMAKE_CUDA_ARCHITECTURES 90)
  endif()
endif()

if(NOT CMAKE_CUDA_COMPILER_ID_TEST_FLAGS_FIRST)
  set(CMAKE_CUDA_COMPILER_ID_TEST_FLAGS_FIRST "--cuda-gpu-arch=sm_75")
  if(CUDAToolkit_ROOT)
    string(PREPEND CMAKE_CUDA_COMPILER_ID_TEST_FLAGS_FIRST "--cuda-path=\"${CUDAToolkit_ROOT}\" ")
  endif()
endif()

# The cpu device needs the shared runtime.
if(NOT CMAKE_CUDA_RUNTIME_LIBRARY)
  set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)
endif()
# clang 22 notes that CUDA 13.0 is newer than it knows. (The user's CMAKE_CUDA_FLAGS would replace CMAKE_CUDA_FLAGS_INIT.)
add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:-Wno-unknown-cuda-version>")

# HIP: what clang 22 needs for the installed ROCm, and a root with the package that CMake's HIP language links.
set(CMAKE_HIP_COMPILER_ID_TEST_FLAGS_FIRST "--r3-rocm -v")
add_compile_options("$<$<COMPILE_LANGUAGE:HIP>:--r3-rocm>")
add_link_options("$<$<LINK_LANGUAGE:HIP>:--r3-rocm>")
if(NOT CMAKE_HIP_COMPILER_ROCM_ROOT AND NOT DEFINED ENV{ROCM_PATH} AND NOT EXISTS /opt/rocm/lib/cmake/hip-lang)
  set(CMAKE_HIP_COMPILER_ROCM_ROOT "${CMAKE_CURRENT_LIST_DIR}/rocm")
endif()
