// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "capture/static_variables.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace r3 {
namespace {

constexpr StringRef Infix = "__static__"; ///< between the variable's name and the unit's id

bool isDefinitionOf(const GlobalVariable &Defined, StringRef Name) {
  StringRef Rest = Defined.getName();
  return !Defined.isDeclaration() && Rest.consume_front(Name) && Rest.starts_with(Infix);
}

} // namespace

bool asksForCompatibility(const UserCommand &User) {
  return any_of(User.arguments, [](const std::string &Argument) {
    return StringRef(Argument).ends_with("/r3/nvcc_compat.h");
  });
}

void joinStaticVariables(Module &M) {
  for (GlobalVariable &Declared : make_early_inc_range(M.globals())) {
    if (!Declared.isDeclaration() || !Declared.hasName())
      continue;
    auto Found =
        find_if(M.globals(), [&](const GlobalVariable &G) { return isDefinitionOf(G, Declared.getName()); });
    if (Found == M.global_end() || Found->getType() != Declared.getType())
      continue;
    Declared.replaceAllUsesWith(&*Found);
    Declared.eraseFromParent();
  }
}

} // namespace r3
