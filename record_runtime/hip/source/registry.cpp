// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "registry.h"

namespace r3::hip {

void Registry::addBinary(void **handle, const void *wrapper) {
  std::lock_guard lock(mutex_);
  wrappers_[handle] = wrapper;
}

void Registry::addFunction(void **binary, const void *stub, const char *name) {
  std::lock_guard lock(mutex_);
  Function &function = functions_[stub];
  function = Function();
  function.wrapper = wrappers_[binary];
  function.name = name;
}

void Registry::addVariable(void **binary, const void *shadow, const char *name) {
  std::lock_guard lock(mutex_);
  shadows_[{wrappers_[binary], name}] = shadow;
}

void Registry::addModuleFunction(const void *handle, const char *name) {
  std::lock_guard lock(mutex_);
  Function &function = functions_[handle];
  function = Function();
  function.name = name;
}

Function *Registry::function(const void *stub, const std::string &architecture, const std::string &device,
                             Recorder &recorder) {
  std::lock_guard lock(mutex_);
  auto found = functions_.find(stub);
  if (found == functions_.end())
    return nullptr;
  if (!found->second.resolved)
    resolve(found->second, architecture, device, recorder);
  return &found->second;
}

const void *Registry::shadow(const Function &function, const std::string &name) {
  std::lock_guard lock(mutex_);
  auto found = shadows_.find({function.wrapper, name});
  return found == shadows_.end() ? nullptr : found->second;
}

void Registry::resolve(Function &function, const std::string &architecture, const std::string &device,
                       Recorder &recorder) {
  function.resolved = true;
  KernelDescription description;
  description.name = function.name;
  description.device = device;
  const NoteKernel *described = nullptr;
  std::vector<const Note *> notes;
  if (function.wrapper)
    notes = notes_.byWrapper(function.wrapper);
  for (const Note *note : notes) {
    if (note->architecture != architecture || !(described = note->kernel(function.name)))
      continue;
    recorder.addModule(*note);
    description.module = note->module;
    for (const std::string &name : described->globals)
      if (const NoteGlobal *global = note->global(name); global && global->isMutable)
        function.globals.emplace_back(name, global->size);
    break;
  }
  if (described) {
    function.parameters = description.parameters = described->parameters;
  } else {
    std::string binary = function.wrapper ? objectPath(function.wrapper) : "";
    description.module = "foreign:" + (function.wrapper ? binary : "loaded module");
    description.notRecordable = function.wrapper ? "its binary carries no IR for " + architecture
                                                 : "the program loaded its module itself";
    recorder.addForeignModule(description.module, binary);
  }
  function.kernel = &recorder.addKernel(description);
}

} // namespace r3::hip
