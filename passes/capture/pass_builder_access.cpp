// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "capture/pass_builder_access.h"

using namespace llvm;

namespace r3 {
namespace {

// An explicit instantiation may name private members ([temp.spec]); the friends carry the pointers out.
TargetMachine *machineOf(const PassBuilder &Builder);
const PipelineTuningOptions &tuningOf(const PassBuilder &Builder);

template <auto Machine, auto Tuning> struct PassBuilderMembers {
  friend TargetMachine *machineOf(const PassBuilder &Builder) { return Builder.*Machine; }
  friend const PipelineTuningOptions &tuningOf(const PassBuilder &Builder) { return Builder.*Tuning; }
};

} // namespace

template struct PassBuilderMembers<&PassBuilder::TM, &PassBuilder::PTO>;

TargetMachine *targetMachine(const PassBuilder &Builder) { return machineOf(Builder); }

const PipelineTuningOptions &tuningOptions(const PassBuilder &Builder) { return tuningOf(Builder); }

} // namespace r3
