// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a program has registered: fat binaries, kernels by the address of their host stub, variables by that
// of their host shadow.
#ifndef R3CPU_CUDART_REGISTRY_H
#define R3CPU_CUDART_REGISTRY_H

#include "module.h"

#include "r3core/notes.h"
#include "r3core/recorder.h"

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace r3::cpu::cudart {

/// A fat binary and, once it is needed, the lowered module that runs in its place.
class Binary {
public:
  explicit Binary(const void *wrapper) : wrapper_(wrapper) {}

  /// Loads the module on first use. Throws EngineError with one sentence that says what is missing.
  r3cpu_module &module(NoteIndex &notes);
  /// The note of the module in use. Valid after module().
  const Note &note() const { return *note_; }
  /// A pointer that the module's variable of that name gets when the module is loaded.
  void setPointer(std::string name, void *memory) { pointers_.emplace_back(std::move(name), memory); }

private:
  const void *wrapper_;
  const Note *note_ = nullptr;
  std::unique_ptr<r3cpu_module> module_;
  std::vector<std::pair<std::string, void *>> pointers_;
};

/// A kernel as the program names it.
struct Function {
  Binary *binary;
  std::string name;
  r3cpu_kernel *kernel = nullptr; ///< once resolved
  r3::Kernel *recorded = nullptr; ///< its counts, when a recording runs
};

struct Variable {
  Binary *binary;
  std::string name;
};

/// The address and size of a variable's memory on the device.
struct VariableMemory {
  void *address;
  size_t size;
};

/// All members may be called from any thread.
class Registry {
public:
  Binary *addBinary(const void *wrapper);
  void addFunction(Binary *binary, const void *stub, const char *name);
  void addVariable(Binary *binary, const void *shadow, const char *name);
  /// HIP's managed variables: the module's variable `name` is a pointer, which shall lead to `memory`.
  void addManaged(Binary *binary, const char *name, void *memory);

  /// The kernel behind a host stub, its module loaded. Throws EngineError.
  Function &function(const void *stub);
  /// Throws EngineError.
  VariableMemory variable(const void *shadow);

private:
  std::recursive_mutex mutex_;
  NoteIndex notes_;
  std::vector<std::unique_ptr<Binary>> binaries_;
  std::unordered_map<const void *, Function> functions_;
  std::unordered_map<const void *, Variable> variables_;
};

} // namespace r3::cpu::cudart

#endif
