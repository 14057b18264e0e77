// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "targets.h"

#include <algorithm>
#include <mutex>

using namespace r3;
using namespace r3::cuda;

/// A launch handle's face: both kinds of handle answer the same questions.
class Targets::Function {
public:
  explicit Function(CUfunction handle) : function(handle), kernel(reinterpret_cast<CUkernel>(handle)) {
    const char *text = nullptr;
    if (driver().cuFuncGetName && driver().cuFuncGetName(&text, function) == CUDA_SUCCESS && text &&
        driver().cuFuncGetModule(&module, function) == CUDA_SUCCESS) {
      name = text;
    } else if (driver().cuKernelGetName && driver().cuKernelGetName(&text, kernel) == CUDA_SUCCESS && text &&
               driver().cuKernelGetLibrary(&library, kernel) == CUDA_SUCCESS) {
      name = text;
      isKernel = true;
    }
    driver().cuCtxGetDevice(&device);
  }

  std::shared_ptr<const Image> image(Images &images) const {
    return isKernel ? images.find(library) : images.find(module);
  }

  /// 0 if the driver doesn't say.
  int attribute(CUfunction_attribute which) const {
    int value = 0;
    CUresult result = isKernel ? driver().cuKernelGetAttribute(&value, which, kernel, device)
                               : driver().cuFuncGetAttribute(&value, which, function);
    return result == CUDA_SUCCESS ? value : 0;
  }

  bool tellsParameters() const {
    return isKernel ? driver().cuKernelGetParamInfo != nullptr : driver().cuFuncGetParamInfo != nullptr;
  }

  /// Empty if the driver can't say (before CUDA 12.4).
  std::vector<Parameter> parameters() const {
    std::vector<Parameter> all;
    if (!tellsParameters())
      return all;
    for (std::size_t offset, size;; all.push_back({std::uint32_t(offset), std::uint32_t(size), false})) {
      CUresult result = isKernel ? driver().cuKernelGetParamInfo(kernel, all.size(), &offset, &size)
                                 : driver().cuFuncGetParamInfo(function, all.size(), &offset, &size);
      if (result != CUDA_SUCCESS)
        return all;
    }
  }

  /// In the current context; null if the driver doesn't say.
  CUfunction code() const {
    CUfunction found = isKernel ? nullptr : function;
    if (isKernel && driver().cuKernelGetFunction)
      driver().cuKernelGetFunction(&found, kernel);
    return found;
  }

  bool global(const std::string &wanted, CUdeviceptr &address, std::size_t &size) const {
    CUresult result = isKernel ? driver().cuLibraryGetGlobal(&address, &size, library, wanted.c_str())
                               : driver().cuModuleGetGlobal_v2(&address, &size, module, wanted.c_str());
    return result == CUDA_SUCCESS;
  }

  std::string name;
  CUdevice device = 0;

private:
  CUfunction function;
  CUkernel kernel;
  CUmodule module = nullptr;
  CUlibrary library = nullptr;
  bool isKernel = false;
};

namespace {

/// "sm_90a" is 90.
int versionOf(const std::string &architecture) {
  std::size_t digits = architecture.find_first_of("0123456789");
  return digits == std::string::npos ? 0 : std::atoi(architecture.c_str() + digits);
}

const Note *withVersion(const std::vector<const Note *> &notes, int version) {
  for (const Note *note : notes)
    if (versionOf(note->architecture) == version)
      return note;
  return nullptr;
}

/// The module whose code runs: the driver tells which virtual and which real architecture it was compiled
/// for.
const Note *running(const std::vector<const Note *> &notes, int ptxVersion, int binaryVersion) {
  if (const Note *note = withVersion(notes, ptxVersion))
    return note;
  if (const Note *note = withVersion(notes, binaryVersion))
    return note;
  bool versionsUnknown = !ptxVersion && !binaryVersion;
  return versionsUnknown && notes.size() == 1 ? notes.front() : nullptr;
}

/// `ptx` lies beside the code, and is null where it doesn't.
ForeignModule describe(const ForeignCode &code, const ForeignCode *ptx, const std::string &binary) {
  bool isPtx = code.format == ForeignCode::Format::Ptx;
  ForeignModule module = {binary, code.image.data(), code.image.size(), isPtx ? "ptx" : "cubin",
                          code.architecture};
  if (ptx && !isPtx) {
    module.ptx = ptx->image.data();
    module.ptxSize = ptx->image.size();
  }
  return module;
}

} // namespace

