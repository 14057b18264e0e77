// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "use/version.h"

#include "common/digest.h"
#include "replay/launch_facts.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Function.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace r3 {
namespace {

/// Shared bytes a block that every CUDA device gives without cudaFuncSetAttribute, which the application
/// calls for the kernel that it knows.
constexpr uint64_t SharedWithoutAsking = 48 * 1024;
/// Shared memory is given in steps; within one, what alignment adds to the variables' sizes does not matter.
constexpr uint64_t SharedStep = 1024;
constexpr size_t DigitsOfName = 12;

json::Value toJSON(const std::optional<Dim3> &Extents) {
  if (!Extents)
    return nullptr;
  return json::Array{(*Extents)[0], (*Extents)[1], (*Extents)[2]};
}

json::Value toJSON(const Table &Of) {
  json::Object Fields{{"size", Of.bytes.size()}, {"value", toHex(Of.bytes, true)}};
  if (Of.variable.empty()) {
    Fields["argument"] = Of.argument;
    Fields["offset"] = Of.offset;
  } else {
    Fields["variable"] = Of.variable;
  }
  return Fields;
}

std::string textOf(const Dim3 &Extents) {
  return (Twine(Extents[0]) + "," + Twine(Extents[1]) + "," + Twine(Extents[2])).str();
}

std::optional<uint64_t> threadsOf(const ProfileEntry &Entry) {
  auto Found = Entry.attributes.find("maxntid");
  if (Found == Entry.attributes.end())
    return std::nullopt;
  uint64_t Threads = 1, Extent;
  for (StringRef Part : split(Found->second, ','))
    Threads *= Part.trim().getAsInteger(10, Extent) ? 1 : Extent;
  return Threads;
}

} // namespace

KernelVersion versionFor(const ProfileEntry &Entry, Function &Kernel) {
  uint64_t Static = alignTo(launchFacts(*Kernel.getParent(), Kernel).StaticShared, SharedStep);
  uint64_t Free = Static < SharedWithoutAsking ? SharedWithoutAsking - Static : 0;
  KernelVersion Version{{}, *Entry.specialised, threadsOf(Entry), Free};
  std::string Values;
  raw_string_ostream(Values) << toJSON(Version);
  Version.name = (Kernel.getName() + "__r3_" + StringRef(sha256(Values)).take_front(DigitsOfName)).str();
  return Version;
}

SpecialiseRequest specialiseRequest(StringRef Kernel, const KernelVersion &Version) {
  SpecialiseRequest Request{Kernel.str(), {}, {}, {}, {}};
  for (const ArgumentConstant &Argument : Version.values.arguments)
    Request.Arguments.push_back(std::to_string(Argument.index) + "=" + toHex(Argument.bytes));
  if (Version.values.block)
    Request.Block = textOf(*Version.values.block);
  if (Version.values.grid)
    Request.Grid = textOf(*Version.values.grid);
  for (const Table &Each : Version.values.tables)
    Request.Tables.push_back(textOf(Each));
  return Request;
}

json::Value toJSON(const KernelVersion &Version) {
  json::Array Arguments, Tables;
  for (const ArgumentConstant &Argument : Version.values.arguments)
    Arguments.push_back(json::Object{{"index", Argument.index}, {"value", toHex(Argument.bytes, true)}});
  for (const Table &Each : Version.values.tables)
    Tables.push_back(toJSON(Each));
  return json::Object{{"version", Version.name},
                      {"arguments", std::move(Arguments)},
                      {"block", toJSON(Version.values.block)},
                      {"grid", toJSON(Version.values.grid)},
                      {"tables", std::move(Tables)},
                      {"threads", Version.threads ? json::Value(*Version.threads) : json::Value(nullptr)},
                      {"shared", Version.shared}};
}

std::optional<KernelVersion> parseVersion(const json::Value &Value) {
  const json::Object *Fields = Value.getAsObject();
  std::optional<Specialisation> Values = parseSpecialisation(Value);
  std::optional<StringRef> Name = Fields ? Fields->getString("version") : std::nullopt;
  std::optional<int64_t> Shared = Fields ? Fields->getInteger("shared") : std::nullopt;
  if (!Values || !Name || !Shared)
    return std::nullopt;
  KernelVersion Version{Name->str(), std::move(*Values), std::nullopt, static_cast<uint64_t>(*Shared)};
  if (std::optional<int64_t> Threads = Fields->getInteger("threads"))
    Version.threads = *Threads;
  return Version;
}

} // namespace r3
