// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What LLVM's host code generator calls for bfloat16, which the C libraries of many systems do not have. By
// the convention of these functions the result is in the low half of a float's register.
#include <cstdint>
#include <cstring>

#define R3CPU_EXPORT extern "C" __attribute__((visibility("default")))

template <typename To, typename From> static To bitsAs(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

// To the nearest, ties to even.
static float narrowed(float value) {
  auto bits = bitsAs<uint32_t>(value);
  bool isNumber = (bits & 0x7fffffff) <= 0x7f800000;
  uint32_t rounded = isNumber ? bits + 0x7fff + (bits >> 16 & 1) : bits | 0x400000;
  return bitsAs<float>(rounded >> 16);
}

// To a float whose last bit says whether anything was lost, so that rounding it once more is as rounding
// once.
static float roundedToOdd(double value) {
  auto nearest = static_cast<float>(value);
  auto bits = bitsAs<uint32_t>(nearest);
  if (static_cast<double>(nearest) == value || value != value)
    return nearest;
  bool isAway = (nearest > value) == (value > 0);
  return bitsAs<float>((isAway ? bits - 1 : bits) | 1);
}

R3CPU_EXPORT float __truncsfbf2(float value) { return narrowed(value); }

R3CPU_EXPORT float __truncdfbf2(double value) { return narrowed(roundedToOdd(value)); }
