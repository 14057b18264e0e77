// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "registry.h"

#include "late_modules.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace r3::cpu::cudart {

namespace {

int architectureNumber(const Note &note) {
  size_t digits = note.architecture.find_first_of("0123456789");
  return digits == std::string::npos ? 0 : std::atoi(note.architecture.c_str() + digits);
}

std::string modulePath(const Note &note) {
  const char *directory = std::getenv("R3_CPU_MODULES");
  if (!directory || !*directory)
    throw EngineError(
        R3CPU_BAD_MODULE,
        "R3_CPU_MODULES names no directory of lowered modules: start the program with 'r3 record "
        "--device cpu --'");
  return std::string(directory) + "/" + note.module + ".so";
}

const Note *firstCompiled(const std::vector<const Note *> &notes) {
  auto found = std::find_if(notes.begin(), notes.end(),
                            [](const Note *note) { return access(modulePath(*note).c_str(), R_OK) == 0; });
  return found == notes.end() ? nullptr : *found;
}

// Any architecture's module computes the same; the newest has the least code for old hardware.
const Note &chooseNote(std::vector<const Note *> notes) {
  if (notes.empty())
    throw EngineError(R3CPU_BAD_MODULE, "this program carries no R3 note for its kernels: build it with "
                                        "r3-clang++ or r3-hipcc");
  std::sort(notes.begin(), notes.end(),
            [](const Note *a, const Note *b) { return architectureNumber(*a) > architectureNumber(*b); });
  if (const Note *compiled = firstCompiled(notes))
    return *compiled;
  compileModulesOf(notes.front()->binary);
  if (const Note *compiled = firstCompiled(notes))
    return *compiled;
  throw EngineError(R3CPU_BAD_MODULE, "module " + notes.front()->module.substr(0, 12) + " of '" +
                                          notes.front()->binary +
                                          "' has not been compiled for the cpu device: '" +
                                          modulePath(*notes.front()) + "' is missing");
}

} // namespace

r3cpu_module &Binary::module(NoteIndex &notes) {
  if (!module_) {
    std::vector<const Note *> own = notes.byWrapper(wrapper_);
    note_ = &chooseNote(own.empty() ? notes.relocatable(objectPath(wrapper_)) : own);
    module_ = std::make_unique<r3cpu_module>(modulePath(*note_));
    for (auto &[name, memory] : pointers_)
      if (const r3cpu_global_entry *global = module_->findGlobal(name);
          global && global->size == sizeof memory)
        std::memcpy(global->address, &memory, sizeof memory);
  }
  return *module_;
}

Binary *Registry::addBinary(const void *wrapper) {
  std::lock_guard lock(mutex_);
  binaries_.push_back(std::make_unique<Binary>(wrapper));
  return binaries_.back().get();
}

void Registry::addFunction(Binary *binary, const void *stub, const char *name) {
  std::lock_guard lock(mutex_);
  functions_[stub] = Function{binary, name};
}

void Registry::addVariable(Binary *binary, const void *shadow, const char *name) {
  std::lock_guard lock(mutex_);
  variables_[shadow] = Variable{binary, name};
}

void Registry::addManaged(Binary *binary, const char *name, void *memory) {
  std::lock_guard lock(mutex_);
  binary->setPointer(name, memory);
}

Function &Registry::function(const void *stub) {
  std::lock_guard lock(mutex_);
  auto found = functions_.find(stub);
  if (found == functions_.end())
    throw EngineError(R3CPU_NOT_FOUND,
                      "the program launches a function that it has not registered as a kernel");
  Function &function = found->second;
  if (!function.kernel) {
    function.kernel = function.binary->module(notes_).findKernel(function.name);
    if (!function.kernel)
      throw EngineError(R3CPU_NOT_FOUND, "kernel '" + function.name + "' is not in module " +
                                             function.binary->note().module.substr(0, 12));
  }
  return function;
}

VariableMemory Registry::variable(const void *shadow) {
  std::lock_guard lock(mutex_);
  auto found = variables_.find(shadow);
  if (found == variables_.end())
    throw EngineError(R3CPU_NOT_FOUND,
                      "the program names a symbol that it has not registered as a device variable");
  Variable &variable = found->second;
  const r3cpu_global_entry *global = variable.binary->module(notes_).findGlobal(variable.name);
  if (!global)
    throw EngineError(R3CPU_NOT_FOUND, "variable '" + variable.name + "' is not in module " +
                                           variable.binary->note().module.substr(0, 12));
  return {global->address, global->size};
}

} // namespace r3::cpu::cudart
