// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef R3_COMMON_DIGEST_H
#define R3_COMMON_DIGEST_H

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace r3 {

/// SHA-256 as 64 lower-case hex digits: module ids and digests of files.
std::string sha256(llvm::StringRef Bytes);

/// Nothing for what isn't a readable regular file.
std::optional<std::string> fileSha256(const std::string &Path);

} // namespace r3

#endif
