// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace r3 {

/// Writes one line to standard error, beginning with "r3: ", in a single write.
void message(const char *format, ...) __attribute__((format(printf, 1, 2)));

} // namespace r3
