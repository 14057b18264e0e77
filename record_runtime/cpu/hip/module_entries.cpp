// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HIP's modules. What the cpu device loads, from a file or from memory, is a lowered module; a code object of
// AMD's has no IR to lower.
#include "cudart/runtime.h"
#include "forward.h"

#include <cstring>
#include <elf.h>
#include <optional>
#include <sys/mman.h>
#include <unistd.h>

/// What a program's hipModule_t points to.
struct r3cpu_hip_module {
public:
  explicit r3cpu_hip_module(const char *path) : module(std::in_place, path) {}
  explicit r3cpu_hip_module(const void *image);
  ~r3cpu_hip_module();
  r3cpu_hip_module(const r3cpu_hip_module &) = delete;

  std::optional<r3cpu_module> module;

private:
  // The loader knows open objects by path: the number is not given away before the module is.
  int file_ = -1;
};

using namespace r3::cpu;
using cudart::entry;
using cudart::Error;

namespace {

// HIP_LAUNCH_PARAM_…: what the words of a launch's `extra` are.
void *const kBufferPointer = reinterpret_cast<void *>(1);
void *const kBufferSize = reinterpret_cast<void *>(2);
void *const kEnd = reinterpret_cast<void *>(3);

/// Bytes of an ELF image in memory: linkers put the section headers last. Throws EngineError for anything
/// else.
size_t sizeOfImage(const void *image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
    throw EngineError(R3CPU_BAD_MODULE, "the image is not a module lowered for the cpu device");
  if (header.e_machine == EM_AMDGPU)
    throw EngineError(R3CPU_BAD_MODULE, "the image is a code object of AMD's, which has no IR to lower");
  return header.e_shoff + size_t(header.e_shnum) * header.e_shentsize;
}

bool writeAll(int file, const void *bytes, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t written = write(file, static_cast<const char *>(bytes) + done, size - done);
    if (written <= 0)
      return false;
    done += static_cast<size_t>(written);
  }
  return true;
}

std::vector<unsigned char> packed(const r3cpu_kernel &kernel, void **parameters, void **extra) {
  std::vector<unsigned char> buffer(kernel.argumentSize());
  for (uint32_t i = 0; parameters && i < kernel.entry->parameter_count; ++i) {
    const r3cpu_parameter &parameter = kernel.entry->parameters[i];
    std::memcpy(buffer.data() + parameter.offset, parameters[i], parameter.size);
  }
  const void *source = nullptr;
  size_t size = 0;
  for (void **word = extra; word && *word != kEnd; word += 2) {
    if (*word == kBufferPointer)
      source = word[1];
    else if (*word == kBufferSize)
      size = *static_cast<size_t *>(word[1]);
  }
  if (source)
    std::memcpy(buffer.data(), source, std::min(size, buffer.size()));
  return buffer;
}

} // namespace

r3cpu_hip_module::r3cpu_hip_module(const void *image) {
  size_t size = sizeOfImage(image);
  file_ = memfd_create("r3cpu-module", MFD_CLOEXEC);
  try {
    if (file_ < 0 || !writeAll(file_, image, size))
      throw EngineError(R3CPU_OUT_OF_MEMORY, "no memory for the module's image");
    module.emplace("/proc/self/fd/" + std::to_string(file_));
  } catch (const EngineError &) {
    close(file_);
    throw;
  }
}

r3cpu_hip_module::~r3cpu_hip_module() {
  module.reset();
  if (file_ >= 0)
    close(file_);
}

R3CPU_EXPORT int hipModuleLoad(r3cpu_hip_module **module, const char *path) {
  return entry([&] {
    *module = new r3cpu_hip_module(path);
    return cudart::Success;
  });
}

R3CPU_EXPORT int hipModuleLoadData(r3cpu_hip_module **module, const void *image) {
  return entry([&] {
    *module = new r3cpu_hip_module(image);
    return cudart::Success;
  });
}
R3CPU_EXPORT int hipModuleLoadDataEx(r3cpu_hip_module **module, const void *image, unsigned, int *, void **) {
  return hipModuleLoadData(module, image);
}

R3CPU_EXPORT int hipModuleUnload(r3cpu_hip_module *module) {
  delete module;
  return cudart::remember(cudart::Success);
}

R3CPU_EXPORT int hipModuleGetFunction(r3cpu_kernel **function, r3cpu_hip_module *module, const char *name) {
  *function = module->module->findKernel(name);
  return cudart::remember(*function ? cudart::Success : Error(500));
}

R3CPU_EXPORT int hipModuleGetGlobal(void **address, size_t *size, r3cpu_hip_module *module,
                                    const char *name) {
  const r3cpu_global_entry *global = module->module->findGlobal(name);
  if (!global)
    return cudart::remember(Error(500));
  if (address)
    *address = global->address;
  if (size)
    *size = global->size;
  return cudart::remember(cudart::Success);
}

// Launches of modules that a program loads itself are run and not recorded: nothing leads from them to IR.
R3CPU_EXPORT int hipModuleLaunchKernel(r3cpu_kernel *function, unsigned grid_x, unsigned grid_y,
                                       unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                                       unsigned shared, void *, void **parameters, void **extra) {
  return entry([&] {
    std::vector<unsigned char> buffer = packed(*function, parameters, extra);
    std::lock_guard lock(cudart::Runtime::instance().gate());
    Engine::instance().run({function,
                            {grid_x, grid_y, grid_z},
                            {block_x, block_y, block_z},
                            shared,
                            buffer.data(),
                            buffer.size()});
    return cudart::Success;
  });
}

/// hipFunction_attribute: 0 threads a block, 1 shared bytes, 4 registers; the others are 0.
R3CPU_EXPORT int hipFuncGetAttribute(int *value, int attribute, r3cpu_kernel *function) {
  const r3cpu_kernel_entry &kernel = *function->entry;
  *value = 0;
  if (attribute == 0)
    *value = static_cast<int>(kernel.max_threads ? kernel.max_threads : kMaxThreadsPerBlock);
  else if (attribute == 1)
    *value = static_cast<int>(kernel.static_shared);
  return cudart::remember(cudart::Success);
}
