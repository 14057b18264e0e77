// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/result.h"

#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace r3 {

char StatusError::ID = 0;

void StatusError::log(raw_ostream &OS) const { OS << Message; }

std::error_code StatusError::convertToErrorCode() const { return inconvertibleErrorCode(); }

Error makeError(r3_status Status, const Twine &Message) {
  return make_error<StatusError>(Status, Message.str());
}

static void fillFromError(r3_result &Result, Error Failure) {
  handleAllErrors(
      std::move(Failure),
      [&](const StatusError &E) {
        Result.status = E.status();
        Result.message = E.message();
      },
      [&](const ErrorInfoBase &E) {
        Result.status = R3_CODEGEN_ERROR;
        Result.message = E.message();
      });
}

r3_result *toResult(Expected<Product> Outcome) {
  auto *Result = new r3_result;
  if (!Outcome) {
    fillFromError(*Result, Outcome.takeError());
    return Result;
  }
  Result->output = std::move(Outcome->Output);
  Result->report.clear();
  raw_string_ostream(Result->report) << json::Value(std::move(Outcome->Report));
  return Result;
}

} // namespace r3
