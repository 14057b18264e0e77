// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/pipeline.h"

#include "replay/result.h"

#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace r3 {

PipelineBuilder::PipelineBuilder(LLVMContext &Context, TargetMachine &Machine, PipelineTuningOptions Tuning)
    : Library(Machine.getTargetTriple()), Instrumentations(Context, /*DebugLogging=*/false),
      Builder(&Machine, Tuning, std::nullopt, &Callbacks) {
  // Among these: functions marked optnone are left alone.
  Instrumentations.registerCallbacks(Callbacks, &Modules);
  Functions.registerPass([&] { return TargetLibraryAnalysis(Library); });
  Builder.registerModuleAnalyses(Modules);
  Builder.registerCGSCCAnalyses(Components);
  Builder.registerFunctionAnalyses(Functions);
  Builder.registerLoopAnalyses(Loops);
  Builder.crossRegisterProxies(Loops, Functions, Components, Modules);
}

/// The first bracket of Text without its partner, or npos.
static size_t findUnbalanced(StringRef Text) {
  SmallVector<size_t, 8> Open;
  for (size_t I = 0; I < Text.size(); ++I) {
    if (Text[I] == '(')
      Open.push_back(I);
    if (Text[I] == ')' && Open.empty())
      return I;
    if (Text[I] == ')')
      Open.pop_back();
  }
  return Open.empty() ? StringRef::npos : Open.back();
}

/// LLVM quotes the text that it could not parse, but does not say where it stands.
static std::string locate(StringRef Pipeline, StringRef Complaint) {
  size_t Column = findUnbalanced(Pipeline);
  StringRef Quoted = Complaint.split('\'').second.rsplit('\'').first;
  if (Column == StringRef::npos && !Quoted.empty())
    Column = Pipeline.find(Quoted);
  if (Column == StringRef::npos)
    return "";
  return (" at column " + Twine(Column + 1)).str();
}

/// The level of a text that begins with `default<…>` and ends there or goes on behind a comma.
static std::optional<OptimizationLevel> takeDefault(StringRef &Text) {
  static const std::pair<StringRef, OptimizationLevel> Levels[] = {
      {"default<O0>", OptimizationLevel::O0}, {"default<O1>", OptimizationLevel::O1},
      {"default<O2>", OptimizationLevel::O2}, {"default<O3>", OptimizationLevel::O3},
      {"default<Os>", OptimizationLevel::Os}, {"default<Oz>", OptimizationLevel::Oz}};
  for (const auto &[Name, Level] : Levels) {
    StringRef Rest = Text;
    if (Rest.consume_front(Name) && (Rest.empty() || (Rest.consume_front(",") && !Rest.empty()))) {
      Text = Rest;
      return Level;
    }
  }
  return std::nullopt;
}

static ModulePassManager buildDefault(PassBuilder &Builder, OptimizationLevel Level) {
  return Level == OptimizationLevel::O0 ? Builder.buildO0DefaultPipeline(Level)
                                        : Builder.buildPerModuleDefaultPipeline(Level);
}

Expected<ModulePassManager> PipelineBuilder::parse(StringRef Pipeline) {
  ModulePassManager Passes;
  StringRef Rest = Pipeline;
  // LLVM's parser puts opt's tuning options over ours when it meets a default pipeline: clang's way is to
  // build it.
  while (std::optional<OptimizationLevel> Level = takeDefault(Rest))
    Passes.addPass(buildDefault(Builder, *Level));
  if (Rest.empty() && !Pipeline.empty())
    return Passes;
  if (Error E = Builder.parsePassPipeline(Passes, Rest)) {
    std::string Complaint = toString(std::move(E));
    return makeError(R3_BAD_PIPELINE,
                     "cannot parse the pipeline" + Twine(locate(Pipeline, Complaint)) + ": " + Complaint);
  }
  return Passes;
}

/// Some targets' default pipelines print `function()`, which LLVM refuses to parse.
static std::string dropEmptyAdaptors(std::string Text) {
  for (StringRef Empty : {"function()", "cgscc()", "loop()", "loop-mssa()", "module()"})
    for (size_t At; (At = Text.find(Empty)) != std::string::npos;) {
      size_t Size = Empty.size();
      if (At + Size < Text.size() && Text[At + Size] == ',')
        ++Size;
      else if (At > 0 && Text[At - 1] == ',')
        --At, ++Size;
      Text.erase(At, Size);
    }
  return Text;
}

std::string PipelineBuilder::print(ModulePassManager &Passes) {
  std::string Text;
  raw_string_ostream Stream(Text);
  Passes.printPipeline(Stream, [&](StringRef ClassName) {
    StringRef Name = Callbacks.getPassNameForClassName(ClassName);
    return Name.empty() ? ClassName : Name;
  });
  return dropEmptyAdaptors(Text);
}

} // namespace r3
