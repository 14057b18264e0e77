// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The options of nvcc, and what each of them is for clang. One table; an option that isn't in it is clang's
// own and passes as it is.
#ifndef R3_WRAPPERS_NVCC_OPTIONS_H
#define R3_WRAPPERS_NVCC_OPTIONS_H

#include <optional>
#include <string>
#include <string_view>

namespace r3 {

enum class NvccValue {
  None,
  One,
  List,    ///< separated by commas; the option may be repeated
  Options, ///< a list of options for another tool: separated by commas or spaces
  Boolean, ///< true or false; "on" and "off" where nvcc says so
};

enum class NvccAction {
  Write,      ///< the words of text, % replaced by the value, once for each element of a list
  WriteTrue,  ///< the words of text, if the value is true
  WriteFalse, ///< the words of text, if the value is false
  Drop,       ///< no meaning for clang: text says why
  Refuse,     ///< would change what the program is: text says what to do
  Architecture,
  Code,
  CodeOf, ///< -gencode
  Relocatable,
  Phase, ///< text names what the command makes
  Output,
  OutputDirectory,
  Language,
  HostCompiler,
  HostOptions,
  Runtime,
  Optimize,
  DeviceDebug,
  FastMath,
  DefaultStream,
  CudaPath,
  Verbose,
  Toolkit, ///< a question that the toolkit's own nvcc answers
  NoCompatibility,
  Compatibility,
};

struct NvccOption {
  std::string_view longName;
  std::string_view shortName;
  NvccValue takes;
  NvccAction action;
  std::string_view text;
};

/// An option as it stands in a command.
struct FoundOption {
  const NvccOption *option;
  std::optional<std::string> value; ///< what follows "=", or what a short option is joined with
};

/// The option that Argument is, or nothing: then it's clang's, or no option.
std::optional<FoundOption> findNvccOption(const std::string &Argument);

} // namespace r3

#endif
