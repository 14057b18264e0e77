// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The flat C ABI over the replay compiler.
#include "replay/compile.h"
#include "replay/describe.h"
#include "replay/extract.h"
#include "replay/link.h"
#include "replay/parse.h"
#include "replay/result.h"
#include "replay/specialise.h"
#include "replay/tables.h"

#include "llvm/Config/llvm-config.h"

using namespace llvm;
using namespace r3;

#define R3_EXPORT extern "C" __attribute__((visibility("default")))

static StringRef text(const char *Text) { return Text ? StringRef(Text) : StringRef(); }

R3_EXPORT r3_status r3_result_status(const r3_result *Result) { return Result->status; }

R3_EXPORT const char *r3_result_message(const r3_result *Result) { return Result->message.c_str(); }

R3_EXPORT const uint8_t *r3_result_output(const r3_result *Result, size_t *Size) {
  *Size = Result->output.size();
  return Result->output.empty() ? nullptr : reinterpret_cast<const uint8_t *>(Result->output.data());
}

R3_EXPORT const char *r3_result_report(const r3_result *Result) { return Result->report.c_str(); }

R3_EXPORT void r3_result_free(r3_result *Result) { delete Result; }

R3_EXPORT const char *r3_llvm_version(void) { return LLVM_VERSION_STRING; }

/// Parses the request, then acts on it: the shape of every call with a request.
template <typename Parse, typename Act>
static r3_result *answer(const char *Request, Parse ParseRequest, Act Do) {
  auto Parsed = ParseRequest(text(Request));
  if (!Parsed)
    return toResult(Parsed.takeError());
  return toResult(Do(*Parsed));
}

R3_EXPORT r3_result *r3_compile(const uint8_t *Bitcode, size_t Size, const char *Request) {
  return answer(Request, parseCompileRequest,
                [&](const CompileRequest &R) { return compileModule(ArrayRef(Bitcode, Size), R); });
}

R3_EXPORT r3_result *r3_extract(const uint8_t *Bitcode, size_t Size, const char *Request) {
  return answer(Request, parseKernelRequest,
                [&](const KernelRequest &R) { return extractKernel(ArrayRef(Bitcode, Size), R); });
}

R3_EXPORT r3_result *r3_link(const uint8_t *Bitcode, size_t Size, const char *Request) {
  return answer(Request, parseLinkRequest,
                [&](const LinkRequest &R) { return linkUnits(ArrayRef(Bitcode, Size), R); });
}

R3_EXPORT r3_result *r3_specialise(const uint8_t *Bitcode, size_t Size, const char *Request) {
  return answer(Request, parseSpecialiseRequest,
                [&](const SpecialiseRequest &R) { return specialiseKernel(ArrayRef(Bitcode, Size), R); });
}

R3_EXPORT r3_result *r3_tables(const uint8_t *Bitcode, size_t Size, const char *Request) {
  return answer(Request, parseKernelRequest,
                [&](const KernelRequest &R) { return findTables(ArrayRef(Bitcode, Size), R); });
}

R3_EXPORT r3_result *r3_parse_pipeline(const char *Request) {
  return answer(Request, parsePipelineRequest, parsePipeline);
}

R3_EXPORT r3_result *r3_list_passes(const char *Request) {
  return answer(Request, parseListRequest, listPasses);
}

R3_EXPORT r3_result *r3_describe(const uint8_t *Bitcode, size_t Size) {
  return toResult(describeBitcode(ArrayRef(Bitcode, Size)));
}

R3_EXPORT r3_result *r3_describe_kernel(const uint8_t *Bitcode, size_t Size, const char *Request) {
  return answer(Request, parseKernelRequest,
                [&](const KernelRequest &R) { return describeKernel(ArrayRef(Bitcode, Size), R); });
}
