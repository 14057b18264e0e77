// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --r3-use=FILE and R3_USE: the profile that a build takes. The plugin reads it; the wrapper only names it.
#ifndef R3_WRAPPERS_PROFILE_H
#define R3_WRAPPERS_PROFILE_H

#include <string>
#include <vector>

namespace r3 {

/// The arguments without --r3-use=FILE, which the environment has from here on; the last one counts, and an
/// empty FILE means none.
std::vector<std::string> withProfile(const std::vector<std::string> &User);

/// What a device compilation with a profile needs: the profile in its dependency file, and
/// R3's program before ptxas. Takes expanded
/// arguments; ends the wrapper where the profile could not act.
std::vector<std::string> profileFlags(const std::vector<std::string> &Expanded);

} // namespace r3

#endif
