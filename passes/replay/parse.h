// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Questions about pipelines that need no module.
#ifndef R3_PASSES_REPLAY_PARSE_H
#define R3_PASSES_REPLAY_PARSE_H

#include "replay/request.h"
#include "replay/result.h"

namespace r3 {

/// {"pipeline": the text as LLVM prints it}
llvm::Expected<Product> parsePipeline(const TargetRequest &Request);

/// The passes that this LLVM has for the target, by the adaptor that takes them.
llvm::Expected<Product> listPasses(const TargetRequest &Request);

} // namespace r3

#endif
