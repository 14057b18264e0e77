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

/// Null where the kernel has no such field.
const json::Value *fieldOf(const json::Object &Kernel, StringRef Key) {
  const json::Value *Found = Kernel.get(Key);
  return Found && !Found->getAsNull() ? Found : nullptr;
}

bool changesLaunches(const json::Object *Kernel) {
  return fieldOf(*Kernel, "launch") || fieldOf(*Kernel, "specialised");
}

/// All architectures run the same host code, so they must agree.
bool agree(ArrayRef<json::Object *> Kernels) {
  auto Same = [&](const json::Object *Kernel, StringRef Key) {
    const json::Value *First = fieldOf(*Kernels.front(), Key), *Own = fieldOf(*Kernel, Key);
    return First && Own ? *First == *Own : First == Own;
  };
  return all_of(Kernels, [&](const json::Object *Kernel) {
    return Same(Kernel, "launch") && Same(Kernel, "specialised");
  });
}

/// Nothing where a field is not what it should be.
std::optional<LaunchChange> launchChange(const json::Object &Kernel) {
  LaunchChange Change;
  if (const json::Value *Text = fieldOf(Kernel, "launch"))
    if (!(Change.rule = parseLaunchRule(*Text)))
      return std::nullopt;
  if (const json::Value *Text = fieldOf(Kernel, "specialised"))
    if (!(Change.version = parseVersion(*Text)))
      return std::nullopt;
  return Change;
}

void leaveOut(const Module &Host, const std::string &Name, ArrayRef<json::Object *> Kernels,
              const std::string &Reason) {
  bool HasVersion = any_of(Kernels, [](const json::Object *K) { return fieldOf(*K, "specialised"); });
  warnOnce(Host, Host.getSourceFileName() + ": " + demangle(Name) +
                     (HasVersion ? " keeps its launches, and no second version of it is used: "
                                 : " keeps its launch dimensions: ") +
                     Reason);
  for (json::Object *Kernel : Kernels) {
    if (!changesLaunches(Kernel))
      continue;
    if (fieldOf(*Kernel, "specialised"))
      (*Kernel)["profile"] = "left out";
    (*Kernel)["launch"] = nullptr;
    (*Kernel)["specialised"] = nullptr;
    if (json::Array *Notes = Kernel->getArray("notes"))
      Notes->push_back(Reason);
  }
}

/// Nothing where one of them can't be read.
std::optional<std::vector<json::Value>> documentsOf(ArrayRef<CapturedModule> Modules) {
  std::vector<json::Value> Documents;
  for (const CapturedModule &Captured : Modules) {
    Expected<json::Value> Parsed = json::parse(Captured.json);
    if (!Parsed) {
      consumeError(Parsed.takeError());
      return std::nullopt;
    }
    Documents.push_back(std::move(*Parsed));
  }
  return Documents;
}

/// Kernels: one kernel in the modules that have it, of Architectures in all.
void changeLaunches(Module &Host, const std::string &Name, ArrayRef<json::Object *> Kernels,
                    size_t Architectures) {
  std::optional<LaunchChange> Change;
  if (agree(Kernels) && Kernels.size() == Architectures)
    Change = launchChange(*Kernels.front());
  std::string Problem = Change
                            ? guardLaunches(Host, Name, *Change)
                            : "the profile has no launch rule that holds for all architectures of the unit";
  if (!Problem.empty())
    leaveOut(Host, Name, Kernels, Problem);
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
  Fields["specialised"] = Outcome.version ? toJSON(*Outcome.version) : json::Value(nullptr);
  return Fields;
}

json::Object describeVersion(const KernelOutcome &Outcome) {
  const ProfileEntry &Entry = *Outcome.choice.entry;
  return json::Object{{"name", Outcome.version->name},
                      {"profile", "version"},
                      {"version_of", Outcome.name},
                      {"pipeline", *Entry.pipeline},
                      {"attributes", toJson(Entry.attributes)},
                      {"module", toJson(Entry.unitOptions)},
                      {"notes", json::Array()}};
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

void applyLaunchChanges(Module &Host, std::vector<CapturedModule> &Modules) {
  if (none_of(Modules, isTuned))
    return;
  std::optional<std::vector<json::Value>> Documents = documentsOf(Modules);
  if (!Documents)
    return;
  std::map<std::string, std::vector<json::Object *>> ByKernel;
  for (json::Value &Document : *Documents)
    for (auto &[Name, Kernel] : kernelsOf(Document))
      ByKernel[Name].push_back(Kernel);
  for (auto &[Name, Kernels] : ByKernel)
    if (any_of(Kernels, changesLaunches))
      changeLaunches(Host, Name, Kernels, Modules.size());
  for (auto [Captured, Document] : zip_equal(Modules, *Documents)) {
    Captured.json.clear();
    raw_string_ostream(Captured.json) << Document;
  }
}

} // namespace r3
