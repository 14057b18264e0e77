// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/link.h"

#include "common/describe.h"
#include "replay/diagnostics.h"
#include "replay/module.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Linker/Linker.h"

using namespace llvm;

namespace r3 {
namespace {

using Units = std::vector<std::unique_ptr<Module>>;

Expected<Units> loadUnits(ArrayRef<uint8_t> Bitcode, const LinkRequest &Request, LLVMContext &Context) {
  Units All;
  for (uint64_t Size : Request.Sizes) {
    if (Size > Bitcode.size())
      return makeError(R3_BAD_REQUEST, "the units' sizes are larger than what was given");
    Expected<std::unique_ptr<Module>> Unit = loadModule(Bitcode.take_front(Size), Context);
    if (!Unit)
      return Unit.takeError();
    All.push_back(std::move(*Unit));
    Bitcode = Bitcode.drop_front(Size);
  }
  if (All.empty() || !Bitcode.empty())
    return makeError(R3_BAD_REQUEST, "the units' sizes don't add up to what was given");
  return All;
}

bool isPrivateVariable(const GlobalVariable &G) { return G.hasInternalLinkage() && isDeviceVariable(G); }

/// The linker would keep the first one's name, which then could stand for either. (A name without a dot: PTX
/// has none.)
void tellApart(Units &All) {
  StringMap<unsigned> Owners;
  for (const auto &Unit : All)
    for (const GlobalVariable &G : Unit->globals())
      if (isPrivateVariable(G))
        ++Owners[G.getName()];
  for (auto [Number, Unit] : enumerate(All))
    for (GlobalVariable &G : Unit->globals())
      if (isPrivateVariable(G) && Owners.lookup(G.getName()) > 1)
        G.setName(G.getName() + "__unit" + Twine(Number));
}

/// What the driver brings: the functions of device code that no program defines.
bool isBuiltIn(const Function &F) {
  StringRef Name = F.getName();
  return F.isIntrinsic() || Name.starts_with("__nv") || Name.starts_with("cuda") ||
         is_contained({"vprintf", "malloc", "free", "__assertfail"}, Name);
}

json::Array undefined(const Module &M) {
  json::Array Names;
  for (const GlobalObject &G : M.global_objects()) {
    if (!G.isDeclaration() || G.use_empty() || G.hasExternalWeakLinkage())
      continue;
    auto *F = dyn_cast<Function>(&G);
    if (F ? !isBuiltIn(*F) : isDeviceVariable(cast<GlobalVariable>(G)))
      Names.push_back(G.getName());
  }
  return Names;
}

} // namespace

Expected<Product> linkUnits(ArrayRef<uint8_t> Bitcode, const LinkRequest &Request) {
  LLVMContext Context;
  Diagnostics Said;
  Context.setDiagnosticHandler(std::make_unique<DiagnosticCollector>(Said));
  Expected<Units> All = loadUnits(Bitcode, Request, Context);
  if (!All)
    return All.takeError();
  tellApart(*All);
  std::unique_ptr<Module> Whole = std::move(All->front());
  Linker Link(*Whole);
  for (std::unique_ptr<Module> &Unit : drop_begin(*All))
    if (Link.linkInModule(std::move(Unit)))
      return makeError(R3_UNSUPPORTED, "the units cannot be linked: " + Said.FirstError);
  Product Result;
  Result.Output = writeModule(*Whole);
  Result.Report["undefined"] = undefined(*Whole);
  return Result;
}

} // namespace r3
