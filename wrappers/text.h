// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef R3_WRAPPERS_TEXT_H
#define R3_WRAPPERS_TEXT_H

#include <string>
#include <string_view>
#include <vector>

namespace r3 {

inline bool startsWith(std::string_view Text, std::string_view Prefix) {
  return Text.substr(0, Prefix.size()) == Prefix;
}

inline bool endsWith(std::string_view Text, std::string_view Suffix) {
  return Text.size() >= Suffix.size() && Text.substr(Text.size() - Suffix.size()) == Suffix;
}

/// The parts of Text between separators; empty ones are left out.
std::vector<std::string> split(std::string_view Text, char Separator);

/// Words as a shell or a response file has them: both quotes, backslashes.
std::vector<std::string> splitWords(std::string_view Text);

std::string join(const std::vector<std::string> &Parts, std::string_view Separator);

/// Text with every % replaced.
std::string substitute(std::string_view Text, std::string_view Value);

} // namespace r3

#endif
