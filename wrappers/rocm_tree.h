// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ROCm tree that HIP is compiled against for AMD.
#ifndef R3_WRAPPERS_ROCM_TREE_H
#define R3_WRAPPERS_ROCM_TREE_H

#include "result.h"

#include <string>
#include <vector>

namespace r3 {

struct RocmTree {
  std::string root;                    ///< what --rocm-path takes
  std::string hip;                     ///< the folder above include/hip
  std::string bitcode;                 ///< the folder of ockl.bc and its kin
  int major = 0, minor = 0, patch = 0; ///< HIP's version

  /// The folder of libamdhip64.so, wherever this tree keeps it; empty where it has none.
  std::string libraries() const;
};

/// What a command says about the tree; empty where it says nothing.
struct RocmChoice {
  std::string root;    ///< --rocm-path
  std::string bitcode; ///< --rocm-device-lib-path
};

/// What Choice names, else ROCM_PATH, HIP_PATH and HIP_DEVICE_LIB_PATH, /opt/rocm, /usr. A named folder that
/// lacks its part is a problem.
Result<RocmTree> findRocmTree(const RocmChoice &Choice);

/// What makes clang 22 compile HIP against this tree: its folders, the code object version that its device
/// libraries are for, and R3's header with what its headers miss in this clang.
std::vector<std::string> rocmFlags(const RocmTree &Tree);

/// A command of r3-clang++ with --r3-rocm replaced by the flags of the tree that is found.
std::vector<std::string> withRocm(const std::vector<std::string> &User);

} // namespace r3

#endif
