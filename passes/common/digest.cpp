// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "common/digest.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SHA256.h"

using namespace llvm;

namespace r3 {

std::string sha256(StringRef Bytes) {
  return toHex(SHA256::hash(arrayRefFromStringRef(Bytes)), /*LowerCase=*/true);
}

std::optional<std::string> fileSha256(const std::string &Path) {
  if (!sys::fs::is_regular_file(Path))
    return std::nullopt;
  ErrorOr<std::unique_ptr<MemoryBuffer>> Buffer = MemoryBuffer::getFile(Path);
  if (!Buffer)
    return std::nullopt;
  return sha256((*Buffer)->getBuffer());
}

} // namespace r3
