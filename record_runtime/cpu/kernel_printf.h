// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef R3CPU_KERNEL_PRINTF_H
#define R3CPU_KERNEL_PRINTF_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace r3::cpu {

/// CUDA's vprintf: `arguments` holds the values packed at their natural alignment, floats as doubles. Writes
/// to standard output in one piece. Returns the number of arguments, -1 for a null format.
int32_t printFromKernel(const char *format, const void *arguments);

/// A message of HIP's device printf while it is put together.
class KernelMessage {
public:
  /// The format is the first text; later ones are the values of %s.
  void addText(const char *text, size_t size);
  /// Integers and pointers as they are, floats as doubles: 64 bits each.
  void addWords(const uint64_t *words, size_t count);
  /// Writes to standard output in one piece. Returns the number of values.
  int32_t print() const;

private:
  bool has_format_ = false;
  std::string format_;
  std::vector<std::string> texts_;
  struct Value {
    bool is_text;
    uint64_t word; ///< or the text's index
  };
  std::vector<Value> values_;
};

} // namespace r3::cpu

#endif
