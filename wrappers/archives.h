// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Units of device functions alone in static archives: a host linker leaves them out, and their IR with them.
#ifndef R3_WRAPPERS_ARCHIVES_H
#define R3_WRAPPERS_ARCHIVES_H

#include <set>
#include <string>
#include <vector>

namespace r3 {

/// For a link of relocatable device code: flags by which the linker takes such units of the archives on the
/// command line. Takes expanded arguments without the program's name.
std::vector<std::string> deviceUnitFlags(const std::vector<std::string> &Arguments);

/// The archives that a command names, by path or as -lNAME in the folders of its -L; not all of them exist.
std::vector<std::string> archivesOf(const std::vector<std::string> &Arguments);

/// The symbols that such units of the archives are known by.
std::set<std::string> deviceUnits(const std::vector<std::string> &Archives);

} // namespace r3

#endif
