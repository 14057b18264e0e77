// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "capture/filter.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

using namespace llvm;

namespace r3 {
namespace {

StringRef variable(const char *Name) {
  const char *Value = std::getenv(Name);
  return Value ? StringRef(Value) : StringRef();
}

bool anyMatches(const std::vector<GlobPattern> &Patterns, ArrayRef<std::string> Names) {
  return any_of(Patterns, [&](const GlobPattern &Pattern) {
    return any_of(Names, [&](const std::string &Name) { return Pattern.match(Name); });
  });
}

/// A path and all folders that it lies in, each whole and by its name alone.
void addPlaces(StringRef Path, std::vector<std::string> &Names) {
  for (; !Path.empty() && !sys::path::filename(Path).empty(); Path = sys::path::parent_path(Path)) {
    Names.push_back(Path.str());
    Names.push_back(sys::path::filename(Path).str());
  }
}

std::vector<std::string> placesOf(StringRef Source) {
  SmallString<256> Absolute(Source), Given(Source);
  sys::path::remove_dots(Given, /*remove_dot_dot=*/true);
  sys::fs::make_absolute(Absolute);
  sys::path::remove_dots(Absolute, /*remove_dot_dot=*/true);
  std::vector<std::string> Names;
  addPlaces(Given, Names);
  addPlaces(Absolute, Names);
  return Names;
}

} // namespace

void CaptureFilter::read(StringRef Text, Patterns &Sources, Patterns &Kernels) {
  SmallVector<StringRef> Parts;
  Text.split(Parts, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef Part : Parts) {
    bool IsKernel = Part.consume_front("kernel=");
    Expected<GlobPattern> Pattern = GlobPattern::create(Part.rtrim('/'));
    if (Pattern)
      (IsKernel ? Kernels : Sources).push_back(std::move(*Pattern));
    else
      errs() << "r3: warning: R3_ONLY or R3_SKIP has a pattern that cannot be read, '" << Part
             << "': " << toString(Pattern.takeError()) << '\n';
  }
}

CaptureFilter CaptureFilter::fromEnvironment() {
  CaptureFilter Filter;
  if (!variable("R3_USE").empty()) // a tuned build captures nothing, and its host half has more to do
    return Filter;
  read(variable("R3_ONLY"), Filter.OnlySources, Filter.OnlyKernels);
  read(variable("R3_SKIP"), Filter.SkippedSources, Filter.SkippedKernels);
  return Filter;
}

bool CaptureFilter::takesSource(StringRef Source) const {
  if (OnlySources.empty() && SkippedSources.empty())
    return true;
  std::vector<std::string> Names = placesOf(Source);
  return (OnlySources.empty() || anyMatches(OnlySources, Names)) && !anyMatches(SkippedSources, Names);
}

bool CaptureFilter::takesKernel(StringRef Mangled) const {
  if (!choosesKernels())
    return true;
  std::string Demangled = demangle(Mangled);
  std::string Names[] = {Mangled.str(), Demangled, StringRef(Demangled).split('(').first.str()};
  return (OnlyKernels.empty() || anyMatches(OnlyKernels, Names)) && !anyMatches(SkippedKernels, Names);
}

} // namespace r3
