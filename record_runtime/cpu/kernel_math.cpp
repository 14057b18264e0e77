// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device arithmetic that no host instruction does: directed rounding, byte permutation, dot products of
// bytes. Compiled with -frounding-math.
#include <cfenv>
#include <cmath>
#include <cstdint>

#define R3CPU_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

/// Sets the rounding mode for its lifetime.
class Rounding {
public:
  explicit Rounding(int mode) : before_(std::fegetround()) { std::fesetround(mode); }
  ~Rounding() { std::fesetround(before_); }
  Rounding(const Rounding &) = delete;
  Rounding &operator=(const Rounding &) = delete;

private:
  int before_;
};

// Keeps the compiler from moving arithmetic across a change of the rounding mode.
template <typename T> T opaque(T value) {
  volatile T copy = value;
  return copy;
}

} // namespace

#define R3CPU_DIRECTED(NAME, MODE, T, SUFFIX)                                                                \
  R3CPU_EXPORT T r3cpu_add_##NAME##_##SUFFIX(T x, T y) {                                                     \
    Rounding rounding(MODE);                                                                                 \
    return opaque(opaque(x) + opaque(y));                                                                    \
  }                                                                                                          \
  R3CPU_EXPORT T r3cpu_mul_##NAME##_##SUFFIX(T x, T y) {                                                     \
    Rounding rounding(MODE);                                                                                 \
    return opaque(opaque(x) * opaque(y));                                                                    \
  }                                                                                                          \
  R3CPU_EXPORT T r3cpu_div_##NAME##_##SUFFIX(T x, T y) {                                                     \
    Rounding rounding(MODE);                                                                                 \
    return opaque(opaque(x) / opaque(y));                                                                    \
  }                                                                                                          \
  R3CPU_EXPORT T r3cpu_rcp_##NAME##_##SUFFIX(T x) {                                                          \
    Rounding rounding(MODE);                                                                                 \
    return opaque(opaque(T(1)) / opaque(x));                                                                 \
  }                                                                                                          \
  R3CPU_EXPORT T r3cpu_sqrt_##NAME##_##SUFFIX(T x) {                                                         \
    Rounding rounding(MODE);                                                                                 \
    return opaque(std::sqrt(opaque(x)));                                                                     \
  }                                                                                                          \
  R3CPU_EXPORT T r3cpu_fma_##NAME##_##SUFFIX(T x, T y, T z) {                                                \
    Rounding rounding(MODE);                                                                                 \
    return opaque(std::fma(opaque(x), opaque(y), opaque(z)));                                                \
  }

#define R3CPU_DIRECTED_CONVERSION(NAME, FROM, SOURCE, TARGET, MODE)                                          \
  R3CPU_EXPORT TARGET r3cpu_##FROM##_##NAME(SOURCE x) {                                                      \
    Rounding rounding(MODE);                                                                                 \
    return opaque(static_cast<TARGET>(opaque(x)));                                                           \
  }

#define R3CPU_ROUNDING(NAME, MODE)                                                                           \
  R3CPU_DIRECTED(NAME, MODE, float, f)                                                                       \
  R3CPU_DIRECTED(NAME, MODE, double, d)                                                                      \
  R3CPU_DIRECTED_CONVERSION(NAME, d2f, double, float, MODE)                                                  \
  R3CPU_DIRECTED_CONVERSION(NAME, i2f, int32_t, float, MODE)                                                 \
  R3CPU_DIRECTED_CONVERSION(NAME, ui2f, uint32_t, float, MODE)                                               \
  R3CPU_DIRECTED_CONVERSION(NAME, ll2f, int64_t, float, MODE)                                                \
  R3CPU_DIRECTED_CONVERSION(NAME, ull2f, uint64_t, float, MODE)                                              \
  R3CPU_DIRECTED_CONVERSION(NAME, ll2d, int64_t, double, MODE)                                               \
  R3CPU_DIRECTED_CONVERSION(NAME, ull2d, uint64_t, double, MODE)

R3CPU_ROUNDING(rz, FE_TOWARDZERO)
R3CPU_ROUNDING(rm, FE_DOWNWARD)
R3CPU_ROUNDING(rp, FE_UPWARD)

// PTX prmt in its default mode: each selector nibble picks a byte of {b, a}; its high bit replicates that
// byte's sign.
R3CPU_EXPORT uint32_t r3cpu_permute_bytes(uint32_t a, uint32_t b, uint32_t selector) {
  uint64_t bytes = uint64_t(b) << 32 | a;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    uint32_t nibble = selector >> (4 * i) & 15;
    auto byte = static_cast<uint8_t>(bytes >> (8 * (nibble & 7)));
    if (nibble & 8)
      byte = byte & 0x80 ? 0xff : 0;
    result |= uint32_t(byte) << (8 * i);
  }
  return result;
}

template <typename A, typename B> static uint32_t dotBytes(uint32_t a, uint32_t b, uint32_t c) {
  for (int i = 0; i < 4; ++i)
    c += static_cast<uint32_t>(static_cast<A>(a >> (8 * i)) * static_cast<B>(b >> (8 * i)));
  return c;
}

R3CPU_EXPORT uint32_t r3cpu_idp4a_ss(uint32_t a, uint32_t b, uint32_t c) {
  return dotBytes<int8_t, int8_t>(a, b, c);
}
R3CPU_EXPORT uint32_t r3cpu_idp4a_su(uint32_t a, uint32_t b, uint32_t c) {
  return dotBytes<int8_t, uint8_t>(a, b, c);
}
R3CPU_EXPORT uint32_t r3cpu_idp4a_us(uint32_t a, uint32_t b, uint32_t c) {
  return dotBytes<uint8_t, int8_t>(a, b, c);
}
R3CPU_EXPORT uint32_t r3cpu_idp4a_uu(uint32_t a, uint32_t b, uint32_t c) {
  return dotBytes<uint8_t, uint8_t>(a, b, c);
}
