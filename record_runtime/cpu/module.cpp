// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "module.h"

#include <dlfcn.h>

using r3::cpu::EngineError;

uint32_t r3cpu_kernel::argumentSize() const {
  if (entry->parameter_count == 0)
    return 0;
  const r3cpu_parameter &last = entry->parameters[entry->parameter_count - 1];
  return last.offset + last.size;
}

// Modules call into this library by name, however it was loaded itself.
static void makeEngineVisible() {
  static const bool done = [] {
    Dl_info self;
    if (dladdr(reinterpret_cast<void *>(&makeEngineVisible), &self))
      dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
    return true;
  }();
  (void)done;
}

r3cpu_module::r3cpu_module(const std::string &path) : path_(path) {
  makeEngineVisible();
  handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle_)
    throw EngineError(R3CPU_BAD_MODULE, std::string("cannot load the module: ") + dlerror());
  table_ = static_cast<const r3cpu_module_table_t *>(dlsym(handle_, R3CPU_MODULE_SYMBOL));
  if (!table_ || table_->version != R3CPU_MODULE_VERSION) {
    dlclose(handle_);
    throw EngineError(R3CPU_BAD_MODULE,
                      "'" + path + "' is not a module lowered for this version of the cpu device");
  }
  for (uint32_t i = 0; i < table_->kernel_count; ++i)
    kernels_.push_back({&table_->kernels[i]});
}

r3cpu_module::~r3cpu_module() { dlclose(handle_); }

r3cpu_kernel *r3cpu_module::findKernel(std::string_view name) {
  for (r3cpu_kernel &kernel : kernels_)
    if (name == kernel.entry->name)
      return &kernel;
  return nullptr;
}

const r3cpu_global_entry *r3cpu_module::findGlobal(std::string_view name) const {
  for (uint32_t i = 0; i < table_->global_count; ++i)
    if (name == table_->globals[i].name)
      return &table_->globals[i];
  return nullptr;
}
