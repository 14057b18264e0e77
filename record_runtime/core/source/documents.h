// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "capture.h"
#include "counts.h"

#include <optional>
#include <string>

namespace r3 {

// The documents of docs/store-format.md, as JSON text.

std::string processDocument(const ProcessInfo &process, const std::string &start, const std::string &host);
std::string moduleDocument(const Note &note, const Key &bitcode);
std::string foreignModuleDocument(const std::string &module, const std::string &binary);
std::string foreignModuleDocument(const std::string &module, const ForeignModule &code, const Key &image,
                                  const std::optional<Key> &ptx);
/// The kernel's lock must be held.
std::string kernelDocument(const Kernel &kernel);
std::string launchDocument(const Capture &capture, const KernelDescription &kernel, const std::string &launch,
                           std::uint64_t time);

struct Totals {
  std::uint64_t launches = 0, recorded = 0, recordingTime = 0, wallTime = 0; // times in nanoseconds
  std::uint64_t copiedBytes = 0;
};
std::string endDocument(const Totals &totals);

} // namespace r3
