// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/diagnostics.h"

#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/Function.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace r3 {

/// Enough for a person or a prompt; a large kernel makes thousands.
static constexpr size_t MaxRemarks = 200;

/// Statistics of the code generator that come as remarks, for each function, whatever was optimised.
static bool isBookkeeping(StringRef Pass) {
  return Pass == "size-info" || Pass == "asm-printer" || Pass == "prologepilog" ||
         Pass == "stack-frame-layout" || Pass == "annotation-remarks" || Pass == "gisel-select";
}

static std::string remarkText(const DiagnosticInfoOptimizationBase &Remark) {
  std::string Text;
  raw_string_ostream Stream(Text);
  if (Remark.isLocationAvailable())
    Stream << Remark.getLocationStr() << ": ";
  Stream << Remark.getPassName() << ": " << Remark.getMsg() << " (in " << Remark.getFunction().getName()
         << ")";
  return Text;
}

static constexpr StringLiteral ResourceUsage = "kernel-resource-usage";

/// Takes the number out of the AMDGPU printer's remark "Occupancy [waves/SIMD]: 8".
static void readOccupancy(const DiagnosticInfoOptimizationBase &Remark, Diagnostics &Sink) {
  std::string Message = Remark.getMsg();
  StringRef Text = StringRef(Message).trim();
  int64_t Waves;
  if (Text.consume_front("Occupancy [waves/SIMD]: ") && !Text.getAsInteger(10, Waves))
    Sink.Occupancy[Remark.getFunction().getName().str()] = Waves; // owned: the module goes first
}

bool DiagnosticCollector::handleDiagnostics(const DiagnosticInfo &Info) {
  if (const auto *Remark = dyn_cast<DiagnosticInfoOptimizationBase>(&Info)) {
    if (Remark->getPassName() == ResourceUsage)
      readOccupancy(*Remark, Sink);
    else if (Remark->isEnabled() && Sink.Remarks.size() < MaxRemarks)
      Sink.Remarks.insert(remarkText(*Remark));
    return true;
  }
  if (Info.getSeverity() != DS_Error || !Sink.FirstError.empty())
    return true;
  raw_string_ostream Stream(Sink.FirstError);
  DiagnosticPrinterRawOStream Printer(Stream);
  Info.print(Printer);
  return true;
}

bool DiagnosticCollector::isAnalysisRemarkEnabled(StringRef Pass) const {
  if (Pass == ResourceUsage)
    return Sink.WantOccupancy;
  return Sink.WantRemarks && !isBookkeeping(Pass);
}

bool DiagnosticCollector::isMissedOptRemarkEnabled(StringRef Pass) const {
  return isAnalysisRemarkEnabled(Pass);
}

bool DiagnosticCollector::isPassedOptRemarkEnabled(StringRef Pass) const {
  return isAnalysisRemarkEnabled(Pass);
}

} // namespace r3
