// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/ir_hash.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;

namespace r3 {

static void dropLocalNames(Function &F) {
  for (Argument &A : F.args())
    A.setName("");
  for (BasicBlock &B : F)
    B.setName("");
  for (Instruction &I : instructions(F))
    if (!I.getType()->isVoidTy())
      I.setName("");
}

void dropNoise(Module &M) {
  StripDebugInfo(M);
  M.setModuleIdentifier("");
  M.setSourceFileName("");
  if (NamedMDNode *Ident = M.getNamedMetadata("llvm.ident"))
    Ident->eraseFromParent();
  for (Function &F : M)
    dropLocalNames(F);
}

std::string irHash(const Module &M) {
  std::unique_ptr<Module> Bare = CloneModule(M);
  dropNoise(*Bare);
  SmallVector<char, 0> Bytes;
  raw_svector_ostream Stream(Bytes);
  WriteBitcodeToFile(*Bare, Stream);
  std::array<uint8_t, 32> Digest = SHA256::hash(arrayRefFromStringRef(StringRef(Bytes.data(), Bytes.size())));
  return toHex(Digest, /*LowerCase=*/true);
}

} // namespace r3
