# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# find_package(R3CC): R3 for single targets, in a project that is configured with clang as its CUDA compiler.
#
#   find_package(R3CC REQUIRED)
#   add_executable(app app.cu)
#   r3cc_enable(app)
#
# R3CC_LAUNCHER, R3CC_CLANG, R3CC_CLANGXX and R3CC_NVCC are the paths of r3-launch, r3-clang, r3-clang++ and r3-nvcc. A
# project whose CUDA compiler is r3-clang++ already needs none of this: r3cc_enable then changes nothing.

# Installed, this file is PREFIX/lib/r3cc/cmake/R3CCConfig.cmake and the compilers are in PREFIX/bin.
get_filename_component(R3CC_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
foreach(r3cc_name LAUNCHER=r3-launch CLANG=r3-clang CLANGXX=r3-clang++ NVCC=r3-nvcc)
  string(REPLACE "=" ";" r3cc_name "${r3cc_name}")
  list(GET r3cc_name 0 r3cc_variable)
  list(GET r3cc_name 1 r3cc_program)
  set(R3CC_${r3cc_variable} "${R3CC_PREFIX}/bin/${r3cc_program}")
  if(NOT EXISTS "${R3CC_${r3cc_variable}}")
    set(R3CC_FOUND FALSE)
    set(R3CC_NOT_FOUND_MESSAGE "${R3CC_${r3cc_variable}} is missing; install R3 again.")
    return()
  endif()
endforeach()

# Puts the IR of a target's device code into its objects.
function(r3cc_enable target)
  if(NOT TARGET ${target})
    message(FATAL_ERROR "r3cc_enable: there is no target '${target}'.")
  endif()
  foreach(language CUDA HIP CXX)
    set(compiler "${CMAKE_${language}_COMPILER}")
    if(NOT compiler OR compiler MATCHES "/r3-[^/]*$")
      continue()
    endif()
    if(language STREQUAL CUDA AND NOT CMAKE_CUDA_COMPILER_ID STREQUAL Clang)
      message(FATAL_ERROR "r3cc_enable: the CUDA compiler is ${compiler}, and R3 needs clang 22: configure with "
        "-DCMAKE_CUDA_COMPILER=${R3CC_CLANGXX}.")
    endif()
    if(CMAKE_${language}_COMPILER_ID STREQUAL Clang)
      get_target_property(launcher ${target} ${language}_COMPILER_LAUNCHER)
      if(NOT launcher)
        set(launcher "")
      endif()
      # In front of a compiler cache: the cache then sees R3's flags and keys its entries by them.
      set_property(TARGET ${target} PROPERTY ${language}_COMPILER_LAUNCHER "${R3CC_LAUNCHER}" ${launcher})
    endif()
  endforeach()
endfunction()
