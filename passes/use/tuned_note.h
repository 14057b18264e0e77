// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a tuned build says of itself: the JSON of its note (docs/binary-format.md), made by the device
// compilation and completed by the host compilation.
#ifndef R3_USE_TUNED_NOTE_H
#define R3_USE_TUNED_NOTE_H

#include "capture/handoff_file.h"
#include "use/choice.h"
#include "use/version.h"

#include "llvm/Support/JSON.h"

#include <string>
#include <vector>

namespace llvm {
class Module;
}

namespace r3 {

/// What the profile did to one kernel.
struct KernelOutcome {
  std::string name;
  Choice choice;
  bool applied = false; ///< its entry holds
  std::optional<KernelVersion> version =
      {}; ///< what the entry's pipeline and options hold for; none: the kernel
  std::vector<std::string> notes = {};
};

/// The "profile" and "kernels" of a note.
llvm::json::Object describeProfile(const Profile &Used);
llvm::json::Object describeOutcome(const KernelOutcome &Outcome);
/// A version is one more kernel of the note.
llvm::json::Object describeVersion(const KernelOutcome &Outcome);

/// Whether a profile was used for the module.
bool isTuned(const CapturedModule &Captured);

/// Puts the launch rules and the choice of versions of these device modules, all of one unit, into its host
/// code, and writes into their JSON what came of it.
void applyLaunchChanges(llvm::Module &Host, std::vector<CapturedModule> &Modules);

} // namespace r3

#endif
