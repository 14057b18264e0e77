// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which GPUs a command of nvcc compiles for: -arch, -code and -gencode in all their forms.
#ifndef R3_WRAPPERS_NVCC_ARCHITECTURES_H
#define R3_WRAPPERS_NVCC_ARCHITECTURES_H

#include "result.h"

#include <string>
#include <vector>

namespace r3 {

class NvccArchitectures {
public:
  void setArchitecture(const std::string &Name) { Architecture = Name; }
  void addCode(const std::string &Names) { Codes.push_back(Names); }
  /// "arch=compute_90,code=[sm_90,compute_90]". A problem names what isn't understood.
  Result<bool> addGenerateCode(const std::string &Specification);

  struct Images {
    std::vector<std::string> machine;  ///< sm_90, native
    std::vector<std::string> ptx;      ///< sm_90
    std::vector<std::string> newerPtx; ///< those of machine that clang must be told PTX 9.0 for
    std::vector<std::string> notes;
  };
  /// What is to be made, without repetitions, for a toolkit of a major version.
  Result<Images> images(int ToolkitMajor) const;

private:
  struct Request {
    std::string virtualArchitecture;
    std::vector<std::string> codes;
  };
  Result<std::vector<Request>> requests(int ToolkitMajor) const;

  std::string Architecture;
  std::vector<std::string> Codes;
  std::vector<Request> Generated;
};

} // namespace r3

#endif
