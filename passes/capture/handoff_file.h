// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The plugin's end of the hand-off (common/handoff.h).
#ifndef R3_CAPTURE_HANDOFF_FILE_H
#define R3_CAPTURE_HANDOFF_FILE_H

#include "common/handoff.h"

#include <optional>
#include <string>
#include <vector>

namespace r3 {

/// A captured device module on its way into the host object.
struct CapturedModule {
  std::string unit; ///< Cc1Command::unit() of its source
  std::string architecture;
  std::string json; ///< docs/binary-format.md, complete
  std::string bitcode;
};

/// What the user typed, and where.
struct UserCommand {
  std::string directory;
  std::vector<std::string> arguments;
};

/// Started by an R3 wrapper, a compilation inherits the file. Otherwise (--config, -fpass-plugin) the device
/// compilation makes one among the temporary files that only the host compilation of the same driver command
/// and source finds, and removes.
class HandoffFile {
public:
  /// The file that the environment names; nothing when the compiler was not started by an R3 wrapper.
  static std::optional<HandoffFile> inherited();

  /// The inherited file, else a temporary one; nothing where none can be made.
  static std::optional<HandoffFile> forDevice();

  /// The inherited file, else the temporary one that this source's device compilation has made.
  static std::optional<HandoffFile> forHost();

  UserCommand userCommand() const;

  /// False if the module could not be written, for lack of memory.
  bool add(const CapturedModule &Module) const;

  /// Removes and returns the modules of one source, in the order of their compilation.
  std::vector<CapturedModule> take(const std::string &Unit) const;

  /// True for the first process of this command that asks to say Sentence.
  bool sayFirst(const std::string &Sentence) const;

private:
  explicit HandoffFile(int Fd) : Fd(Fd) {}

  std::vector<handoff::Record> records() const;

  int Fd; ///< open for as long as this process
};

} // namespace r3

#endif
