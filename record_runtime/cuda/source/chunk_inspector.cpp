// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "chunk_inspector.h"

#include <algorithm>

using namespace r3;
using namespace r3::cuda;

extern "C" const char r3_chunk_kernels[]; // PTX

namespace {

constexpr unsigned Threads = 256; // as chunk_kernels.cu has it
constexpr std::uint64_t VectorBytes = 16;
constexpr unsigned SearchBlocks = 2048;

template <typename... Arguments> bool launch(CUfunction kernel, unsigned blocks, Arguments... arguments) {
  void *parameters[] = {&arguments...};
  return driver().cuLaunchKernel(kernel, blocks, 1, 1, Threads, 1, 1, 0, nullptr, parameters, nullptr) ==
         CUDA_SUCCESS;
}

} // namespace

bool ChunkInspector::fingerprint(std::uint64_t address, std::uint64_t size,
                                 std::vector<Fingerprint> &chunks) {
  static_assert(sizeof(Fingerprint) == 16, "as the kernel writes them");
  if (address % VectorBytes != 0 || size < SmallestBytes)
    return false;
  std::lock_guard lock(mutex);
  Loaded *code = loaded();
  std::uint64_t chunkBytes = ChunkBytes, count = (size + ChunkBytes - 1) / ChunkBytes;
  chunks.resize(count);
  std::size_t bytes = count * sizeof(Fingerprint);
  if (!code || !makeRoom(code->results, bytes))
    return false;
  bool done = launch(code->fingerprints, unsigned(count), address, size, chunkBytes, code->results.address) &&
              driver().cuMemcpyDtoH_v2(chunks.data(), code->results.address, bytes) == CUDA_SUCCESS;
  return done || giveUp();
}

bool ChunkInspector::findPointers(std::uint64_t address, std::uint64_t size,
                                  const std::vector<PointerTarget> &targets,
                                  std::vector<std::uint8_t> &hits) {
  hits.assign(targets.size(), 0);
  std::uint64_t words = size / sizeof(std::uint64_t);
  if (targets.empty() || !words)
    return true;
  std::lock_guard lock(mutex);
  Loaded *code = loaded();
  if (!code || !place(*code, targets) || !makeRoom(code->results, hits.size()))
    return false;
  auto blocks = unsigned(std::min<std::uint64_t>((words + Threads - 1) / Threads, SearchBlocks));
  auto count = unsigned(targets.size());
  bool done = driver().cuMemsetD8_v2(code->results.address, 0, hits.size()) == CUDA_SUCCESS &&
              launch(code->findPointers, blocks, address, words, code->targets.address, count,
                     code->results.address) &&
              driver().cuMemcpyDtoH_v2(hits.data(), code->results.address, hits.size()) == CUDA_SUCCESS;
  return done || giveUp();
}

void ChunkInspector::forget(CUcontext context) {
  std::lock_guard lock(mutex);
  contexts.erase(context);
}

ChunkInspector::Loaded *ChunkInspector::loaded() {
  CUcontext context = nullptr;
  if (!usable || driver().cuCtxGetCurrent(&context) != CUDA_SUCCESS || !context)
    return nullptr;
  auto known = contexts.find(context);
  if (known != contexts.end())
    return &known->second;
  bool complete = driver().cuModuleLoadData && driver().cuModuleGetFunction && driver().cuLaunchKernel &&
                  driver().cuMemAlloc_v2 && driver().cuMemFree_v2 && driver().cuMemcpyHtoD_v2 &&
                  driver().cuMemsetD8_v2;
  Loaded code;
  CUmodule module = nullptr;
  if (complete && driver().cuModuleLoadData(&module, r3_chunk_kernels) == CUDA_SUCCESS &&
      driver().cuModuleGetFunction(&code.fingerprints, module, "r3_fingerprints") == CUDA_SUCCESS &&
      driver().cuModuleGetFunction(&code.findPointers, module, "r3_find_pointers") == CUDA_SUCCESS)
    return &contexts.emplace(context, std::move(code)).first->second;
  giveUp();
  return nullptr;
}

/// A failure here is lack of memory, which may be over next time.
bool ChunkInspector::makeRoom(Buffer &buffer, std::size_t size) {
  if (size <= buffer.size)
    return true;
  if (buffer.size)
    driver().cuMemFree_v2(buffer.address);
  buffer = Buffer();
  std::size_t rounded = std::max<std::size_t>(size, std::size_t(64) << 10);
  if (driver().cuMemAlloc_v2(&buffer.address, rounded) != CUDA_SUCCESS)
    return false;
  buffer.size = rounded;
  return true;
}

bool ChunkInspector::place(Loaded &code, const std::vector<PointerTarget> &targets) {
  static_assert(sizeof(PointerTarget) == 16, "as the kernel reads them");
  if (code.onDevice == targets)
    return true;
  code.onDevice.clear();
  std::size_t bytes = targets.size() * sizeof(PointerTarget);
  if (!makeRoom(code.targets, bytes))
    return false;
  if (driver().cuMemcpyHtoD_v2(code.targets.address, targets.data(), bytes) != CUDA_SUCCESS)
    return giveUp();
  code.onDevice = targets;
  return true;
}

bool ChunkInspector::giveUp() {
  usable = false;
  return false;
}
