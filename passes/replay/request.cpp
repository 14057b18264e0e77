// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/request.h"

#include "replay/result.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;

namespace r3 {

namespace {

/// Reads the keys of one JSON object; remembers the first thing wrong, and which keys were asked for.
class Fields {
public:
  Fields(const json::Object &Object, StringRef Where) : Object(Object), Where(Where) {}

  template <typename T> void optional(StringRef Key, T &Value) {
    if (const json::Value *Found = find(Key))
      check(read(*Found, Value), Key);
  }

  template <typename T> void required(StringRef Key, T &Value) {
    if (!Object.get(Key))
      complain("has no \"" + Key + "\"");
    optional(Key, Value);
  }

  /// A number from 0 to Maximum.
  void optionalLevel(StringRef Key, unsigned &Value, unsigned Maximum) {
    const json::Value *Found = find(Key);
    if (!Found)
      return;
    std::optional<int64_t> Number = Found->getAsInteger();
    if (!Number || *Number < 0 || *Number > Maximum)
      return complain("needs a number from 0 to " + Twine(Maximum) + " for \"" + Key + "\"");
    Value = *Number;
  }

  /// One of the named choices.
  template <typename T>
  void optionalChoice(StringRef Key, T &Value, ArrayRef<std::pair<StringRef, T>> Choices) {
    const json::Value *Found = find(Key);
    if (!Found)
      return;
    StringRef Name = Found->getAsString().value_or("");
    const auto *Choice = find_if(Choices, [&](const auto &C) { return C.first == Name; });
    if (Choice != Choices.end()) {
      Value = Choice->second;
      return;
    }
    auto Names = map_range(Choices, [](const auto &C) { return "\"" + C.first.str() + "\""; });
    complain("needs one of " + join(Names.begin(), Names.end(), ", ") + " for \"" + Key + "\"");
  }

  /// A nested object, whose own first complaint becomes this one's.
  template <typename Reader> void optionalObject(StringRef Key, Reader Read) {
    const json::Value *Found = find(Key);
    if (!Found)
      return;
    const json::Object *Nested = Found->getAsObject();
    if (!Nested)
      return check(false, Key);
    Fields Inner(*Nested, Key);
    Read(Inner);
    if (Error E = Inner.finish())
      complain("is wrong: " + toString(std::move(E)));
  }

  Error finish() {
    for (const auto &Entry : Object)
      if (!Known.contains(StringRef(Entry.first)))
        complain("has the unknown key \"" + StringRef(Entry.first) + "\"");
    if (Complaint.empty())
      return Error::success();
    return makeError(R3_BAD_REQUEST, Complaint);
  }

private:
  const json::Value *find(StringRef Key) {
    Known.insert(Key);
    return Object.get(Key);
  }

  static bool read(const json::Value &From, std::string &To) {
    std::optional<StringRef> Text = From.getAsString();
    if (Text)
      To = Text->str();
    return Text.has_value();
  }

  static bool read(const json::Value &From, std::optional<std::string> &To) {
    std::string Text;
    bool Good = read(From, Text);
    if (Good)
      To = std::move(Text);
    return Good;
  }

  static bool read(const json::Value &From, bool &To) {
    std::optional<bool> Flag = From.getAsBoolean();
    if (Flag)
      To = *Flag;
    return Flag.has_value();
  }

  static bool read(const json::Value &From, std::vector<std::string> &To) {
    const json::Array *List = From.getAsArray();
    if (!List)
      return false;
    for (const json::Value &Element : *List)
      if (!read(Element, To.emplace_back()))
        return false;
    return true;
  }

  static bool read(const json::Value &From, std::vector<uint64_t> &To) {
    const json::Array *List = From.getAsArray();
    if (!List)
      return false;
    for (const json::Value &Element : *List) {
      std::optional<uint64_t> Number = Element.getAsUINT64();
      if (!Number)
        return false;
      To.push_back(*Number);
    }
    return true;
  }

  void check(bool Good, StringRef Key) {
    if (!Good)
      complain("has a value of the wrong type for \"" + Key + "\"");
  }

  void complain(const Twine &What) {
    if (Complaint.empty())
      Complaint = ("the " + Where + " " + What).str();
  }

