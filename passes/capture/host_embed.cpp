// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "capture/host_embed.h"

#include "capture/cc1_command.h"
#include "capture/diagnostics.h"
#include "capture/fat_binary.h"
#include "capture/filter.h"
#include "capture/handoff_file.h"
#include "capture/note.h"
#include "common/device_unit.h"
#include "common/digest.h"
#include "use/tuned_note.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Compression.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;

namespace r3 {
namespace {

GlobalVariable *addSection(Module &M, StringRef Section, ArrayRef<uint8_t> Bytes, Align Alignment) {
  Constant *Content = ConstantDataArray::get(M.getContext(), Bytes);
  auto *Global = new GlobalVariable(M, Content->getType(), /*isConstant=*/true, GlobalValue::PrivateLinkage,
                                    Content, "r3" + Section);
  makeOwnSection(*Global, Section, Alignment);
  return Global;
}

/// What others may ask for. clang gives each HIP unit its id as a variable, which nobody does.
bool definesForOthers(const Module &M) {
  return any_of(M.global_objects(), [](const GlobalObject &G) {
    return !G.isDeclaration() && !G.hasLocalLinkage() && !G.getName().starts_with("llvm.") &&
           !G.getName().starts_with("__hip_cuid_");
  });
}

/// A unit of device functions alone gives a linker no reason to take its object out of an archive. It gets a
/// name, which r3-clang++ asks for at the link.
void nameUnit(Module &M, const CapturedModule &Captured) {
  auto *Name =
      new GlobalVariable(M, Type::getInt8Ty(M.getContext()), /*isConstant=*/true, GlobalValue::WeakAnyLinkage,
                         ConstantInt::get(Type::getInt8Ty(M.getContext()), 0),
                         DeviceUnitPrefix + sha256(Captured.bitcode).substr(0, 16));
  Name->setVisibility(GlobalValue::HiddenVisibility);
  appendToUsed(M, {Name});
}

void embed(Module &M, const CapturedModule &Captured, const FatBinary &Binary) {
  SmallVector<uint8_t, 0> Json;
  compression::zstd::compress(arrayRefFromStringRef(Captured.json), Json);
  NoteContent Content;
  SmallVector<GlobalValue *, 3> Used;
  if (!Captured.bitcode.empty()) { // a tuned build carries none
    Content.bitcode = {addSection(M, ".r3.bitcode", arrayRefFromStringRef(Captured.bitcode), Align(8)),
                       Captured.bitcode.size()};
    Used.push_back(Content.bitcode.global);
  }
  Content.json = {addSection(M, ".r3.json", Json, Align(1)), Json.size()};
  Content.tuned = isTuned(Captured);
  Used.append({Content.json.global, addNote(M, Binary, Content)});
  appendToUsed(M, Used); // the linker's --gc-sections must keep all of them
}

} // namespace

PreservedAnalyses HostEmbed::run(Module &M, ModuleAnalysisManager &) {
  std::optional<FatBinary> Binary = findFatBinary(M);
  if (!Binary || !M.getTargetTriple().isOSBinFormatELF())
    return PreservedAnalyses::all();
  Cc1Command Cc1 = currentCc1Command();
  CaptureFilter Filter = CaptureFilter::fromEnvironment();
  if (!Filter.takesSource(Cc1.input))
    return PreservedAnalyses::all();
  std::optional<HandoffFile> Handoff = HandoffFile::forHost();
  if (!Handoff) {
    reportNotEmbedded(M, "compile with r3-clang or r3-clang++, device and host code in one command");
    return PreservedAnalyses::all();
  }
  std::vector<CapturedModule> Modules = Handoff->take(Cc1.unit());
  if (Modules.empty() && !Filter.choosesKernels())
    reportNotEmbedded(M, "this command compiled no device code for it with R3's plugin");
  if (!Binary->wrapper && !Modules.empty() && !definesForOthers(M))
    nameUnit(M, Modules.front());
  applyLaunchChanges(M, Modules);
  for (const CapturedModule &Captured : Modules)
    embed(M, Captured, *Binary);
  return Modules.empty() ? PreservedAnalyses::all() : PreservedAnalyses::none();
}

} // namespace r3
