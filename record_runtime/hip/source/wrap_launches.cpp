// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registration, launches of kernels and graphs, and captures of streams.
#include "session.h"

using namespace r3;
using namespace r3::hip;

namespace {

const char *const Cooperative = "a cooperative launch";

Geometry geometryOf(LaunchDim3 grid, LaunchDim3 block, std::size_t shared) {
  return {{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, static_cast<std::uint32_t>(shared)};
}

/// Entries named _spt mean the thread's own default stream.
void *perThread(void *stream) { return stream ? stream : StreamPerThread; }

template <typename Call> Error throughSession(const LaunchRequest &request, Call call) {
  Session *session = Session::active();
  return session ? session->launch(request, call) : call();
}

} // namespace

R3_HIP_EXPORT void **__hipRegisterFatBinary(const void *wrapper) {
  static auto *real = next<void **(const void *)>("__hipRegisterFatBinary");
  void **handle = real(wrapper);
  if (Session *session = Session::active())
    session->registry().addBinary(handle, wrapper);
  return handle;
}

R3_HIP_EXPORT void __hipRegisterFunction(void **binary, const void *stub, char *device_name, const char *name,
                                         unsigned limit, void *tid, void *bid, void *block, void *grid,
                                         int *wave) {
  static auto *real = next<void(void **, const void *, char *, const char *, unsigned, void *, void *, void *,
                                void *, int *)>("__hipRegisterFunction");
  real(binary, stub, device_name, name, limit, tid, bid, block, grid, wave);
  if (Session *session = Session::active())
    session->registry().addFunction(binary, stub, name);
}

R3_HIP_EXPORT void __hipRegisterVar(void **binary, void *shadow, char *device_name, char *name, int external,
                                    std::size_t size, int constant, int global) {
  static auto *real =
      next<void(void **, void *, char *, char *, int, std::size_t, int, int)>("__hipRegisterVar");
  real(binary, shadow, device_name, name, external, size, constant, global);
  if (Session *session = Session::active())
    session->registry().addVariable(binary, shadow, name);
}

#define R3_LAUNCH(NAME, STREAM)                                                                              \
  R3_HIP_EXPORT Error NAME(const void *stub, LaunchDim3 grid, LaunchDim3 block, void **arguments,            \
                           std::size_t shared, void *stream) {                                               \
    static auto *real =                                                                                      \
        next<Error(const void *, LaunchDim3, LaunchDim3, void **, std::size_t, void *)>(#NAME);              \
    return throughSession({stub, geometryOf(grid, block, shared), arguments, STREAM},                        \
                          [&] { return callReal(real, stub, grid, block, arguments, shared, stream); });     \
  }
R3_LAUNCH(hipLaunchKernel, stream)
R3_LAUNCH(hipLaunchKernel_spt, perThread(stream))

#define R3_LAUNCH_COOPERATIVE(NAME, STREAM)                                                                  \
  R3_HIP_EXPORT Error NAME(const void *stub, LaunchDim3 grid, LaunchDim3 block, void **arguments,            \
                           unsigned shared, void *stream) {                                                  \
    static auto *real = next<Error(const void *, LaunchDim3, LaunchDim3, void **, unsigned, void *)>(#NAME); \
    return throughSession({stub, geometryOf(grid, block, shared), arguments, STREAM, Cooperative},           \
                          [&] { return callReal(real, stub, grid, block, arguments, shared, stream); });     \
  }
R3_LAUNCH_COOPERATIVE(hipLaunchCooperativeKernel, stream)
R3_LAUNCH_COOPERATIVE(hipLaunchCooperativeKernel_spt, perThread(stream))

R3_HIP_EXPORT Error hipExtLaunchKernel(const void *stub, LaunchDim3 grid, LaunchDim3 block, void **arguments,
                                       std::size_t shared, void *stream, void *start, void *stop, int flags) {
  static auto *real =
      next<Error(const void *, LaunchDim3, LaunchDim3, void **, std::size_t, void *, void *, void *, int)>(
          "hipExtLaunchKernel");
  return throughSession({stub, geometryOf(grid, block, shared), arguments, stream}, [&] {
    return callReal(real, stub, grid, block, arguments, shared, stream, start, stop, flags);
  });
}

R3_HIP_EXPORT Error hipModuleGetFunction(void **function, void *module, const char *name) {
  static auto *real = next<Error(void **, void *, const char *)>("hipModuleGetFunction");
  Session *session = Session::active();
  Error result = callReal(real, function, module, name);
  if (session && result == Success)
    session->registry().addModuleFunction(*function, name);
  return result;
}

R3_HIP_EXPORT Error hipModuleLaunchKernel(void *function, unsigned gridX, unsigned gridY, unsigned gridZ,
                                          unsigned blockX, unsigned blockY, unsigned blockZ, unsigned shared,
                                          void *stream, void **arguments, void **extra) {
  static auto *real = next<Error(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                 void *, void **, void **)>("hipModuleLaunchKernel");
  Geometry geometry{{gridX, gridY, gridZ}, {blockX, blockY, blockZ}, shared};
  return throughSession({function, geometry, arguments, stream}, [&] {
    return callReal(real, function, gridX, gridY, gridZ, blockX, blockY, blockZ, shared, stream, arguments,
                    extra);
  });
}

R3_HIP_EXPORT Error hipModuleLaunchCooperativeKernel(void *function, unsigned gridX, unsigned gridY,
                                                     unsigned gridZ, unsigned blockX, unsigned blockY,
                                                     unsigned blockZ, unsigned shared, void *stream,
                                                     void **arguments) {
  static auto *real = next<Error(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                 void *, void **)>("hipModuleLaunchCooperativeKernel");
  Geometry geometry{{gridX, gridY, gridZ}, {blockX, blockY, blockZ}, shared};
  return throughSession({function, geometry, arguments, stream, Cooperative}, [&] {
    return callReal(real, function, gridX, gridY, gridZ, blockX, blockY, blockZ, shared, stream, arguments);
  });
}

/// The grid counts threads here.
#define R3_LAUNCH_THREADS(NAME, MORE_PARAMETERS, ...)                                                        \
  R3_HIP_EXPORT Error NAME(void *function, std::uint32_t threadsX, std::uint32_t threadsY,                   \
                           std::uint32_t threadsZ, std::uint32_t blockX, std::uint32_t blockY,               \
                           std::uint32_t blockZ, std::size_t shared, void *stream, void **arguments,         \
                           void **extra, void *start, void *stop MORE_PARAMETERS) {                          \
    static auto *real = next<decltype(NAME)>(#NAME);                                                         \
    LaunchDim3 block{blockX, blockY, blockZ};                                                                \
    bool valid = blockX && blockY && blockZ;                                                                 \
    LaunchDim3 grid =                                                                                        \
        valid ? LaunchDim3{threadsX / blockX, threadsY / blockY, threadsZ / blockZ} : LaunchDim3{0, 0, 0};   \
    return throughSession({function, geometryOf(grid, block, shared), arguments, stream}, [&] {              \
      return callReal(real, function, threadsX, threadsY, threadsZ, blockX, blockY, blockZ, shared, stream,  \
                      arguments, extra, start, stop __VA_ARGS__);                                            \
    });                                                                                                      \
  }
#define R3_COMMA ,
R3_LAUNCH_THREADS(hipExtModuleLaunchKernel, R3_COMMA std::uint32_t flags, R3_COMMA flags)
R3_LAUNCH_THREADS(hipHccModuleLaunchKernel, , )

#define R3_GRAPH(NAME, STREAM)                                                                               \
  R3_HIP_EXPORT Error NAME(void *graph, void *stream) {                                                      \
    static auto *real = next<Error(void *, void *)>(#NAME);                                                  \
    auto call = [&] { return callReal(real, graph, stream); };                                               \
    Session *session = Session::active();                                                                    \
    return session ? session->launchGraph(STREAM, call) : call();                                            \
  }
R3_GRAPH(hipGraphLaunch, stream)
R3_GRAPH(hipGraphLaunch_spt, perThread(stream))

#define R3_CAPTURE(SUFFIX, STREAM)                                                                           \
  R3_HIP_EXPORT Error hipStreamBeginCapture##SUFFIX(void *stream, int mode) {                                \
    static auto *real = next<Error(void *, int)>("hipStreamBeginCapture" #SUFFIX);                           \
    Session *session = Session::active();                                                                    \
    Error result = callReal(real, stream, mode);                                                             \
    if (session && result == Success)                                                                        \
      session->captureBegan();                                                                               \
    return result;                                                                                           \
  }                                                                                                          \
  R3_HIP_EXPORT Error hipStreamEndCapture##SUFFIX(void *stream, void **graph) {                              \
    static auto *real = next<Error(void *, void **)>("hipStreamEndCapture" #SUFFIX);                         \
    Session *session = Session::active();                                                                    \
    bool wasCapturing = session && session->isCapturing(STREAM);                                             \
    Error result = callReal(real, stream, graph);                                                            \
    if (wasCapturing)                                                                                        \
      session->captureEnded();                                                                               \
    return result;                                                                                           \
  }
R3_CAPTURE(, stream)
R3_CAPTURE(_spt, perThread(stream))
