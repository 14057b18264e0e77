// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CUDA toolkit that r3-nvcc compiles against.
#ifndef R3_WRAPPERS_CUDA_TREE_H
#define R3_WRAPPERS_CUDA_TREE_H

#include "result.h"

#include <string>

namespace r3 {

struct CudaTree {
  std::string root;
  int major = 0, minor = 0; ///< of its headers

  std::string include() const { return root + "/include"; }
  /// The folder of libcudart, wherever this tree keeps it.
  std::string libraries() const;
};

/// Chosen (from --cuda-path) if it isn't empty, else the tree whose bin/nvcc is a link to this program,
/// CUDA_HOME, CUDA_PATH, the nvcc on PATH, NVIDIA's wheels in the environment that R3 is installed in,
/// /usr/local/cuda. A named tree that isn't one is a problem.
Result<CudaTree> findCudaTree(const std::string &Chosen);

} // namespace r3

#endif
