// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches of kernels and graphs, and captures of streams.

#include "wrappers.h"

using namespace r3;
using namespace r3::cuda;

namespace {

const char *const Cooperative = "a cooperative launch";
const char *const Cluster = "a launch with thread block clusters";

/// Runs the launch through the session, or, without one, directly.
template <typename Invoke> CUresult throughSession(const LaunchRequest &request, Invoke invoke) {
  Call call;
  return call.session ? call.session->launch(request, RealCall(invoke)) : invoke();
}

template <Entry E>
CUresult launchKernel(CUfunction function, Dim3 grid, Dim3 block, unsigned int shared, CUstream stream,
                      void **parameters, void **extra) {
  LaunchRequest request{function, {grid, block, shared}, meant<E>(stream), parameters, extra, nullptr};
  return throughSession(request, [&] {
    return callReal<E>(function, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, stream,
                       parameters, extra);
  });
}

template <Entry E>
CUresult launchCooperative(CUfunction function, Dim3 grid, Dim3 block, unsigned int shared, CUstream stream,
                           void **parameters) {
  LaunchRequest request{function, {grid, block, shared}, meant<E>(stream), parameters, nullptr, Cooperative};
  return throughSession(request, [&] {
    return callReal<E>(function, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, stream,
                       parameters);
  });
}

const char *refusalOf(const CUlaunchConfig &config) {
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const CUlaunchAttribute &attribute = config.attrs[i];
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE && attribute.value.cooperative)
      return Cooperative;
    const auto &cluster = attribute.value.clusterDim;
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION && cluster.x * cluster.y * cluster.z > 1)
      return Cluster;
  }
  return nullptr;
}

template <Entry E>
CUresult launchExtended(const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra) {
  if (!config)
    return callReal<E>(config, function, parameters, extra);
  LaunchRequest request{function,
                        {{config->gridDimX, config->gridDimY, config->gridDimZ},
                         {config->blockDimX, config->blockDimY, config->blockDimZ},
                         config->sharedMemBytes},
                        meant<E>(config->hStream),
                        parameters,
                        extra,
                        refusalOf(*config)};
  return throughSession(request, [&] { return callReal<E>(config, function, parameters, extra); });
}

template <Entry E> CUresult launchGraph(CUgraphExec graph, CUstream stream) {
  Call call;
  auto invoke = [&] { return callReal<E>(graph, stream); };
  return call.session ? call.session->launchGraph(meant<E>(stream), RealCall(invoke)) : invoke();
}

template <Entry E, typename... Arguments> CUresult beginCapture(Arguments... arguments) {
  Call call;
  CUresult result = callReal<E>(arguments...);
  if (call.session && result == CUDA_SUCCESS)
    call.session->captures.begun();
  return result;
}

template <Entry E> CUresult endCapture(CUstream stream, CUgraph *graph) {
  Call call;
  bool wasCapturing = call.session && call.session->captures.isCapturing(meant<E>(stream));
  CUresult result = callReal<E>(stream, graph);
  if (wasCapturing)
    call.session->captures.ended();
  return result;
}

} // namespace

#define R3_LAUNCH(symbol)                                                                                    \
  R3_EXPORT CUresult CUDAAPI symbol(CUfunction function, unsigned int gridX, unsigned int gridY,             \
                                    unsigned int gridZ, unsigned int blockX, unsigned int blockY,            \
                                    unsigned int blockZ, unsigned int shared, CUstream stream,               \
                                    void **parameters, void **extra) {                                       \
    return launchKernel<Entry::symbol>(function, {gridX, gridY, gridZ}, {blockX, blockY, blockZ}, shared,    \
                                       stream, parameters, extra);                                           \
  }
R3_LAUNCH(cuLaunchKernel)
R3_LAUNCH(cuLaunchKernel_ptsz)

#define R3_LAUNCH_COOPERATIVE(symbol)                                                                        \
  R3_EXPORT CUresult CUDAAPI symbol(                                                                         \
      CUfunction function, unsigned int gridX, unsigned int gridY, unsigned int gridZ, unsigned int blockX,  \
      unsigned int blockY, unsigned int blockZ, unsigned int shared, CUstream stream, void **parameters) {   \
    return launchCooperative<Entry::symbol>(function, {gridX, gridY, gridZ}, {blockX, blockY, blockZ},       \
                                            shared, stream, parameters);                                     \
  }
R3_LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel)
R3_LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel_ptsz)

#define R3_LAUNCH_EXTENDED(symbol)                                                                           \
  R3_EXPORT CUresult CUDAAPI symbol(const CUlaunchConfig *config, CUfunction function, void **parameters,    \
                                    void **extra) {                                                          \
    return launchExtended<Entry::symbol>(config, function, parameters, extra);                               \
  }
R3_LAUNCH_EXTENDED(cuLaunchKernelEx)
R3_LAUNCH_EXTENDED(cuLaunchKernelEx_ptsz)

#define R3_GRAPH(symbol)                                                                                     \
  R3_EXPORT CUresult CUDAAPI symbol(CUgraphExec graph, CUstream stream) {                                    \
    return launchGraph<Entry::symbol>(graph, stream);                                                        \
  }
R3_GRAPH(cuGraphLaunch)
R3_GRAPH(cuGraphLaunch_ptsz)

#define R3_BEGIN_CAPTURE(suffix)                                                                             \
  R3_EXPORT CUresult CUDAAPI cuStreamBeginCapture_v2##suffix(CUstream stream, CUstreamCaptureMode mode) {    \
    return beginCapture<Entry::cuStreamBeginCapture_v2##suffix>(stream, mode);                               \
  }                                                                                                          \
  R3_EXPORT CUresult CUDAAPI cuStreamBeginCaptureToGraph##suffix(                                            \
      CUstream stream, CUgraph graph, const CUgraphNode *dependencies, const CUgraphEdgeData *data,          \
      size_t count, CUstreamCaptureMode mode) {                                                              \
    return beginCapture<Entry::cuStreamBeginCaptureToGraph##suffix>(stream, graph, dependencies, data,       \
                                                                    count, mode);                            \
  }                                                                                                          \
  R3_EXPORT CUresult CUDAAPI cuStreamEndCapture##suffix(CUstream stream, CUgraph *graph) {                   \
    return endCapture<Entry::cuStreamEndCapture##suffix>(stream, graph);                                     \
  }
R3_BEGIN_CAPTURE()
R3_BEGIN_CAPTURE(_ptsz)
