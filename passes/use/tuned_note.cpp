// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "use/tuned_note.h"

#include "use/launch_guard.h"
#include "use/messages.h"

#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

#include <map>

using namespace llvm;

namespace r3 {
namespace {

StringRef statusName(const KernelOutcome &Outcome) {
  switch (Outcome.choice.match) {
  case Match::Tuned:
    return Outcome.applied ? "tuned" : "left out";
  case Match::NoEntry:
    return "no entry";
  case Match::NoDevice:
    return "other device";
  case Match::HasChanged:
    return "changed";
  }
  llvm_unreachable("all matches handled");
}

json::Object toJson(const std::map<std::string, std::string> &Texts) {
  json::Object Fields;
  for (const auto &[Key, Value] : Texts)
    Fields[Key] = Value;
  return Fields;
}

/// Kernels of one device module's JSON by name.
std::map<std::string, json::Object *> kernelsOf(json::Value &Document) {
  std::map<std::string, json::Object *> Found;
  json::Object *Fields = Document.getAsObject();
  json::Array *Kernels = Fields ? Fields->getArray("kernels") : nullptr;
  if (Kernels)
    for (json::Value &Kernel : *Kernels)
      if (json::Object *Own = Kernel.getAsObject(); Own && Own->getString("name"))
        Found[Own->getString("name")->str()] = Own;
  return Found;
}

const json::Value *ruleText(const json::Object &Kernel) {
  const json::Value *Text = Kernel.get("launch");
  return Text && !Text->getAsNull() ? Text : nullptr;
}

/// All architectures run the same host code, so they must agree.
bool agree(ArrayRef<json::Object *> Kernels) {
  const json::Value *First = ruleText(*Kernels.front());
  return all_of(Kernels, [&](const json::Object *Kernel) {
    const json::Value *Own = ruleText(*Kernel);
    return Own && First && *Own == *First;
  });
}

void leaveOut(const Module &Host, const std::string &Name, ArrayRef<json::Object *> Kernels,
              const std::string &Reason) {
  warnOnce(Host,
           Host.getSourceFileName() + ": " + demangle(Name) + " keeps its launch dimensions: " + Reason);
  for (json::Object *Kernel : Kernels)
    if (ruleText(*Kernel)) {
      (*Kernel)["launch"] = nullptr;
      if (json::Array *Notes = Kernel->getArray("notes"))
        Notes->push_back(Reason);
    }
}

} // namespace

json::Object describeProfile(const Profile &Used) { return json::Object{{"sha256", Used.sha256}}; }

json::Object describeOutcome(const KernelOutcome &Outcome) {
  json::Object Fields{
      {"name", Outcome.name}, {"profile", statusName(Outcome)}, {"notes", json::Array(Outcome.notes)}};
  const ProfileEntry *Entry = Outcome.choice.entry;
  if (!Outcome.applied || !Entry)
    return Fields;
  Fields["digest"] = Entry->digest;
  Fields["device"] = Entry->device;
  Fields["pipeline"] = Entry->pipeline ? json::Value(*Entry->pipeline) : json::Value(nullptr);
  Fields["attributes"] = toJson(Entry->attributes);
  Fields["module"] = toJson(Entry->unitOptions);
  Fields["launch"] = Entry->launchText;
  return Fields;
}

bool isTuned(const CapturedModule &Captured) {
  if (!StringRef(Captured.json)
           .contains("\"profile\":")) // parsing every plain build's JSON would take its time
    return false;
  Expected<json::Value> Document = json::parse(Captured.json);
  if (!Document) {
    consumeError(Document.takeError());
    return false;
  }
  const json::Object *Fields = Document->getAsObject();
  return Fields && Fields->getObject("profile");
}

void applyLaunchRules(Module &Host, std::vector<CapturedModule> &Modules) {
  if (none_of(Modules, isTuned))
    return;
  std::vector<json::Value> Documents;
  std::map<std::string, std::vector<json::Object *>> ByKernel;
  Documents.reserve(Modules.size()); // pointers into it are kept
  for (const CapturedModule &Captured : Modules) {
    Expected<json::Value> Parsed = json::parse(Captured.json);
    if (!Parsed) {
      consumeError(Parsed.takeError());
      return;
    }
    Documents.push_back(std::move(*Parsed));
    for (auto &[Name, Kernel] : kernelsOf(Documents.back()))
      ByKernel[Name].push_back(Kernel);
  }
  for (auto &[Name, Kernels] : ByKernel) {
    if (none_of(Kernels, [](const json::Object *Kernel) { return ruleText(*Kernel) != nullptr; }))
      continue;
    std::optional<LaunchRule> Rule;
    if (agree(Kernels) && Kernels.size() == Modules.size())
      Rule = parseLaunchRule(*ruleText(*Kernels.front()));
    std::string Problem = Rule
                              ? guardLaunches(Host, Name, *Rule)
                              : "the profile has no launch rule that holds for all architectures of the unit";
    if (!Problem.empty())
      leaveOut(Host, Name, Kernels, Problem);
  }
  for (size_t Index = 0; Index < Modules.size(); ++Index) {
    Modules[Index].json.clear();
    raw_string_ostream(Modules[Index].json) << Documents[Index];
  }
}

} // namespace r3
