// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "fiber.h"

#include <new>
#include <sys/mman.h>

namespace r3::cpu {

namespace {

constexpr size_t kStackSize = 256 * 1024;
constexpr size_t kGuardSize = 4096;
constexpr size_t kColourStep = 320; // not a multiple of a page: 16-byte aligned, five cache lines
constexpr size_t kColours = 12;

size_t colour(size_t index) { return (index % kColours) * kColourStep; }

void *mapStack() {
  void *base =
      mmap(nullptr, kStackSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED)
    throw std::bad_alloc();
  // The kernel limits the number of mappings; past it stacks go without a guard rather than not at all.
  (void)mprotect(base, kGuardSize, PROT_NONE);
  return base;
}

} // namespace

StackPool::~StackPool() {
  for (void *stack : stacks_)
    munmap(stack, kStackSize);
}

void StackPool::reserve(size_t count) {
  while (stacks_.size() < count)
    stacks_.push_back(mapStack());
}

void *StackPool::top(size_t index) {
  return static_cast<char *>(stacks_[index]) + kStackSize - colour(index);
}

size_t StackPool::size(size_t index) { return kStackSize - kGuardSize - colour(index); }

void Fiber::start(void *stack_top, size_t stack_size, Entry entry, void *argument) {
  entry_ = entry;
  argument_ = argument;
  self_ = boost::context::detail::make_fcontext(stack_top, stack_size, &Fiber::run);
}

void Fiber::run(boost::context::detail::transfer_t transfer) {
  auto *fiber = static_cast<Fiber *>(transfer.data);
  fiber->caller_ = transfer.fctx;
  fiber->entry_(fiber->argument_);
}

void Fiber::resume() { self_ = boost::context::detail::jump_fcontext(self_, this).fctx; }

void Fiber::suspend() { caller_ = boost::context::detail::jump_fcontext(caller_, this).fctx; }

} // namespace r3::cpu
