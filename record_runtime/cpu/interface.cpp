// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C interface of r3cpu.h.
#include "engine.h"

#include <cstring>
#include <sys/mman.h>

#define R3CPU_EXPORT extern "C" __attribute__((visibility("default")))

using namespace r3::cpu;

static thread_local std::string last_error;

static r3cpu_status failWith(r3cpu_status status, const std::string &message) {
  last_error = message;
  return status;
}

template <typename Body> static r3cpu_status guarded(Body body) {
  try {
    return body();
  } catch (const EngineError &error) {
    return failWith(error.status, error.what());
  } catch (const std::bad_alloc &) {
    return failWith(R3CPU_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception &error) {
    return failWith(R3CPU_BAD_LAUNCH, error.what());
  }
}

R3CPU_EXPORT const char *r3cpu_last_error(void) { return last_error.c_str(); }

R3CPU_EXPORT r3cpu_status r3cpu_module_load(const char *path, r3cpu_module **module) {
  return guarded([&] {
    *module = new r3cpu_module(path);
    return R3CPU_OK;
  });
}

R3CPU_EXPORT void r3cpu_module_unload(r3cpu_module *module) { delete module; }

R3CPU_EXPORT size_t r3cpu_module_kernel_count(const r3cpu_module *module) { return module->kernels().size(); }

R3CPU_EXPORT const char *r3cpu_module_kernel_name(const r3cpu_module *module, size_t index) {
  return module->kernels()[index].entry->name;
}

R3CPU_EXPORT r3cpu_status r3cpu_module_kernel(r3cpu_module *module, const char *name, r3cpu_kernel **kernel) {
  *kernel = module->findKernel(name);
  return *kernel ? R3CPU_OK
                 : failWith(R3CPU_NOT_FOUND, std::string("the module has no kernel '") + name + "'");
}

R3CPU_EXPORT size_t r3cpu_module_global_count(const r3cpu_module *module) {
  return module->table().global_count;
}

R3CPU_EXPORT const char *r3cpu_module_global_name(const r3cpu_module *module, size_t index) {
  return module->table().globals[index].name;
}

R3CPU_EXPORT r3cpu_status r3cpu_module_global(r3cpu_module *module, const char *name, void **address,
                                              size_t *size) {
  const r3cpu_global_entry *global = module->findGlobal(name);
  if (!global)
    return failWith(R3CPU_NOT_FOUND, std::string("the module has no variable '") + name + "'");
  *address = global->address;
  *size = global->size;
  return R3CPU_OK;
}

R3CPU_EXPORT void r3cpu_kernel_get_attributes(const r3cpu_kernel *kernel,
                                              r3cpu_kernel_attributes *attributes) {
  const r3cpu_kernel_entry &entry = *kernel->entry;
  *attributes = {entry.form, entry.static_shared, entry.max_threads ? entry.max_threads : kMaxThreadsPerBlock,
                 entry.parameter_count, kernel->argumentSize()};
}

R3CPU_EXPORT r3cpu_status r3cpu_kernel_parameter(const r3cpu_kernel *kernel, uint32_t index, uint32_t *offset,
                                                 uint32_t *size) {
  if (index >= kernel->entry->parameter_count)
    return failWith(R3CPU_NOT_FOUND,
                    "the kernel has " + std::to_string(kernel->entry->parameter_count) + " parameters");
  *offset = kernel->entry->parameters[index].offset;
  *size = kernel->entry->parameters[index].size;
  return R3CPU_OK;
}

R3CPU_EXPORT r3cpu_status r3cpu_launch(r3cpu_kernel *kernel, r3cpu_dim3 grid, r3cpu_dim3 block,
                                       uint32_t shared, const void *arguments, size_t argument_size,
                                       uint64_t *time_ns) {
  return guarded([&] {
    uint64_t time = Engine::instance().run({kernel, grid, block, shared, arguments, argument_size});
    if (time_ns)
      *time_ns = time;
    return R3CPU_OK;
  });
}

R3CPU_EXPORT uint32_t r3cpu_worker_count(void) {
  uint32_t count = 0;
  guarded([&] {
    count = Engine::instance().workers();
    return R3CPU_OK;
  });
  return count;
}

static r3cpu_status memoryFailure(const char *what, uint64_t address, size_t size) {
  char text[160];
  std::snprintf(text, sizeof text, "cannot %s %zu bytes at 0x%llx: %s", what, size,
                static_cast<unsigned long long>(address), std::strerror(errno));
  return failWith(R3CPU_OUT_OF_MEMORY, text);
}

R3CPU_EXPORT r3cpu_status r3cpu_memory_reserve(uint64_t address, size_t size) {
  void *wanted = reinterpret_cast<void *>(address);
  void *got =
      mmap(wanted, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == wanted)
    return R3CPU_OK;
  // A kernel without MAP_FIXED_NOREPLACE takes the address as a hint.
  if (got != MAP_FAILED)
    munmap(got, size);
  return memoryFailure("reserve", address, size);
}

R3CPU_EXPORT r3cpu_status r3cpu_memory_map(uint64_t address, size_t size) {
  if (mprotect(reinterpret_cast<void *>(address), size, PROT_READ | PROT_WRITE) != 0)
    return memoryFailure("map", address, size);
  return R3CPU_OK;
}

R3CPU_EXPORT r3cpu_status r3cpu_memory_unmap(uint64_t address, size_t size) {
  void *at = reinterpret_cast<void *>(address);
  void *got = mmap(at, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  return got == at ? R3CPU_OK : memoryFailure("unmap", address, size);
}

R3CPU_EXPORT r3cpu_status r3cpu_memory_release(uint64_t address, size_t size) {
  if (munmap(reinterpret_cast<void *>(address), size) != 0)
    return memoryFailure("release", address, size);
  return R3CPU_OK;
}
