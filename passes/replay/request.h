// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The JSON requests of the C ABI as values. Unknown keys, wrong types and missing keys are R3_BAD_REQUEST.
#ifndef R3_PASSES_REPLAY_REQUEST_H
#define R3_PASSES_REPLAY_REQUEST_H

#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace r3 {

enum class Emit { Assembly, Object, Bitcode, Text };

/// How multiplications and additions may fuse. Off, On and Fast set the target option as clang's
/// -ffp-contract does; Never also takes the permission out of the IR, so that nothing fuses.
enum class FPContract { Off, On, Fast, Never };

/// Launch bounds put on the module's kernels; an empty text removes the one that the source gave.
struct KernelAttributes {
  std::optional<std::string> MaxNTid;
  std::optional<std::string> MinCTASm;
  std::optional<std::string> MaxNReg;
  std::optional<std::string> FlatWorkGroupSize; ///< AMD: "1,256", fewest and most threads a block
  std::optional<std::string> WavesPerEU;        ///< AMD: "4" or "4,8", waves that a SIMD shall hold
  std::optional<std::string> NumVGPR;           ///< AMD: most vector registers a thread
};

struct LinkRequest {
  std::vector<uint64_t> Sizes; ///< bytes of each unit's bitcode
};

struct CompileRequest {
  std::string Pipeline;
  unsigned CodegenLevel = 3;
  FPContract Contract = FPContract::Fast;
  std::optional<std::string> CPU;
  std::optional<std::string> Features;
  bool VectorizeLoops = true;
  bool VectorizeSLP = true;
  bool UnrollLoops = true;
  std::vector<std::string> LLVMOptions;
  KernelAttributes Attributes;
  bool Remarks = false;
  Emit Output = Emit::Assembly;
};

/// {"kernel": name}
struct KernelRequest {
  std::string Kernel;
};

/// {"kernel": name, "arguments": ["0=10270000", …], "block": "128,1,1", "grid": "64,1,1",
/// "tables": ["@name=0000803f", "2+16=0000803f", …]}, all but kernel optional.
struct SpecialiseRequest {
  std::string Kernel;
  std::vector<std::string> Arguments;
  std::optional<std::string> Block;
  std::optional<std::string> Grid;
  std::vector<std::string> Tables; ///< replay/tables.h
};

/// {"triple", "cpu"} and, for r3_parse_pipeline, {"pipeline"}.
struct TargetRequest {
  std::string Triple;
  std::string CPU;
  std::string Pipeline;
};

/// "256", "16,16" or "16,16,1": at most MaxCount positive numbers that PTX takes.
bool isNumberList(llvm::StringRef Text, size_t MaxCount);

llvm::Expected<CompileRequest> parseCompileRequest(llvm::StringRef JSON);
llvm::Expected<KernelRequest> parseKernelRequest(llvm::StringRef JSON);
llvm::Expected<LinkRequest> parseLinkRequest(llvm::StringRef JSON);
llvm::Expected<SpecialiseRequest> parseSpecialiseRequest(llvm::StringRef JSON);
llvm::Expected<TargetRequest> parsePipelineRequest(llvm::StringRef JSON);
llvm::Expected<TargetRequest> parseListRequest(llvm::StringRef JSON);

} // namespace r3

#endif
