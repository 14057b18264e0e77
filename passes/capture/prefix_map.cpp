// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "capture/prefix_map.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

using namespace llvm;

namespace r3 {

PrefixMap::PrefixMap(const std::vector<std::string> &Arguments) {
  for (StringRef Argument : Arguments)
    if (Argument.consume_front("-ffile-prefix-map=")) {
      auto [Old, New] = Argument.rsplit('=');
      Prefixes.emplace_back(Old.str(), New.str());
    }
}

std::string PrefixMap::path(const std::string &Path) const {
  for (const auto &[Old, New] : reverse(Prefixes))
    if (StringRef Rest = Path; Rest.consume_front(Old))
      return New + Rest.str();
  return Path;
}

std::string PrefixMap::argument(const std::string &Argument) const {
  StringRef Text = Argument;
  size_t Start = 0;
  if (Text.starts_with("-")) {
    size_t Equals = Text.find('=');
    size_t Slash = Text.find('/');
    Start = Equals != StringRef::npos ? Equals + 1 : Slash != StringRef::npos ? Slash : Text.size();
  }
  return Argument.substr(0, Start) + path(Argument.substr(Start));
}

} // namespace r3
