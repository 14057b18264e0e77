// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "r3core/notes.h"
#include "r3core/recorder.h"

#include <map>
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
  std::vector<std::pair<std::string, std::uint64_t>> globals; ///< names and sizes of those that it may change
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
  Function *function(const void *stub, const std::string &architecture, const std::string &device,
                     Recorder &recorder);
  /// The host shadow of a variable of the function's binary; null without.
  const void *shadow(const Function &function, const std::string &name);

private:
  void resolve(Function &function, const std::string &architecture, const std::string &device,
               Recorder &recorder);

  std::mutex mutex_;
  NoteIndex notes_;
  std::map<void **, const void *> wrappers_;
  std::map<const void *, Function> functions_;
  std::map<std::pair<const void *, std::string>, const void *> shadows_;
};

} // namespace r3::hip
