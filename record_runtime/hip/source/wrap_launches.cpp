// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registration and launches.
#include "session.h"

using namespace r3;
using namespace r3::hip;

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

static Geometry geometryOf(LaunchDim3 grid, LaunchDim3 block, std::size_t shared) {
  return {{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, static_cast<std::uint32_t>(shared)};
}

R3_HIP_EXPORT Error hipLaunchKernel(const void *stub, LaunchDim3 grid, LaunchDim3 block, void **arguments,
                                    std::size_t shared, void *stream) {
  static auto *real =
      next<Error(const void *, LaunchDim3, LaunchDim3, void **, std::size_t, void *)>("hipLaunchKernel");
  auto call = [&] { return real(stub, grid, block, arguments, shared, stream); };
  Session *session = Session::active();
  return session ? session->launch({stub, geometryOf(grid, block, shared), arguments, stream}, call) : call();
}

R3_HIP_EXPORT Error hipExtLaunchKernel(const void *stub, LaunchDim3 grid, LaunchDim3 block, void **arguments,
                                       std::size_t shared, void *stream, void *start, void *stop, int flags) {
  static auto *real =
      next<Error(const void *, LaunchDim3, LaunchDim3, void **, std::size_t, void *, void *, void *, int)>(
          "hipExtLaunchKernel");
  auto call = [&] { return real(stub, grid, block, arguments, shared, stream, start, stop, flags); };
  Session *session = Session::active();
  return session ? session->launch({stub, geometryOf(grid, block, shared), arguments, stream}, call) : call();
}

R3_HIP_EXPORT Error hipModuleGetFunction(void **function, void *module, const char *name) {
  static auto *real = next<Error(void **, void *, const char *)>("hipModuleGetFunction");
  Session *session = Session::active();
  Error result = real(function, module, name);
  if (session && result == Success)
    session->registry().addModuleFunction(*function, name);
  return result;
}

R3_HIP_EXPORT Error hipModuleLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                          unsigned block_x, unsigned block_y, unsigned block_z,
                                          unsigned shared, void *stream, void **arguments, void **extra) {
  static auto *real = next<Error(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                 void *, void **, void **)>("hipModuleLaunchKernel");
  auto call = [&] {
    return real(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, arguments,
                extra);
  };
  Session *session = Session::active();
  Geometry geometry{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared};
  return session ? session->launch({function, geometry, arguments, stream}, call) : call();
}

R3_HIP_EXPORT Error hipStreamBeginCapture(void *stream, int mode) {
  static auto *real = next<Error(void *, int)>("hipStreamBeginCapture");
  Session *session = Session::active();
  Error result = real(stream, mode);
  if (session && result == Success)
    session->captureBegan();
  return result;
}

R3_HIP_EXPORT Error hipStreamEndCapture(void *stream, void **graph) {
  static auto *real = next<Error(void *, void **)>("hipStreamEndCapture");
  Session *session = Session::active();
  Error result = real(stream, graph);
  if (session)
    session->captureEnded();
  return result;
}
