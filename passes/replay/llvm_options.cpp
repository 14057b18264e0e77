// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/llvm_options.h"

#include "replay/result.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

#include <mutex>
#include <optional>

using namespace llvm;

namespace r3 {

/// These print and leave the process.
static bool endsProcess(StringRef Name) {
  return Name.starts_with("help") || Name == "h" || Name == "version" ||
         Name.starts_with("print-all-options") || Name.starts_with("print-options");
}

static Error checkNames(const std::vector<std::string> &Options) {
  auto &Registered = cl::getRegisteredOptions();
  for (StringRef Option : Options) {
    StringRef Name = Option.ltrim('-').split('=').first;
    if (!Option.starts_with("-") || Name.empty())
      return makeError(R3_BAD_REQUEST, "LLVM option \"" + Option + "\" does not begin with a dash");
    if (!Registered.contains(Name) || endsProcess(Name))
      return makeError(R3_BAD_REQUEST,
                       "LLVM " LLVM_VERSION_STRING " has no code-generation option \"" + Option + "\"");
  }
  return Error::success();
}

static Error parseOptions(const std::vector<std::string> &Options) {
  std::vector<const char *> Arguments = {"r3"};
  for (const std::string &Option : Options)
    Arguments.push_back(Option.c_str());
  std::string Complaints;
  raw_string_ostream Stream(Complaints);
  if (cl::ParseCommandLineOptions(Arguments.size(), Arguments.data(), "", &Stream))
    return Error::success();
  return makeError(R3_BAD_REQUEST, "LLVM does not take the options [" + join(Options, " ") + "]" +
                                       (Complaints.empty() ? "" : ": ") + StringRef(Complaints).trim());
}

Error applyLLVMOptions(const std::vector<std::string> &Options) {
  static std::mutex Lock;
  static std::optional<std::vector<std::string>> Applied;
  std::lock_guard<std::mutex> Guard(Lock);
  if (Applied && *Applied == Options)
    return Error::success();
  if (Applied)
    return makeError(R3_BAD_REQUEST, "this process already compiles with the LLVM options [" +
                                         join(*Applied, " ") + "]: another set ([" + join(Options, " ") +
                                         "]) needs another process");
  if (Error E = checkNames(Options))
    return E;
  // Even a refused text may have set some of the options, so the set counts as taken before it is parsed.
  Applied = Options;
  return Options.empty() ? Error::success() : parseOptions(Options);
}

} // namespace r3
