// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread of a block that can be suspended and resumed, and the stacks such threads run on.
#ifndef R3CPU_FIBER_H
#define R3CPU_FIBER_H

#include <boost/context/detail/fcontext.hpp>

#include <cstddef>
#include <vector>

namespace r3::cpu {

/// Stacks of one worker, made when first needed and kept. Each ends in a guard page, and their tops differ by
/// colour, so that the hot ends of a block's stacks do not fall into one cache set.
class StackPool {
public:
  StackPool() = default;
  StackPool(const StackPool &) = delete;
  StackPool &operator=(const StackPool &) = delete;
  ~StackPool();

  /// Makes the first `count` stacks. Throws std::bad_alloc if there is no memory for them.
  void reserve(size_t count);
  /// Top of stack `index`, which reserve() made.
  void *top(size_t index);
  /// Usable bytes of stack `index`.
  static size_t size(size_t index);

private:
  std::vector<void *> stacks_;
};

/// One suspended or running computation. resume() runs it until it suspends; suspend() is called from inside.
class Fiber {
public:
  using Entry = void (*)(void *argument);

  /// Prepares `entry(argument)` on a stack; it runs at the first resume. `entry` must end in a last suspend,
  /// never return.
  void start(void *stack_top, size_t stack_size, Entry entry, void *argument);
  void resume();
  void suspend();

private:
  static void run(boost::context::detail::transfer_t transfer);

  boost::context::detail::fcontext_t self_ = nullptr;
  boost::context::detail::fcontext_t caller_ = nullptr;
  Entry entry_ = nullptr;
  void *argument_ = nullptr;
};

} // namespace r3::cpu

#endif
