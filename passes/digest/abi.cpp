// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "digest/kernel_digest.h"
#include "replay/module.h"
#include "replay/request.h"
#include "replay/result.h"

using namespace llvm;
using namespace r3;

static Expected<Product> digestOf(ArrayRef<uint8_t> Bitcode, StringRef RequestText) {
  Expected<KernelRequest> Request = parseKernelRequest(RequestText);
  if (!Request)
    return Request.takeError();
  LLVMContext Context;
  Expected<KernelModule> Loaded = loadKernel(Bitcode, Request->Kernel, Context);
  if (!Loaded)
    return Loaded.takeError();
  Product Result;
  Result.Report["digest"] = kernelDigest(*Loaded->M, *Loaded->Kernel);
  return Result;
}

extern "C" __attribute__((visibility("default"))) r3_result *
r3_kernel_digest(const uint8_t *Bitcode, size_t Size, const char *Request) {
  return toResult(digestOf(ArrayRef(Bitcode, Size), Request ? StringRef(Request) : StringRef()));
}
