// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/parse.h"

#include "replay/pipeline.h"
#include "replay/target.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/PassInfo.h"
#include "llvm/PassRegistry.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <set>
#include <string>
#include <vector>

using namespace llvm;

namespace r3 {

namespace {

Expected<std::unique_ptr<TargetMachine>> machineFor(const TargetRequest &Request) {
  TargetSpec Spec;
  Spec.Triple = Triple(Request.Triple);
  Spec.CPU = Request.CPU;
  return createTargetMachine(Spec);
}

using NameSet = std::set<std::string, std::less<>>;

struct PassList {
  std::map<std::string, NameSet, std::less<>> Levels = {
      {"module", {}}, {"cgscc", {}}, {"function", {}}, {"loop", {}}, {"loop-mssa", {}}};
  std::map<std::string, std::string> Parameters;

  bool contains(StringRef Name) const {
    return any_of(Levels, [&](const auto &Level) { return Level.second.count(Name) != 0; });
  }
};

/// The level that a heading of LLVM's listing speaks of; "" for analyses and machine passes.
StringRef levelOfHeading(StringRef Heading) {
  return StringSwitch<StringRef>(Heading)
      .Cases({"Module passes:", "Module passes with params:"}, "module")
      .Cases({"CGSCC passes:", "CGSCC passes with params:"}, "cgscc")
      .Cases({"Function passes:", "Function passes with params:"}, "function")
      .Cases({"LoopNest passes:", "Loop passes:", "Loop passes with params:"}, "loop")
      .Default("");
}

/// "licm<allowspeculation>": a name and the options that it takes.
void addPass(PassList &List, StringRef Level, StringRef Entry) {
  auto [Name, Options] = Entry.split('<');
  List.Levels.find(Level)->second.insert(Name.str());
  if (Options.consume_back(">"))
    List.Parameters[Name.str()] = Options.str();
}

PassList readListing(StringRef Listing) {
  PassList List;
  StringRef Level;
  for (StringRef Line : split(Listing, '\n')) {
    if (Line.ends_with(":"))
      Level = levelOfHeading(Line);
    else if (!Level.empty() && !Line.trim().empty())
      addPass(List, Level, Line.trim());
  }
  return List;
}

template <typename Manager> bool parses(PassBuilder &Builder, StringRef Name) {
  Manager Passes;
  Error E = Builder.parsePassPipeline(Passes, Name);
  bool Good = !E;
  consumeError(std::move(E));
  return Good;
}

/// Names in the registry of the code generator's passes. Copied, since a pass that is made may register
/// others, which waits for the end of the enumeration.
std::vector<std::string> registeredNames() {
  class Listener : public PassRegistrationListener {
  public:
    void passEnumerate(const PassInfo *Info) override { Names.push_back(Info->getPassArgument().str()); }

    std::vector<std::string> Names;
  };
  Listener L;
  PassRegistry::getPassRegistry()->enumerateWith(&L);
  return std::move(L.Names);
}

/// A target's own passes are in no listing: those that its code generator registers, too, are found by asking
/// the parser about each name in the registry.
void addTargetPasses(PassList &List, PassBuilder &Builder) {
  for (const std::string &Name : registeredNames()) {
    if (Name.empty() || List.contains(Name))
      continue;
    if (parses<FunctionPassManager>(Builder, Name))
      List.Levels["function"].insert(Name);
    else if (parses<ModulePassManager>(Builder, Name))
      List.Levels["module"].insert(Name);
  }
}

/// Names inside the `loop-mssa(…)` of LLVM's own pipelines: those work with MemorySSA and keep it.
void addMemorySSAPasses(PassList &List, StringRef Pipeline) {
  constexpr StringRef Adaptor = "loop-mssa(";
  for (size_t At = Pipeline.find(Adaptor); At != StringRef::npos; At = Pipeline.find(Adaptor, At + 1)) {
    StringRef Inside = Pipeline.substr(At + Adaptor.size());
    Inside = Inside.take_front(Inside.find(')'));
    for (StringRef Entry : split(Inside, ','))
      if (StringRef Name = Entry.split('<').first; List.Levels["loop"].count(Name))
        List.Levels["loop-mssa"].insert(Name.str());
  }
}

/// These abort the process in `loop(…)`: they need MemorySSA, which the parser does not check.
void moveMemorySSAOnlyPasses(PassList &List) {
  for (const char *Name : {"licm", "lnicm"})
    if (List.Levels["loop"].erase(Name))
      List.Levels["loop-mssa"].insert(Name);
}

/// The text that puts a pass of Level into a module pipeline.
std::string inAdaptor(StringRef Level, StringRef Name) {
  if (Level.starts_with("loop"))
    return ("function(" + Level + "(" + Name + "))").str();
  return (Level + "(" + Name + ")").str();
}

/// Some passes must be given parameters: by name alone they are none.
void dropPassesThatNeedParameters(PassList &List, PassBuilder &Builder) {
  for (auto &[Level, Names] : List.Levels)
    for (auto Name = Names.begin(); Name != Names.end();)
      if (parses<ModulePassManager>(Builder, inAdaptor(Level, *Name)))
        ++Name;
      else
        Name = Names.erase(Name);
}

json::Object toJSON(const PassList &List) {
  json::Object Report;
  for (const auto &[Level, Names] : List.Levels)
    Report[Level] = json::Array(Names);
  json::Object Parameters;
  for (const auto &[Name, Options] : List.Parameters)
    Parameters[Name] = Options;
  Report["parameters"] = std::move(Parameters);
  return Report;
}

std::string listing(PassBuilder &Builder) {
  std::string Text;
  raw_string_ostream Stream(Text);
  Builder.printPassNames(Stream);
  return Text;
}

} // namespace

Expected<Product> parsePipeline(const TargetRequest &Request) {
  Expected<std::unique_ptr<TargetMachine>> Machine = machineFor(Request);
  if (!Machine)
    return Machine.takeError();
  LLVMContext Context;
  PipelineTuningOptions Tuning;
  Tuning.SLPVectorization = true; // as clang and opt have it; a bare pass builder leaves it out
  PipelineBuilder Builder(Context, **Machine, Tuning);
  Expected<ModulePassManager> Passes = Builder.parse(Request.Pipeline);
  if (!Passes)
    return Passes.takeError();
  Product Result;
  Result.Report["pipeline"] = Builder.print(*Passes);
  return Result;
}

Expected<Product> listPasses(const TargetRequest &Request) {
  Expected<std::unique_ptr<TargetMachine>> Machine = machineFor(Request);
  if (!Machine)
    return Machine.takeError();
  LLVMContext Context;
  PipelineBuilder Builder(Context, **Machine);
  PassList List = readListing(listing(Builder.passBuilder()));
  addTargetPasses(List, Builder.passBuilder());
  Expected<ModulePassManager> Default = Builder.parse("default<O3>");
  if (!Default)
    return Default.takeError();
  addMemorySSAPasses(List, Builder.print(*Default));
  moveMemorySSAOnlyPasses(List);
  dropPassesThatNeedParameters(List, Builder.passBuilder());
  Product Result;
  Result.Report = toJSON(List);
  return Result;
}

} // namespace r3
