// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "text.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace r3 {

std::vector<std::string> split(std::string_view Text, char Separator) {
  std::vector<std::string> Parts;
  for (size_t Start = 0; Start <= Text.size();) {
    size_t End = std::min(Text.find(Separator, Start), Text.size());
    if (End != Start)
      Parts.emplace_back(Text.substr(Start, End - Start));
    Start = End + 1;
  }
  return Parts;
}

std::vector<std::string> splitWords(std::string_view Text) {
  std::vector<std::string> Words;
  std::string Word;
  bool InWord = false;
  char Quote = 0;
  for (size_t Index = 0; Index < Text.size(); ++Index) {
    char C = Text[Index];
    if (!Quote && std::isspace(static_cast<unsigned char>(C))) {
      if (InWord)
        Words.push_back(std::exchange(Word, {}));
      InWord = false;
      continue;
    }
    InWord = true;
    if (C == '\\' && Index + 1 < Text.size())
      Word += Text[++Index];
    else if (Quote ? C == Quote : C == '"' || C == '\'')
      Quote = Quote ? 0 : C;
    else
      Word += C;
  }
  if (InWord)
    Words.push_back(Word);
  return Words;
}

std::string join(const std::vector<std::string> &Parts, std::string_view Separator) {
  std::string Text;
  for (const std::string &Part : Parts) {
    if (!Text.empty())
      Text += Separator;
    Text += Part;
  }
  return Text;
}

std::string substitute(std::string_view Text, std::string_view Value) {
  std::string Result;
  for (char C : Text)
    if (C == '%')
      Result += Value;
    else
      Result += C;
  return Result;
}

} // namespace r3
