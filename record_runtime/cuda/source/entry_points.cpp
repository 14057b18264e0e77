// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "entry_points.h"
#include "dynamic_symbols.h"

#include <cstring>

using namespace r3::cuda;

namespace {

EntryPoint entries[] = {
#define ENTRY(symbol, name, version)                                                                         \
  {#symbol, name, version, false, reinterpret_cast<void *>(::symbol), {nullptr}},
#define PAIR(symbol, name, version, suffix)                                                                  \
  ENTRY(symbol, name, version){                                                                              \
      #symbol #suffix, name, version, true, reinterpret_cast<void *>(::symbol##suffix), {nullptr}},
#include "entry_points.def"
#undef ENTRY
#undef PAIR
};
static_assert(sizeof(entries) / sizeof(entries[0]) == unsigned(Entry::Count));

bool hasTwin(const EntryPoint &entry) {
  return &entry + 1 < entries + unsigned(Entry::Count) && (&entry + 1)->perThread;
}

} // namespace

EntryPoint &r3::cuda::entryPoint(Entry entry) { return entries[unsigned(entry)]; }

EntryPoint *r3::cuda::findSymbol(const char *symbol) {
  for (EntryPoint &entry : entries)
    if (!std::strcmp(entry.symbol, symbol))
      return &entry;
  return nullptr;
}

EntryPoint *r3::cuda::findName(const char *name, int version, cuuint64_t flags) {
  EntryPoint *best = nullptr;
  for (EntryPoint &entry : entries)
    if (!entry.perThread && entry.version <= version && !std::strcmp(entry.name, name) &&
        (!best || entry.version > best->version))
      best = &entry;
  if (best && (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) && hasTwin(*best))
    return best + 1;
  return best;
}

void *r3::cuda::resolveReal(EntryPoint &entry) {
  void *function = driverSymbol(entry.symbol);
  if (function)
    entry.real.store(function, std::memory_order_release);
  return function;
}
