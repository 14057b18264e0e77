// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A lowered module in memory.
#ifndef R3CPU_MODULE_H
#define R3CPU_MODULE_H

#include "module_abi.h"
#include "r3cpu.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

/// A kernel of a loaded module.
struct r3cpu_kernel {
  const r3cpu_kernel_entry *entry;

  /// Bytes of the argument buffer.
  uint32_t argumentSize() const;
};

namespace r3::cpu {

/// What every call of the C interface can fail with: its status and one sentence.
class EngineError : public std::runtime_error {
public:
  EngineError(r3cpu_status status, const std::string &message)
      : std::runtime_error(message), status(status) {}
  const r3cpu_status status;
};

} // namespace r3::cpu

/// Owns the shared object; kernels and globals live as long.
struct r3cpu_module {
public:
  /// Throws EngineError if `path` is not a lowered module of this version.
  explicit r3cpu_module(const std::string &path);
  ~r3cpu_module();
  r3cpu_module(const r3cpu_module &) = delete;
  r3cpu_module &operator=(const r3cpu_module &) = delete;

  std::vector<r3cpu_kernel> &kernels() { return kernels_; }
  const std::vector<r3cpu_kernel> &kernels() const { return kernels_; }
  r3cpu_kernel *findKernel(std::string_view name);
  const r3cpu_global_entry *findGlobal(std::string_view name) const;
  const r3cpu_module_table_t &table() const { return *table_; }

private:
  std::string path_;
  void *handle_;
  const r3cpu_module_table_t *table_;
  std::vector<r3cpu_kernel> kernels_;
};

#endif
