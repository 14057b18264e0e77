// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef R3_WRAPPERS_RESULT_H
#define R3_WRAPPERS_RESULT_H

#include <string>
#include <utility>
#include <variant>

namespace r3 {

/// Why something isn't there: one sentence for the user.
struct Problem {
  std::string sentence;
};

/// A value, or the problem that prevented it.
template <typename Value> class Result {
public:
  Result(Value V) : Content(std::move(V)) {}
  Result(Problem P) : Content(std::move(P)) {}

  explicit operator bool() const { return std::holds_alternative<Value>(Content); }
  const Value &operator*() const { return std::get<Value>(Content); }
  const Value *operator->() const { return &std::get<Value>(Content); }
  const std::string &problem() const { return std::get<Problem>(Content).sentence; }

private:
  std::variant<Value, Problem> Content;
};

} // namespace r3

#endif
