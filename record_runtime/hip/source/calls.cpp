// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "calls.h"

#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <string>

namespace r3::hip {

thread_local int Inside::depth = 0;

namespace {

/// A last error that is not the program's: what the runtime has, and what it would have.
struct Hidden {
  Error left = Success, meant = Success;
};
thread_local Hidden hidden;

Error meant(Error last) { return last == hidden.left ? hidden.meant : last; }

std::string loadedRuntime() {
  std::string path;
  dl_iterate_phdr(
      [](dl_phdr_info *object, std::size_t, void *found) {
        bool is = object->dlpi_name && std::strstr(object->dlpi_name, "libamdhip64.so");
        if (is)
          *static_cast<std::string *>(found) = object->dlpi_name;
        return int(is);
      },
      &path);
  return path;
}

} // namespace

void *nextEntry(const char *name) {
  if (void *found = dlsym(RTLD_NEXT, name))
    return found;
  std::string path = loadedRuntime();
  void *runtime = path.empty() ? nullptr : dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  return runtime ? dlsym(runtime, name) : nullptr;
}

const Calls &calls() {
  static const Calls found = {
#define R3_HIP_FIND(NAME, PARAMETERS) reinterpret_cast<Error(*) PARAMETERS>(nextEntry(#NAME)),
      R3_HIP_CALLS(R3_HIP_FIND)
#undef R3_HIP_FIND
  };
  return found;
}

Error OwnErrors::last() { return meant(calls().hipPeekAtLastError()); }

Error OwnErrors::takeLast() {
  Error last = meant(calls().hipGetLastError());
  hidden = {};
  return last;
}

OwnErrors::OwnErrors() : before_(last()) {}

Error OwnErrors::leave(Error result) const {
  Error wanted = result == Success ? before_ : result, left = calls().hipPeekAtLastError();
  hidden = wanted == left ? Hidden() : Hidden{left, wanted};
  return result;
}

} // namespace r3::hip
