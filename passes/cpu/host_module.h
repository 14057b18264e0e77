// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a device module to a host module of the same code: one address space, hidden parameters for the
// thread's place.
#ifndef R3_PASSES_CPU_HOST_MODULE_H
#define R3_PASSES_CPU_HOST_MODULE_H

#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace r3::cpu {

/// Parameters that stand before every device function's own: the block (r3cpu_block *) and the thread's index
/// in it.
enum HiddenParameter : unsigned { BlockParameter, ThreadX, ThreadY, ThreadZ, HiddenParameterCount };

/// Where the host code runs: what target attributes its functions get.
struct HostTarget {
  std::string Triple;
  std::string Cpu;
  std::string Features;
  std::string DataLayout;
};

/// A `__shared__` array, as a placeholder in the host module; sizes in bytes. Dynamic ones have size 0.
struct SharedVariable {
  llvm::GlobalVariable *Placeholder;
  uint64_t Size;
  uint64_t Alignment;
  bool Dynamic;
};

/// A `__device__` or `__constant__` variable of the host module.
struct DeviceVariable {
  std::string Name;
  llvm::GlobalVariable *Variable;
  bool Constant;
};

struct Kernel {
  std::string Name;
  llvm::Function *Body; ///< takes the hidden parameters, then its own
  uint32_t MaxThreads;  ///< 0 if the module does not say
};

/// Threads of a wave where the device is AMD's; named so in the host module's flags.
constexpr const char *WaveFlag = "r3.wave";

struct HostModule {
  std::unique_ptr<llvm::Module> M;
  std::vector<Kernel> Kernels;
  std::vector<SharedVariable> Shared;
  std::vector<DeviceVariable> Variables;
  unsigned Wave = 32; ///< threads that run as one
};

/// Builds the host module from a device module that trimDeviceModule prepared. The device's intrinsics are
/// still in it.
llvm::Expected<HostModule> buildHostModule(llvm::Module &Device, const HostTarget &Target);

} // namespace r3::cpu

#endif
