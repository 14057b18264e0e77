// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The real dlsym and dlvsym: this library defines functions of these names itself.

extern "C" {
/// Set by resolveDynamicLookup(); the trampolines jump through them.
extern void *r3_real_dlsym __attribute__((visibility("hidden")));
extern void *r3_real_dlvsym __attribute__((visibility("hidden")));
}

namespace r3::cuda {

/// Finds the C library's own dlsym and dlvsym in its dynamic symbol table.
void resolveDynamicLookup();

/// A function of libcuda, which must already be loaded; null otherwise.
void *driverSymbol(const char *symbol);

} // namespace r3::cuda
