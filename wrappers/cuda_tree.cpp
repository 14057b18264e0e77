// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cuda_tree.h"

#include "programs.h"
#include "text_file.h"

#include <cstdlib>
#include <cstring>
#include <glob.h>
#include <memory>
#include <vector>

namespace r3 {
namespace {

bool isTree(const std::string &Root) { return isFile(Root + "/include/cuda_runtime.h"); }

/// CUDART_VERSION, 1000 for each major and 10 for each minor version; 0 if the header has none.
int headerVersion(const std::string &Root) {
  constexpr const char *Macro = "#define CUDART_VERSION";
  std::optional<std::string> Header = readFile(Root + "/include/cuda_runtime_api.h");
  size_t Place = Header ? Header->find(Macro) : std::string::npos;
  return Place == std::string::npos ? 0 : std::atoi(Header->c_str() + Place + std::strlen(Macro));
}

CudaTree describe(const std::string &Root) {
  int Version = headerVersion(Root);
  return {Root, Version / 1000, Version % 1000 / 10};
}

std::vector<std::string> matches(const std::string &Pattern) {
  glob_t Found = {};
  std::vector<std::string> Paths;
  if (glob(Pattern.c_str(), 0, nullptr, &Found) == 0)
    Paths.assign(Found.gl_pathv, Found.gl_pathv + Found.gl_pathc);
  globfree(&Found);
  return Paths;
}

/// nvcc may be a link, or a script that starts one of a tree: both name the tree.
std::string treeOfNvcc() {
  std::string Nvcc = findOnPath("nvcc");
  if (Nvcc.empty())
    return "";
  if (std::string Root = directoryOf(directoryOf(realPath(Nvcc))); isTree(Root))
    return Root;
  std::string Script = readFile(Nvcc).value_or("").substr(0, 4096);
  size_t End = Script.find("/bin/nvcc");
  size_t Start = End == std::string::npos ? End : Script.find_last_of(" \t\n\"'=", End);
  return Script.compare(0, 2, "#!") == 0 && Start != std::string::npos
             ? Script.substr(Start + 1, End - Start - 1)
             : "";
}

/// The folder of links to a toolkit that this program stands in as its nvcc.
std::string treeAroundNvcc() {
  std::string Called = calledPath();
  if (baseName(Called) != "nvcc")
    return "";
  std::string Root = realPath(directoryOf(directoryOf(Called)));
  return isTree(Root) ? Root : "";
}

/// The newest toolkit of NVIDIA's Python packages beside this program; then the system's.
std::vector<std::string> usualPlaces() {
  std::vector<std::string> Places = {treeOfNvcc()};
  std::vector<std::string> Wheels =
      matches(directoryOf(directoryOf(ownPath())) + "/lib/python3*/site-packages/nvidia/cu1*");
  Places.insert(Places.end(), Wheels.rbegin(), Wheels.rend());
  Places.push_back("/usr/local/cuda");
  return Places;
}

} // namespace

std::string CudaTree::libraries() const {
  for (const char *Folder : {"/targets/x86_64-linux/lib", "/lib64", "/lib"})
    if (isFile(root + Folder + "/libcudart_static.a") || isFile(root + Folder + "/libcudart.so"))
      return root + Folder;
  return root + "/lib64";
}

Result<CudaTree> findCudaTree(const std::string &Chosen) {
  struct Named {
    std::string by, root;
  };
  // nvcc itself takes the toolkit that it lies in, whatever the environment says.
  if (Chosen.empty())
    if (std::string Around = treeAroundNvcc(); !Around.empty())
      return describe(Around);
  for (const Named &Candidate : {Named{"--cuda-path", Chosen}, Named{"CUDA_HOME", environment("CUDA_HOME")},
                                 Named{"CUDA_PATH", environment("CUDA_PATH")}}) {
    if (Candidate.root.empty())
      continue;
    if (!isTree(Candidate.root))
      return Problem{Candidate.by + " names " + Candidate.root +
                     ", which has no include/cuda_runtime.h; set it to the folder of a CUDA toolkit"};
    return describe(Candidate.root);
  }
  for (const std::string &Root : usualPlaces())
    if (!Root.empty() && isTree(Root))
      return describe(Root);
  return Problem{"no CUDA toolkit was found; give --cuda-path=FOLDER, or set CUDA_HOME"};
}

} // namespace r3
