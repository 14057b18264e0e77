// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Module-scope values: one code generation makes a unit's code, so they hold for all of it.
#ifndef R3_USE_UNIT_OPTIONS_H
#define R3_USE_UNIT_OPTIONS_H

#include "replay/request.h"
#include "use/profile.h"

#include "llvm/Passes/PassBuilder.h"

namespace llvm {
class TargetMachine;
}

namespace r3 {

/// How the user's flags have this unit compiled. LLVM's options are not in it, because the process has them.
CompileRequest unitRequest(const llvm::TargetMachine &Machine, const llvm::PipelineTuningOptions &Tuning,
                           llvm::StringRef Pipeline);

/// The same with what an entry has put over it.
CompileRequest requestFor(const ProfileEntry &Entry, CompileRequest Unit);

/// Gives the unit an entry's code-generation level, FP fusion and LLVM options. Notes say what a reader would
/// not expect. Fails where LLVM refuses an option.
llvm::Error applyToUnit(const ProfileEntry &Entry, llvm::TargetMachine &Machine,
                        std::vector<std::string> &Notes);

/// Lines for the unit's PTX that ask r3-ptxas for the entry's flags; empty where it has none.
std::string ptxasComments(const ProfileEntry &Entry);

} // namespace r3

#endif
