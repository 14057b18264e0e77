// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which sources and kernels a build captures: R3_ONLY and R3_SKIP.
#ifndef R3_CAPTURE_FILTER_H
#define R3_CAPTURE_FILTER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/GlobPattern.h"

#include <string>
#include <vector>

namespace r3 {

/// Patterns are separated by commas. "kernel=GLOB" means kernels, by mangled or demangled name; every other
/// GLOB the path or the name of a source or of a folder that it lies in. What R3_SKIP names is left out;
/// where R3_ONLY names sources, or kernels, no others are taken.
class CaptureFilter {
public:
  static CaptureFilter fromEnvironment();

  /// `source` as the compiler got it; it may be relative to the working directory.
  bool takesSource(llvm::StringRef Source) const;
  bool takesKernel(llvm::StringRef Mangled) const;
  /// Whether a source that is taken may have no kernel that is.
  bool choosesKernels() const { return !OnlyKernels.empty() || !SkippedKernels.empty(); }

private:
  using Patterns = std::vector<llvm::GlobPattern>;
  static void read(llvm::StringRef Text, Patterns &Sources, Patterns &Kernels);

  Patterns OnlySources, SkippedSources, OnlyKernels, SkippedKernels;
};

} // namespace r3

#endif
