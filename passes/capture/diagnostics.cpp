// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "capture/diagnostics.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

using namespace llvm;

namespace r3 {

void reportNotEmbedded(const Module &M, const Twine &Reason) {
  std::string Message = ("r3: module not embedded (" + M.getSourceFileName() + "): " + Reason).str();
  const char *Strict = std::getenv("R3_STRICT");
  if (Strict && StringRef(Strict) == "1")
    M.getContext().emitError(Message);
  else
    errs() << Message << '\n';
}

} // namespace r3
