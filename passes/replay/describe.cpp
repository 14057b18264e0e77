// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/describe.h"

#include "common/describe.h"
#include "replay/access_strides.h"
#include "replay/element_types.h"
#include "replay/extract.h"
#include "replay/launch_facts.h"
#include "replay/module.h"

using namespace llvm;

namespace r3 {

namespace {

void addLaunchFacts(json::Object &Kernel, const LaunchFacts &Facts) {
  Kernel["reads_block_size"] = Facts.ReadsBlockSize;
  Kernel["reads_grid_size"] = Facts.ReadsGridSize;
  Kernel["static_shared"] = Facts.StaticShared;
  Kernel["dynamic_shared"] = Facts.DynamicShared;
  Kernel["barriers"] = Facts.Barriers;
  Kernel["warp_operations"] = Facts.WarpOperations;
  Kernel["atomics"] = Facts.Atomics;
  Kernel["max_threads"] = Facts.MaxThreads ? json::Value(*Facts.MaxThreads) : json::Value(nullptr);
}

json::Object parameterTypes(Function &Kernel) {
  json::Object Types;
  for (Argument &A : Kernel.args())
    if (A.getType()->isPointerTy())
      if (std::optional<std::string> Type = elementTypeOf(A))
        Types[std::to_string(A.getArgNo())] = *Type;
  return Types;
}

json::Array writtenOnly(Function &Kernel) {
  json::Array Indices;
  for (Argument &A : Kernel.args())
    if (isOnlyWritten(A))
      Indices.push_back(A.getArgNo());
  return Indices;
}

json::Object globalTypes(Module &M, const json::Object &Kernel) {
  json::Object Types;
  for (const json::Value &Name : *Kernel.getArray("globals"))
    if (GlobalVariable *Variable = M.getGlobalVariable(*Name.getAsString(), /*AllowInternal=*/true))
      if (std::optional<std::string> Type = elementTypeOf(*Variable))
        Types[*Name.getAsString()] = *Type;
  return Types;
}

json::Value strideValue(Stride S) { return S ? json::Value(*S) : json::Value(nullptr); }

json::Array accesses(Function &Kernel) {
  json::Array Patterns;
  for (const auto &[Pattern, Count] : accessPatterns(Kernel))
    Patterns.push_back(
        json::Object{{"bytes", Pattern.Bytes},
                     {"strides", json::Array{strideValue(Pattern.Strides[0]), strideValue(Pattern.Strides[1]),
                                             strideValue(Pattern.Strides[2])}},
                     {"count", Count}});
  return Patterns;
}

void addAccesses(json::Object &Kernel, Module &Exposed, Function &F) {
  Kernel["element_types"] = parameterTypes(F);
  Kernel["written_only"] = writtenOnly(F);
  Kernel["global_element_types"] = globalTypes(Exposed, Kernel);
  Kernel["accesses"] = accesses(F);
}

/// Calls Do with each kernel's JSON and its function in M.
template <typename Callback> void forEachKernel(json::Array &Kernels, Module &M, Callback Do) {
  for (json::Value &Value : Kernels) {
    json::Object &Kernel = *Value.getAsObject();
    Do(Kernel, *M.getFunction(*Kernel.getString("name")));
  }
}

/// Takes apart M, which holds the kernels that are described.
Product describeFurther(Module &M, const ModuleDescription &Description) {
  json::Array Kernels = toJSON(Description.kernels);
  forEachKernel(Kernels, M,
                [&](json::Object &Kernel, Function &F) { addLaunchFacts(Kernel, launchFacts(M, F)); });
  // From here on M is another: kernels and globals keep their names, bodies change.
  exposeAccesses(M);
  forEachKernel(Kernels, M, [&](json::Object &Kernel, Function &F) { addAccesses(Kernel, M, F); });
  Product Result;
  Result.Report["kernels"] = std::move(Kernels);
  Result.Report["globals"] = toJSON(Description.globals);
  return Result;
}

} // namespace

Expected<Product> describeBitcode(ArrayRef<uint8_t> Bitcode) {
  LLVMContext Context;
  Expected<std::unique_ptr<Module>> M = loadModule(Bitcode, Context);
  if (!M)
    return M.takeError();
  return describeFurther(**M, describeModule(**M));
}

Expected<Product> describeKernel(ArrayRef<uint8_t> Bitcode, const KernelRequest &Request) {
  LLVMContext Context;
  Expected<KernelModule> Loaded = loadKernel(Bitcode, Request.Kernel, Context);
  if (!Loaded)
    return Loaded.takeError();
  Module &M = *Loaded->M;
  ModuleDescription Description = describeModule(M);
  erase_if(Description.kernels, [&](const KernelInfo &Info) { return Info.name != Request.Kernel; });
  removeAllBut(M, reachableFrom(M, {Loaded->Kernel}));
  return describeFurther(M, Description);
}

} // namespace r3
