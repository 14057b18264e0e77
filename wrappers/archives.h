// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Units of device functions alone in static archives: a host linker leaves them out, and their IR with them.
#ifndef R3_WRAPPERS_ARCHIVES_H
#define R3_WRAPPERS_ARCHIVES_H

#include <string>
#include <vector>

namespace r3 {

/// For a link of relocatable device code: flags by which the linker takes such units of the archives on the
/// command line. Takes expanded arguments without the program's name.
std::vector<std::string> deviceUnitFlags(const std::vector<std::string> &Arguments);

} // namespace r3

#endif
