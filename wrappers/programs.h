// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs and files around the wrapper: where it lies itself, and what PATH leads to.
#ifndef R3_WRAPPERS_PROGRAMS_H
#define R3_WRAPPERS_PROGRAMS_H

#include <string>
#include <string_view>

namespace r3 {

/// The value of a variable, empty if it isn't set.
std::string environment(const char *Name);
/// Whether a variable is 1.
bool isSet(const char *Name);

bool isFile(const std::string &Path);
bool isProgram(const std::string &Path);
bool isSameFile(const std::string &Left, const std::string &Right);

std::string directoryOf(const std::string &Path);
std::string baseName(const std::string &Path);
/// Path with links resolved; Path itself where that fails.
std::string realPath(const std::string &Path);

/// The path of this wrapper's own program file, links resolved.
std::string ownPath();
/// The path by which this program was started, links not resolved.
std::string calledPath();
/// The prefix that R3 is installed under: R3_PREFIX, else the wrapper's own folder's parent.
std::string prefix();
/// A file under lib/r3cc of that prefix.
std::string libraryFile(std::string_view Name);

/// The first program of that name on PATH that isn't R3's; empty if there is none. A name with a slash is a
/// path.
std::string findOnPath(const std::string &Name);

} // namespace r3

#endif
