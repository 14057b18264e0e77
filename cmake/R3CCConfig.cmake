# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# find_package(R3CC): R3 for single targets, in a project that is configured with clang as its CUDA compiler.
#
#   find_package(R3CC REQUIRED)
#   add_executable(app app.cu)
#   r3cc_enable(app)                                   # its objects carry the IR of their device code
#   r3cc_tuned(app PROFILE tuned.r3.json)              # or: it is built with the winners of a search
#
# R3CC_LAUNCHER, R3CC_CLANG, R3CC_CLANGXX and R3CC_NVCC are the paths of r3-launch, r3-clang, r3-clang++ and r3-nvcc. A
# project whose CUDA compiler is r3-clang++ needs no r3cc_enable, which then changes nothing.

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
      elseif(R3CC_LAUNCHER IN_LIST launcher)
        continue()
      endif()
      # In front of a compiler cache: the cache then sees R3's flags and keys its entries by them.
      set_property(TARGET ${target} PROPERTY ${language}_COMPILER_LAUNCHER "${R3CC_LAUNCHER}" ${launcher})
    endif()
  endforeach()
endfunction()

# Builds a target with the winners of a search: r3cc_tuned(target PROFILE tuned.r3.json)
function(r3cc_tuned target)
  cmake_parse_arguments(PARSE_ARGV 1 R3CC "" "PROFILE" "")
  if(NOT R3CC_PROFILE OR R3CC_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "r3cc_tuned takes a target and its profile: r3cc_tuned(app PROFILE tuned.r3.json)")
  endif()
  get_filename_component(profile "${R3CC_PROFILE}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
  if(NOT EXISTS "${profile}")
    message(FATAL_ERROR "r3cc_tuned: there is no ${profile}; `r3 apply -o` writes it.")
  endif()
  r3cc_enable(${target})
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA,HIP>:--r3-use=${profile}>)
endfunction()
