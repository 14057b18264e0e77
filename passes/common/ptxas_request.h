// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a tuned unit tells the program in ptxas' place (wrappers/ptxas.h) which flags its profile asks for: by
// lines of its PTX, which are comments to ptxas itself. No LLVM here, because the wrapper includes it.
#ifndef R3_COMMON_PTXAS_REQUEST_H
#define R3_COMMON_PTXAS_REQUEST_H

namespace r3::ptxas {

/// Followed by one flag.
inline constexpr const char *FlagComment = "// r3-ptxas: ";
/// Names the ptxas that clang would have run; set where R3's program stands in its place.
inline constexpr const char *RealVariable = "R3_REAL_PTXAS";

} // namespace r3::ptxas

#endif
