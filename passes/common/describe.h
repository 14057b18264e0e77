// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a device module holds: its kernels with their parameter layout, and its globals. The JSON in a binary
// (docs/binary-format.md) and r3_describe both come from here.
#ifndef R3_COMMON_DESCRIBE_H
#define R3_COMMON_DESCRIBE_H

#include "llvm/Support/JSON.h"

#include <cstdint>
#include <string>
#include <vector>

namespace llvm {
class Function;
class GlobalVariable;
class Module;
} // namespace llvm

namespace r3 {

/// One kernel parameter as the driver packs it: bytes offset to offset + size of the argument buffer.
struct ParameterInfo {
  uint64_t offset;
  uint64_t size;
  std::string type; ///< LLVM type ("ptr", "float", "%struct.Mesh"); a struct passed by value has its own type
  std::string name; ///< from debug info or the IR; empty where the compiler dropped it
};

struct KernelInfo {
  std::string name; ///< mangled
  unsigned line;    ///< line of the definition in its source, 0 without debug info
  std::vector<ParameterInfo> parameters;
  std::vector<std::string> globals; ///< what the kernel's call graph can reach, in module order
  bool textures; ///< it can get to an instruction on textures or surfaces, whose handles mean nothing
                 ///< elsewhere
};

struct GlobalInfo {
  std::string name;
  uint64_t size; ///< bytes
  std::string space;
  bool internal;
  bool isMutable; ///< host code or some function of the module can change it
};

struct ModuleDescription {
  std::vector<KernelInfo> kernels;
  std::vector<GlobalInfo> globals;
};

/// Whether F is an entry function of a device module (NVPTX or AMDGCN) that has a body.
bool isKernel(const llvm::Function &F);

/// Whether G is a __device__ or __constant__ variable: not shared memory, not LLVM's own bookkeeping.
bool isDeviceVariable(const llvm::GlobalVariable &G);

std::vector<ParameterInfo> parameterLayout(const llvm::Function &Kernel);

/// The __device__ and __constant__ variables that Kernel's call graph can reach, in module order.
std::vector<const llvm::GlobalVariable *> reachableGlobals(const llvm::Function &Kernel);

/// Whether host code or some function of the module can change G after the image was loaded.
bool isMutableGlobal(const llvm::GlobalVariable &G);

ModuleDescription describeModule(const llvm::Module &M);

llvm::json::Array toJSON(const std::vector<KernelInfo> &Kernels);
llvm::json::Array toJSON(const std::vector<GlobalInfo> &Globals);

} // namespace r3

#endif
