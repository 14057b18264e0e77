// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collects what LLVM says while it compiles.
#ifndef R3_PASSES_REPLAY_DIAGNOSTICS_H
#define R3_PASSES_REPLAY_DIAGNOSTICS_H

#include "llvm/ADT/SetVector.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/Support/JSON.h"

#include <set>
#include <string>

namespace r3 {

/// Where a compile's diagnostics go; outlives the handler, which the context owns.
struct Diagnostics {
  bool WantRemarks = false;
  bool WantOccupancy = false; ///< it comes as a remark
  /// The first error's text, "" if none.
  std::string FirstError;
  /// Optimisation remarks in the order of their coming, each once.
  llvm::SetVector<std::string, std::vector<std::string>, std::set<std::string>> Remarks;
  /// Waves a SIMD of an AMD GPU, by the function's name, as LLVM derives it from registers and LDS.
  llvm::json::Object Occupancy;
};

class DiagnosticCollector : public llvm::DiagnosticHandler {
public:
  explicit DiagnosticCollector(Diagnostics &Sink) : Sink(Sink) {}

  bool handleDiagnostics(const llvm::DiagnosticInfo &Info) override;
  bool isAnalysisRemarkEnabled(llvm::StringRef Pass) const override;
  bool isMissedOptRemarkEnabled(llvm::StringRef Pass) const override;
  bool isPassedOptRemarkEnabled(llvm::StringRef Pass) const override;
  bool isAnyRemarkEnabled() const override { return Sink.WantRemarks || Sink.WantOccupancy; }

private:
  Diagnostics &Sink;
};

} // namespace r3

#endif
