// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "common/names.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace r3 {

/// 64 bits in hex.
static bool isUnitId(StringRef Text) {
  return !Text.empty() && Text.size() <= 16 &&
         all_of(Text, [](char C) { return isHexDigit(C) && !isUpper(C); });
}

StringRef withoutUnitId(StringRef Name) {
  for (StringRef Mark : {"__static__", "__intern__", ".static.", ".intern."})
    if (size_t At = Name.rfind(Mark); At != StringRef::npos && isUnitId(Name.drop_front(At + Mark.size())))
      return Name.take_front(At);
  return Name;
}

std::string ptxName(StringRef Name) {
  std::string Valid;
  for (char C : Name)
    if (C == '.' || C == '@')
      Valid += "_$_";
    else
      Valid += C;
  return Valid;
}

} // namespace r3
