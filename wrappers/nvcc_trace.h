// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What nvcc -v says of itself, for build systems that read it.
#ifndef R3_WRAPPERS_NVCC_TRACE_H
#define R3_WRAPPERS_NVCC_TRACE_H

#include "nvcc_command.h"

#include <string>

namespace r3 {

/// The lines "#$ …" of nvcc -v and -dryrun: the toolkit, its folders, the GPUs, and the link. CMake takes its
/// toolkit, its linker and the GPUs that a command without any compiles for from them.
std::string nvccTrace(const std::string &Compiler, const ClangCommand &Command);

} // namespace r3

#endif
