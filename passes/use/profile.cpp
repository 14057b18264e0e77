// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "use/profile.h"

#include "common/digest.h"
#include "replay/request.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;

namespace r3 {
namespace {

constexpr int64_t Version = 3;
constexpr int MostNested = 64; ///< LLVM's parser calls itself for each array within an array

Error fail(const Twine &Sentence) { return createStringError(inconvertibleErrorCode(), Sentence.str()); }

/// Whether arrays and objects stand within one another beyond what any profile has.
bool isTooDeep(StringRef Text) {
  int Depth = 0;
  bool InString = false;
  for (size_t At = 0; At < Text.size(); ++At) {
    char C = Text[At];
    if (InString && C == '\\')
      ++At;
    else if (C == '"')
      InString = !InString;
    else if (!InString && (C == '[' || C == '{') && ++Depth > MostNested)
      return true;
    else if (!InString && (C == ']' || C == '}'))
      --Depth;
  }
  return false;
}

std::optional<uint32_t> parseIndex(const json::Object *Fields, StringRef Key) {
  std::optional<int64_t> Index = Fields ? Fields->getInteger(Key) : std::nullopt;
  return Index && isUInt<32>(*Index) ? std::optional<uint32_t>(*Index) : std::nullopt;
}

std::optional<Dim3> parseDimensions(const json::Value *Value) {
  const json::Array *Numbers = Value ? Value->getAsArray() : nullptr;
  if (!Numbers || Numbers->size() != 3)
    return std::nullopt;
  Dim3 Dimensions;
  for (size_t Axis = 0; Axis < 3; ++Axis) {
    std::optional<int64_t> Extent = (*Numbers)[Axis].getAsInteger();
    if (!Extent || *Extent < 1 || *Extent > INT32_MAX)
      return std::nullopt;
    Dimensions[Axis] = *Extent;
  }
  return Dimensions;
}

std::optional<LaunchShape> parseShape(const json::Value &Value) {
  const json::Object *Fields = Value.getAsObject();
  if (!Fields)
    return std::nullopt;
  std::optional<Dim3> Grid = parseDimensions(Fields->get("grid")),
                      Block = parseDimensions(Fields->get("block"));
  std::optional<int64_t> Shared = Fields->getInteger("shared");
  if (!Grid || !Block || !Shared || *Shared < 0)
    return std::nullopt;
  return LaunchShape{*Grid, *Block, static_cast<uint64_t>(*Shared)};
}

std::optional<ShapeBlock> parseShapeBlock(const json::Value &Value) {
  const json::Object *Fields = Value.getAsObject();
  const json::Value *Shape = Fields ? Fields->get("shape") : nullptr;
  std::optional<LaunchShape> Asked = Shape ? parseShape(*Shape) : std::nullopt;
  std::optional<Dim3> Block = Fields ? parseDimensions(Fields->get("block")) : std::nullopt;
  if (!Asked || !Block)
    return std::nullopt;
  return ShapeBlock{*Asked, *Block};
}

std::optional<ArgumentConstant> parseConstant(const json::Value &Value) {
  const json::Object *Fields = Value.getAsObject();
  std::optional<uint32_t> Index = parseIndex(Fields, "index");
  std::optional<StringRef> Text = Fields ? Fields->getString("value") : std::nullopt;
  ArgumentConstant Constant;
  if (!Index || !Text || !tryGetFromHex(*Text, Constant.bytes) || Constant.bytes.empty() ||
      Constant.bytes.size() > MaxTableBytes)
    return std::nullopt;
  Constant.index = *Index;
  return Constant;
}

std::optional<Table> parseTableFields(const json::Value &Value) {
  const json::Object *Fields = Value.getAsObject();
  std::optional<StringRef> Variable = Fields ? Fields->getString("variable") : std::nullopt,
                           Content = Fields ? Fields->getString("value") : std::nullopt;
  std::optional<uint32_t> Argument = parseIndex(Fields, "argument");
  std::optional<int64_t> Offset = Fields ? Fields->getInteger("offset") : std::nullopt;
  Table Read;
  if (!Content || !tryGetFromHex(*Content, Read.bytes) || Read.bytes.empty() ||
      Read.bytes.size() > MaxTableBytes)
    return std::nullopt;
  if (Variable && !Variable->empty()) {
    Read.variable = Variable->str();
    return Read;
  }
  if (!Argument || !Offset || *Offset < 0)
    return std::nullopt;
  Read.argument = *Argument;
  Read.offset = static_cast<uint64_t>(*Offset);
  return Read;
}

std::optional<ScalarGuard> parseScalar(const json::Value &Value) {
  const json::Object *Fields = Value.getAsObject();
  const json::Array *Values = Fields ? Fields->getArray("values") : nullptr;
  std::optional<uint32_t> Index = parseIndex(Fields, "index");
  std::optional<int64_t> Size = Fields ? Fields->getInteger("size") : std::nullopt;
  if (!Values || Values->empty() || !Index || !Size || *Size < 1 || *Size > 8)
    return std::nullopt;
  ScalarGuard Guard{*Index, static_cast<uint32_t>(*Size), {}};
  for (const json::Value &Text : *Values) {
    std::string Bytes;
    if (!Text.getAsString() || !tryGetFromHex(*Text.getAsString(), Bytes) || Bytes.size() != Guard.size)
      return std::nullopt;
    Guard.values.push_back(std::move(Bytes));
  }
  return Guard;
}

template <typename Item, typename Parse>
bool parseAll(const json::Array *Values, std::vector<Item> &Items, Parse ParseOne) {
  if (!Values)
    return false;
  for (const json::Value &Value : *Values) {
    std::optional<Item> One = ParseOne(Value);
    if (!One)
      return false;
    Items.push_back(std::move(*One));
  }
  return true;
}

std::optional<std::map<std::string, std::string>> parseTexts(const json::Object *Fields) {
  if (!Fields)
    return std::nullopt;
  std::map<std::string, std::string> Texts;
  for (const auto &[Key, Value] : *Fields) {
    if (!Value.getAsString())
      return std::nullopt;
    Texts[StringRef(Key).str()] = Value.getAsString()->str();
  }
  return Texts;
}

/// Whether texts that LLVM and ptxas take for numbers are some; others have no meaning here.
bool hasNumbers(const std::map<std::string, std::string> &Texts) {
  auto IsGood = [](StringRef Key, StringRef Text) {
    if (Key == "opt-level" || Key == "ptxas-opt")
      return Text.size() == 1 && Text[0] >= '0' && Text[0] <= (Key == "ptxas-opt" ? '4' : '3');
    bool IsNumber = Key == "minctasm" || Key == "maxnreg" || Key == "maxrregcount";
    return Key == "maxntid" ? isNumberList(Text, 3) : !IsNumber || isNumberList(Text, 1);
  };
  return all_of(Texts, [&](const auto &Pair) { return IsGood(Pair.first, Pair.second); });
}

/// What is wrong with the parts that act on launches; empty if Entry has been filled.
std::string parseLaunches(const json::Object &Fields, ProfileEntry &Entry) {
  const json::Value *Launch = Fields.get("launch"), *Special = Fields.get("specialised");
  if (!Launch)
    return "has no \"launch\"";
  Entry.launchText = *Launch;
  if (!Launch->getAsNull() && !(Entry.launch = parseLaunchRule(*Launch)))
    return "has a bad \"launch\"";
  if (Special && !Special->getAsNull()) {
    Entry.specialised = parseSpecialisation(*Special);
    if (!Entry.specialised || !Entry.pipeline)
      return "has a bad \"specialised\", or one without a \"pipeline\"";
  }
  return {};
}

/// Why Fields are no entry; empty if Entry has been filled.
std::string parseEntry(const json::Object &Fields, ProfileEntry &Entry) {
  for (auto [Key, Text] :
       {std::pair("name", &Entry.name), std::pair("digest", &Entry.digest),
        std::pair("device", &Entry.device), std::pair("architecture", &Entry.architecture)}) {
    std::optional<StringRef> Value = Fields.getString(Key);
    if (!Value || Value->empty())
      return std::string("has no \"") + Key + "\"";
    *Text = Value->str();
  }
  const json::Value *Pipeline = Fields.get("pipeline");
  if (!Pipeline || !(Pipeline->getAsNull() || Pipeline->getAsString()))
    return "has no \"pipeline\"";
  if (std::optional<StringRef> Text = Pipeline->getAsString())
    Entry.pipeline = Text->str();
  auto Attributes = parseTexts(Fields.getObject("attributes")),
       Module = parseTexts(Fields.getObject("module"));
  std::optional<int64_t> Level = Fields.getInteger("codegen_level");
  if (!Attributes || !Module || !hasNumbers(*Attributes) || !hasNumbers(*Module) || !Level || *Level < 0 ||
      *Level > 3)
    return "has bad \"attributes\", \"module\" or \"codegen_level\"";
  Entry.attributes = std::move(*Attributes);
  Entry.unitOptions = std::move(*Module);
  Entry.codegenLevel = *Level;
  return parseLaunches(Fields, Entry);
}

/// As many blocks on each axis as hold the threads asked for.
std::array<uint64_t, 3> derivedGrid(const LaunchRule &Rule, const LaunchShape &Asked) {
  Dim3 Block = blockUnder(Rule, Asked);
  std::array<uint64_t, 3> Grid;
  for (size_t Axis = 0; Axis < 3; ++Axis)
    Grid[Axis] = divideCeil(uint64_t(Asked.grid[Axis]) * Asked.block[Axis], Block[Axis]);
  return Grid;
}

/// Whether there is a device that takes the grid of such a launch.
bool fits(const LaunchRule &Rule, const LaunchShape &Asked) {
  constexpr std::array<uint64_t, 3> Most = {INT32_MAX, 65535, 65535};
  std::array<uint64_t, 3> Grid = derivedGrid(Rule, Asked);
  return Rule.grid || (Grid[0] <= Most[0] && Grid[1] <= Most[1] && Grid[2] <= Most[2]);
}

} // namespace

std::optional<LaunchRule> parseLaunchRule(const json::Value &Value) {
  const json::Object *Fields = Value.getAsObject();
  const json::Object *Guard = Fields ? Fields->getObject("guard") : nullptr;
  std::optional<Dim3> Block = Fields ? parseDimensions(Fields->get("block")) : std::nullopt;
  if (!Guard || !Block)
    return std::nullopt;
  LaunchRule Rule{*Block, parseDimensions(Fields->get("grid")), {}, {}, {}};
  bool Derived = Fields->getString("grid") == StringRef("derived");
  if (Derived == Rule.grid.has_value() || !parseAll(Guard->getArray("shapes"), Rule.shapes, parseShape) ||
      !parseAll(Guard->getArray("scalars"), Rule.scalars, parseScalar))
    return std::nullopt;
  if (const json::Array *Own = Fields->getArray("by_shape"); // only where there are some
      Own && !parseAll(Own, Rule.byShape, parseShapeBlock))
    return std::nullopt;
  erase_if(Rule.shapes, [&](const LaunchShape &Asked) { return !fits(Rule, Asked); });
  return Rule;
}

std::optional<Specialisation> parseSpecialisation(const json::Value &Value) {
  const json::Object *Fields = Value.getAsObject();
  Specialisation Special;
  if (!Fields || !parseAll(Fields->getArray("arguments"), Special.arguments, parseConstant))
    return std::nullopt;
  if (const json::Array *Tables = Fields->getArray("tables"); // not in the files of version 2
      Tables && !parseAll(Tables, Special.tables, parseTableFields))
    return std::nullopt;
  for (auto [Key, Extents] : {std::pair("block", &Special.block), std::pair("grid", &Special.grid)}) {
    const json::Value *Text = Fields->get(Key);
    if (Text && !Text->getAsNull() && !(*Extents = parseDimensions(Text)))
      return std::nullopt;
  }
  return Special;
}

Dim3 blockUnder(const LaunchRule &Rule, const LaunchShape &Asked) {
  for (const ShapeBlock &Own : Rule.byShape)
    if (Own.shape == Asked)
      return Own.block;
  return Rule.block;
}

Dim3 gridUnder(const LaunchRule &Rule, const LaunchShape &Asked) {
  if (Rule.grid)
    return *Rule.grid;
  Dim3 Grid;
  copy(derivedGrid(Rule, Asked), Grid.begin());
  return Grid;
}

Expected<Profile> readProfile(const std::string &Path) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> File = MemoryBuffer::getFile(Path);
  if (!File)
    return fail("cannot read the profile " + Path + ": " + File.getError().message());
  StringRef Text = (*File)->getBuffer();
  if (isTooDeep(Text))
    return fail(Path + " is not a profile of R3: it is nested too deeply");
  Expected<json::Value> Document = json::parse(Text);
  if (!Document)
    consumeError(Document.takeError());
  const json::Object *Fields = Document ? Document->getAsObject() : nullptr;
  if (!Fields || Fields->getString("format") != StringRef("r3-profile") ||
      Fields->getInteger("version").value_or(0) < 1)
    return fail(Path + " is not a profile of R3; `r3 apply -o FILE` writes one");
  if (int64_t Found = *Fields->getInteger("version"); Found > Version)
    return fail("the profile " + Path + " has version " + Twine(Found) + ", this R3 reads up to " +
                Twine(Version) + "; use the R3 that wrote it");
  Profile Read{Path, sha256(Text), {}};
  const json::Array *Kernels = Fields->getArray("kernels");
  if (!Kernels)
    return fail("the profile " + Path + " is damaged: it has no list of kernels");
  for (const json::Value &Kernel : *Kernels) {
    ProfileEntry Entry;
    const json::Object *Own = Kernel.getAsObject();
    std::string Problem = Own ? parseEntry(*Own, Entry) : "is no object";
    if (!Problem.empty())
      return fail("the profile " + Path + " is damaged: entry " + Twine(Read.entries.size() + 1) + " " +
                  Problem);
    Read.entries.push_back(std::move(Entry));
  }
  return Read;
}

} // namespace r3
