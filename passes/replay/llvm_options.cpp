// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/llvm_options.h"

#include "replay/result.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
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

/// "unroll-count" of "-unroll-count=2".
static StringRef nameOf(StringRef Option) { return Option.ltrim('-').split('=').first; }

static Error checkNames(const std::vector<std::string> &Options) {
  auto &Registered = cl::getRegisteredOptions();
  for (StringRef Option : Options) {
    StringRef Name = nameOf(Option);
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

/// As if the process had been started without them; names are known.
static void reset(const std::vector<std::string> &Options) {
  for (StringRef Option : Options)
    cl::getRegisteredOptions()[nameOf(Option)]->reset();
}

static std::mutex Lock;
static std::optional<std::vector<std::string>> Applied;

Error applyLLVMOptions(const std::vector<std::string> &Options) {
  std::lock_guard<std::mutex> Guard(Lock);
  if (Applied && *Applied == Options)
    return Error::success();
  if (Applied)
    return makeError(R3_BAD_REQUEST, "this process already compiles with the LLVM options [" +
                                         join(*Applied, " ") + "]: another set ([" + join(Options, " ") +
                                         "]) needs another process");
  if (Error E = checkNames(Options))
    return E;
  // The process may have been started with another value, and LLVM takes most options once.
  reset(Options);
  // Even a refused text may have set some of the options, so the set counts as taken before it is parsed.
  Applied = Options;
  return Options.empty() ? Error::success() : parseOptions(Options);
}

void dropLLVMOptions(const std::vector<std::string> &Own) {
  std::lock_guard<std::mutex> Guard(Lock);
  if (!Applied)
    return;
  reset(*Applied);
  auto WasReset = [&](const std::string &Option) {
    return any_of(*Applied, [&](StringRef Other) { return nameOf(Other) == nameOf(Option); });
  };
  std::vector<std::string> Restored;
  copy_if(Own, std::back_inserter(Restored), WasReset);
  Applied.reset();
  if (!Restored.empty())
    consumeError(parseOptions(Restored)); // LLVM has taken them before
}

} // namespace r3
