// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "r3core/notes.h"
#include "r3core/recorder.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace r3::hip {

/// A kernel as the program names it.
struct Function {
  const void *wrapper = nullptr; ///< its fat binary's; null in a module that the program loaded
  std::string name;
  bool resolved = false;
  Kernel *kernel = nullptr; ///< its counts
  std::vector<Parameter> parameters;
  const Note *note = nullptr;              ///< null where nothing is known of its code
  std::atomic<bool> missedDeadline{false}; ///< a snapshot of it was once waited for in vain
};

/// What the program has registered. All members may be called from any thread.
class Registry {
public:
  void addBinary(void **handle, const void *wrapper);
  void addFunction(void **binary, const void *stub, const char *name);
  void addVariable(void **binary, const void *shadow, const char *name);
  /// A kernel of a module that the program loaded itself, by its handle.
  void addModuleFunction(const void *handle, const char *name);

  /// The kernel behind a host stub or a handle, its counts made; null for one that is not known.
  std::shared_ptr<Function> function(const void *stub, const std::string &architecture,
                                     const std::string &device, Recorder &recorder);
  /// The host shadow of a variable of the function's binary; null without.
  const void *shadow(const Function &function, const std::string &name);

private:
  std::vector<const Note *> notesOf(const Function &function);
  void resolve(Function &function, const std::string &architecture, const std::string &device,
               Recorder &recorder);

  std::mutex mutex_;
  NoteIndex notes_;
  std::map<void **, const void *> wrappers_;
  std::map<const void *, std::shared_ptr<Function>> functions_;
  std::map<std::pair<const void *, std::string>, const void *> shadows_;
};

} // namespace r3::hip
