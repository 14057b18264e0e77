// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which libamdhip64 the process was given: a few values changed between the major versions.
#ifndef R3CPU_HIP_VERSION_H
#define R3CPU_HIP_VERSION_H

namespace r3::cpu::hip {

/// 5 or 6: by the libamdhip64.so that is loaded, 6 if none is.
int majorVersion();

} // namespace r3::cpu::hip

#endif
