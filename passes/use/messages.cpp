// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "use/messages.h"

#include "capture/handoff_file.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

using namespace llvm;

namespace r3 {

static bool isStrict() {
  const char *Strict = std::getenv("R3_STRICT");
  return Strict && StringRef(Strict) == "1";
}

void warnOnce(const Module &M, const Twine &Sentence) {
  std::string Text = Sentence.str();
  if (isStrict()) {
    M.getContext().emitError("r3: " + Text);
    return;
  }
  std::optional<HandoffFile> Handoff = HandoffFile::inherited();
  if (!Handoff || Handoff->sayFirst(Text))
    errs() << "r3: warning: " << Text << '\n';
}

} // namespace r3
