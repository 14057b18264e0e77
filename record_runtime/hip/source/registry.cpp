// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "registry.h"

namespace r3::hip {

void Registry::addBinary(void **handle, const void *wrapper) {
  std::lock_guard lock(mutex_);
  wrappers_[handle] = wrapper;
}

void Registry::addFunction(void **binary, const void *stub, const char *name) {
  auto function = std::make_shared<Function>();
  function->name = name;
  std::lock_guard lock(mutex_);
  function->wrapper = wrappers_[binary];
  functions_[stub] = std::move(function);
}

void Registry::addVariable(void **binary, const void *shadow, const char *name) {
  std::lock_guard lock(mutex_);
  shadows_[{wrappers_[binary], name}] = shadow;
}

void Registry::addModuleFunction(const void *handle, const char *name) {
  auto function = std::make_shared<Function>();
  function->name = name;
  std::lock_guard lock(mutex_);
  functions_[handle] = std::move(function);
}

std::shared_ptr<Function> Registry::function(const void *stub, const std::string &architecture,
                                             const std::string &device, Recorder &recorder) {
  std::lock_guard lock(mutex_);
  auto found = functions_.find(stub);
  if (found == functions_.end())
    return nullptr;
  if (!found->second->resolved)
    resolve(*found->second, architecture, device, recorder);
  return found->second;
}

const void *Registry::shadow(const Function &function, const std::string &name) {
  std::lock_guard lock(mutex_);
  auto found = shadows_.find({function.wrapper, name});
  return found == shadows_.end() ? nullptr : found->second;
}

std::vector<const Note *> Registry::notesOf(const Function &function) {
  if (!function.wrapper)
    return {};
  std::vector<const Note *> own = notes_.byWrapper(function.wrapper);
  return own.empty() ? notes_.byKernel(objectPath(function.wrapper), function.name) : own;
}

void Registry::resolve(Function &function, const std::string &architecture, const std::string &device,
                       Recorder &recorder) {
  function.resolved = true;
  KernelDescription description;
  description.name = function.name;
  description.device = device;
  for (const Note *note : notesOf(function))
    if (const NoteKernel *kernel =
            note->architecture == architecture ? note->kernel(function.name) : nullptr) {
      function.note = note;
      function.parameters = description.parameters = kernel->parameters;
      if (kernel->textures)
        description.notRecordable = "it reads textures or surfaces, whose handles mean nothing at replay";
      break;
    }
  if (function.note) {
    description.module = function.note->module;
    recorder.addModule(*function.note);
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
