# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What CMake's HIP language links, for a ROCm that has no such package where CMake asks for it: Debian's is elsewhere, and wants
# the clang of its own time. Headers and device libraries come by --r3-rocm.
if(NOT TARGET hip-lang::device)
  find_library(R3_AMDHIP64 amdhip64 PATHS /usr/lib/x86_64-linux-gnu) # a try_compile knows no such folder
  mark_as_advanced(R3_AMDHIP64)
  if(NOT R3_AMDHIP64)
    set(hip-lang_FOUND FALSE)
    set(hip-lang_NOT_FOUND_MESSAGE
      "libamdhip64.so was not found; install ROCm's HIP runtime (Debian: libamdhip64-dev), or name a ROCm tree by -DCMAKE_HIP_COMPILER_ROCM_ROOT=.")
    return()
  endif()
  add_library(hip-lang::amdhip64 SHARED IMPORTED)
  set_target_properties(hip-lang::amdhip64 PROPERTIES IMPORTED_LOCATION "${R3_AMDHIP64}")
  add_library(hip-lang::host INTERFACE IMPORTED)
  set_target_properties(hip-lang::host PROPERTIES INTERFACE_LINK_LIBRARIES hip-lang::amdhip64)
  add_library(hip-lang::device INTERFACE IMPORTED)
  set_target_properties(hip-lang::device PROPERTIES INTERFACE_LINK_LIBRARIES hip-lang::host
    INTERFACE_LINK_OPTIONS "$<$<LINK_LANGUAGE:HIP>:--hip-link>")
endif()
set(_CMAKE_HIP_DEVICE_RUNTIME_TARGET hip-lang::device)