  const json::Object &Object;
  std::string Where;
  std::string Complaint;
  StringSet<> Known;
};

template <typename Reader> Error readRequest(StringRef Text, StringRef Name, Reader Read) {
  Expected<json::Value> Parsed = json::parse(Text);
  if (!Parsed)
    return makeError(R3_BAD_REQUEST, "the " + Name + " is not JSON: " + toString(Parsed.takeError()));
  const json::Object *Object = Parsed->getAsObject();
  if (!Object)
    return makeError(R3_BAD_REQUEST, "the " + Name + " is not a JSON object");
  Fields All(*Object, Name);
  Read(All);
  return All.finish();
}

Error checkAttribute(StringRef Name, const std::optional<std::string> &Text, size_t MaxCount) {
  if (!Text || Text->empty() || isNumberList(*Text, MaxCount))
    return Error::success();
  return makeError(R3_BAD_REQUEST, "kernel attribute \"" + Name + "\" takes at most " + Twine(MaxCount) +
                                       " positive numbers, not \"" + *Text + "\"");
}

Error checkAttributes(const KernelAttributes &Attributes) {
  if (Error E = checkAttribute("maxntid", Attributes.MaxNTid, 3))
    return E;
  if (Error E = checkAttribute("minctasm", Attributes.MinCTASm, 1))
    return E;
  if (Error E = checkAttribute("maxnreg", Attributes.MaxNReg, 1))
    return E;
  if (Error E = checkAttribute("flat_work_group_size", Attributes.FlatWorkGroupSize, 2))
    return E;
  if (Error E = checkAttribute("waves_per_eu", Attributes.WavesPerEU, 2))
    return E;
  return checkAttribute("num_vgpr", Attributes.NumVGPR, 1);
}

void readAttributes(Fields &F, KernelAttributes &Attributes) {
  F.optional("maxntid", Attributes.MaxNTid);
  F.optional("minctasm", Attributes.MinCTASm);
  F.optional("maxnreg", Attributes.MaxNReg);
  F.optional("flat_work_group_size", Attributes.FlatWorkGroupSize);
  F.optional("waves_per_eu", Attributes.WavesPerEU);
  F.optional("num_vgpr", Attributes.NumVGPR);
}

void readCompileRequest(Fields &F, CompileRequest &Request) {
  F.required("pipeline", Request.Pipeline);
  F.optionalLevel("codegen_level", Request.CodegenLevel, 3);
  F.optionalChoice<FPContract>("fp_contract", Request.Contract,
                               {{"off", FPContract::Off},
                                {"on", FPContract::On},
                                {"fast", FPContract::Fast},
                                {"never", FPContract::Never}});
  F.optional("cpu", Request.CPU);
  F.optional("features", Request.Features);
  F.optional("vectorize_loops", Request.VectorizeLoops);
  F.optional("vectorize_slp", Request.VectorizeSLP);
  F.optional("unroll_loops", Request.UnrollLoops);
  F.optional("mllvm", Request.LLVMOptions);
  F.optionalObject("kernel_attributes", [&](Fields &Inner) { readAttributes(Inner, Request.Attributes); });
  F.optional("remarks", Request.Remarks);
  F.optionalChoice<Emit>("emit", Request.Output,
                         {{"assembly", Emit::Assembly},
                          {"object", Emit::Object},
                          {"bitcode", Emit::Bitcode},
                          {"text", Emit::Text}});
}

} // namespace

bool isNumberList(StringRef Text, size_t MaxCount) {
  SmallVector<StringRef, 3> Parts;
  Text.split(Parts, ',');
  return Parts.size() <= MaxCount && all_of(Parts, [](StringRef Part) {
           unsigned Number;
           return !Part.getAsInteger(10, Number) && Number > 0;
         });
}

Expected<CompileRequest> parseCompileRequest(StringRef JSON) {
  CompileRequest Request;
  if (Error E = readRequest(JSON, "compile request", [&](Fields &F) { readCompileRequest(F, Request); }))
    return E;
  if (Error E = checkAttributes(Request.Attributes))
    return E;
  return Request;
}

Expected<KernelRequest> parseKernelRequest(StringRef JSON) {
  KernelRequest Request;
  if (Error E = readRequest(JSON, "kernel request", [&](Fields &F) { F.required("kernel", Request.Kernel); }))
    return E;
  return Request;
}

Expected<LinkRequest> parseLinkRequest(StringRef JSON) {
  LinkRequest Request;
  if (Error E = readRequest(JSON, "link request", [&](Fields &F) { F.required("sizes", Request.Sizes); }))
    return E;
  return Request;
}

Expected<SpecialiseRequest> parseSpecialiseRequest(StringRef JSON) {
  SpecialiseRequest Request;
  auto Read = [&](Fields &F) {
    F.required("kernel", Request.Kernel);
    F.optional("arguments", Request.Arguments);
    F.optional("block", Request.Block);
    F.optional("grid", Request.Grid);
    F.optional("tables", Request.Tables);
  };
  if (Error E = readRequest(JSON, "specialise request", Read))
    return E;
  return Request;
}

Expected<TargetRequest> parsePipelineRequest(StringRef JSON) {
  TargetRequest Request;
  auto Read = [&](Fields &F) {
    F.required("pipeline", Request.Pipeline);
    F.required("triple", Request.Triple);
    F.optional("cpu", Request.CPU);
  };
  if (Error E = readRequest(JSON, "pipeline request", Read))
    return E;
  return Request;
}

Expected<TargetRequest> parseListRequest(StringRef JSON) {
  TargetRequest Request;
  auto Read = [&](Fields &F) {
    F.required("triple", Request.Triple);
    F.optional("cpu", Request.CPU);
  };
  if (Error E = readRequest(JSON, "pass list request", Read))
    return E;
  return Request;
}

} // namespace r3
