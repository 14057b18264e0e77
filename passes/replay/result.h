// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What every call of passes/include/r3passes.h returns, and the error type that becomes it.
#ifndef R3_PASSES_REPLAY_RESULT_H
#define R3_PASSES_REPLAY_RESULT_H

#include "include/r3passes.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <string>

/// The C ABI's opaque result; the caller owns it.
struct r3_result {
  r3_status status = R3_OK;
  std::string message;
  llvm::SmallVector<char, 0> output;
  std::string report = "{}";
};

namespace r3 {

/// An error with the status that the C ABI hands out. Travels in llvm::Error and llvm::Expected.
class StatusError : public llvm::ErrorInfo<StatusError> {
public:
  static char ID;

  StatusError(r3_status Status, std::string Message) : Status(Status), Message(std::move(Message)) {}

  r3_status status() const { return Status; }
  void log(llvm::raw_ostream &OS) const override;
  std::error_code convertToErrorCode() const override;

private:
  r3_status Status;
  std::string Message;
};

llvm::Error makeError(r3_status Status, const llvm::Twine &Message);

/// What a successful call produced: bytes (may be empty) and its JSON report.
struct Product {
  llvm::SmallVector<char, 0> Output;
  llvm::json::Object Report;
};

/// A result on the heap, for the C ABI to return. Errors without a StatusError inside become
/// R3_CODEGEN_ERROR.
r3_result *toResult(llvm::Expected<Product> Outcome);

} // namespace r3

#endif