Target &Targets::find(CUfunction function, CUcontext context, Recorder &recorder) {
  // What this thread launched lately, found without a lock.
  static thread_local std::array<Recent, RecentCount> recent __attribute__((tls_model("initial-exec"))) = {};
  Handle handle{function, context};
  std::size_t hash = HandleHash()(handle);
  Recent &entry = recent[hash >> (8 * sizeof(hash) - RecentBits)];
  std::uint64_t current = generation.load(std::memory_order_acquire);
  if (entry.target && entry.generation == current && entry.handle == handle)
    return *entry.target;
  Target *target = nullptr;
  {
    std::shared_lock lock(mutex);
    auto found = known.find(handle);
    if (found != known.end())
      target = found->second.get();
  }
  if (!target) {
    auto resolved = resolve(function, recorder);
    std::lock_guard lock(mutex);
    target = known.emplace(handle, std::move(resolved)).first->second.get();
  }
  entry = {handle, current, target};
  return *target;
}

void Targets::forget() {
  std::lock_guard lock(mutex);
  ++generation;
  for (auto &[handle, target] : known)
    forgotten.push_back(std::move(target));
  known.clear();
}

bool Targets::load(CUfunction function) {
  CUfunction code = Function(function).code();
  return code && driver().cuFuncLoad && driver().cuFuncLoad(code) == CUDA_SUCCESS;
}

std::unique_ptr<Target> Targets::resolve(CUfunction handle, Recorder &recorder) {
  auto target = std::make_unique<Target>();
  Function function(handle);
  std::shared_ptr<const Image> image = function.image(images);
  KernelDescription description;
  description.name = function.name.empty() ? "(unnamed)" : function.name;
  description.device = "cuda:" + std::to_string(function.device);
  description.module = image && !image->foreignModule.empty() ? image->foreignModule : "foreign:unknown";

  std::vector<const Note *> notes;
  if (image)
    notes = images.notesOf(*image, function.name);
  int ptxVersion = function.attribute(CU_FUNC_ATTRIBUTE_PTX_VERSION);
  int binaryVersion = function.attribute(CU_FUNC_ATTRIBUTE_BINARY_VERSION);
  const Note *note = running(notes, ptxVersion, binaryVersion);
  target->parameters = function.parameters();
  if (note) {
    const NoteKernel *kernel = note->kernel(function.name);
    if (target->parameters.empty())
      target->parameters = kernel->parameters;
    for (std::size_t i = 0; i < std::min(target->parameters.size(), kernel->parameters.size()); ++i)
      target->parameters[i].isScalar = kernel->parameters[i].isScalar;
    description.module = note->module;
    description.notRecordable = placeGlobals(function, *note, *kernel, *target);
    if (kernel->textures)
      description.notRecordable = "it reads textures or surfaces, whose handles mean nothing at replay";
    recorder.addModule(*note);
  } else if (std::shared_ptr<const ForeignCode> code =
                 image && notes.empty() ? images.foreignCode(*image, function.name, ptxVersion, binaryVersion)
                                        : nullptr) {
    target->isForeign = true;
    description.notRecordable = placeForeign(function, *code, *target);
    auto ptx = images.foreignPtx(*image, function.name, binaryVersion);
    description.module = recorder.addForeignModule(describe(*code, ptx.get(), image->binary));
  } else if (notes.empty()) {
    description.notRecordable = "no R3 note: its binary was not built by r3-clang++";
  } else {
    description.notRecordable = "the code that runs is for sm_" + std::to_string(binaryVersion) +
                                ", and the binary has IR only for " + notes.front()->architecture;
  }
  if (!note && !target->isForeign)
    recorder.addForeignModule(description.module, image ? image->binary : "");
  description.parameters = target->parameters;
  target->kernel = &recorder.addKernel(description);
  return target;
}

/// All of the module's variables, for which of them the kernel reaches isn't known.
std::string Targets::placeForeign(const Function &function, const ForeignCode &code, Target &target) {
  if (!function.tellsParameters())
    return "no R3 note, and this driver doesn't tell its parameters (before CUDA 12.4)";
  if (code.textures)
    return "its module declares texture or surface references";
  if (code.managed)
    return "managed memory: its module declares __managed__ variables";
  for (const std::string &name : code.variables) {
    CUdeviceptr address = 0;
    std::size_t size = 0;
    if (!function.global(name, address, size))
      return "the driver can't find its variable " + name;
    memory.addForeign(address, size, "a pointer to the device variable " + name, true);
    target.globals.push_back({name, address, size});
  }
  return "";
}

/// Finds the module's variables. Returns why the kernel isn't recordable, or an empty string.
std::string Targets::placeGlobals(const Function &function, const Note &note, const NoteKernel &kernel,
                                  Target &target) {
  std::string missing;
  for (const NoteGlobal &global : note.globals) {
    CUdeviceptr address = 0;
    std::size_t size = 0;
    bool reached =
        std::find(kernel.globals.begin(), kernel.globals.end(), global.name) != kernel.globals.end();
    if (!function.global(global.name, address, size)) {
      if (reached && global.isMutable && missing.empty())
        missing = "the driver can't find its variable " + global.name;
      continue;
    }
    // Its address is another one at replay.
    memory.addForeign(address, size, "a pointer to the device variable " + global.name, true);
    if (reached && global.isMutable)
      target.globals.push_back({global.name, address, size});
  }
  return missing;
}
