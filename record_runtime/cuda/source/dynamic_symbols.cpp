// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dynamic_symbols.h"
#include "r3core/log.h"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <link.h>

void *r3_real_dlsym;
void *r3_real_dlvsym;

using namespace r3::cuda;

namespace {

/// What a loaded object's dynamic section says of its symbols.
struct SymbolTable {
  const ElfW(Sym) *symbols = nullptr;
  const char *strings = nullptr;
  std::size_t count = 0;
};

/// The number of symbols is nowhere but in the hash tables.
std::size_t gnuHashCount(const std::uint32_t *table) {
  std::uint32_t buckets = table[0], first = table[1], words = table[2];
  const auto *bucket =
      reinterpret_cast<const std::uint32_t *>(reinterpret_cast<const ElfW(Addr) *>(table + 4) + words);
  const std::uint32_t *chain = bucket + buckets;
  std::uint32_t last = 0;
  for (std::uint32_t i = 0; i < buckets; ++i)
    last = bucket[i] > last ? bucket[i] : last;
  if (last < first)
    return first;
  while (!(chain[last - first] & 1))
    ++last;
  return last + 1;
}

SymbolTable symbolTable(const dl_phdr_info &object) {
  SymbolTable table;
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    if (object.dlpi_phdr[i].p_type != PT_DYNAMIC)
      continue;
    // glibc relocates these pointers in place, except in the vDSO and on some machines.
    auto address = [&](ElfW(Addr) value) {
      return value < object.dlpi_addr ? value + object.dlpi_addr : value;
    };
    const auto *entry = reinterpret_cast<const ElfW(Dyn) *>(object.dlpi_addr + object.dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_SYMTAB)
        table.symbols = reinterpret_cast<const ElfW(Sym) *>(address(entry->d_un.d_ptr));
      else if (entry->d_tag == DT_STRTAB)
        table.strings = reinterpret_cast<const char *>(address(entry->d_un.d_ptr));
      else if (entry->d_tag == DT_HASH)
        table.count = reinterpret_cast<const std::uint32_t *>(address(entry->d_un.d_ptr))[1];
      else if (entry->d_tag == DT_GNU_HASH && !table.count)
        table.count = gnuHashCount(reinterpret_cast<const std::uint32_t *>(address(entry->d_un.d_ptr)));
    }
  }
  return table;
}

void *definition(const dl_phdr_info &object, const SymbolTable &table, const char *name) {
  for (std::size_t i = 0; i < table.count; ++i) {
    const ElfW(Sym) &symbol = table.symbols[i];
    if (symbol.st_shndx != SHN_UNDEF && (symbol.st_info & 15) == STT_FUNC &&
        !std::strcmp(table.strings + symbol.st_name, name))
      return reinterpret_cast<void *>(object.dlpi_addr + symbol.st_value);
  }
  return nullptr;
}

/// The C library has both since glibc 2.34, libdl before.
bool isCLibrary(const char *path) {
  const char *file = std::strrchr(path, '/');
  file = file ? file + 1 : path;
  return !std::strncmp(file, "libc.so", 7) || !std::strncmp(file, "libdl.so", 8) ||
         !std::strncmp(file, "libc-", 5) || !std::strncmp(file, "libdl-", 6);
}

int visit(dl_phdr_info *object, std::size_t, void *) {
  if (!object->dlpi_name || !isCLibrary(object->dlpi_name))
    return 0;
  SymbolTable table = symbolTable(*object);
  if (!table.symbols || !table.strings)
    return 0;
  if (!r3_real_dlvsym)
    r3_real_dlvsym = definition(*object, table, "dlvsym");
  if (!r3_real_dlsym)
    r3_real_dlsym = definition(*object, table, "dlsym");
  return r3_real_dlsym && r3_real_dlvsym;
}

} // namespace

void r3::cuda::resolveDynamicLookup() {
  if (r3_real_dlsym)
    return;
  dl_iterate_phdr(visit, nullptr);
  if (r3_real_dlsym && r3_real_dlvsym)
    return;
  message(
      "the C library's dlsym can't be found, so this program can't be recorded; run it without r3 record");
  std::abort(); // nothing that asks for a symbol could go on
}

void *r3::cuda::driverSymbol(const char *symbol) {
  resolveDynamicLookup();
  // Never load a driver into a program that has none.
  static std::atomic<void *> library{nullptr};
  void *handle = library.load(std::memory_order_acquire);
  if (!handle) {
    handle = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (!handle)
      return nullptr;
    library.store(handle, std::memory_order_release);
  }
  return reinterpret_cast<void *(*)(void *, const char *)>(r3_real_dlsym)(handle, symbol);
}
