// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernel_printf.h"

#include <cstdio>
#include <cstring>
#include <string>

namespace r3::cpu {

namespace {

/// Reads values from CUDA's packed argument buffer.
class PackedArguments {
public:
  explicit PackedArguments(const void *data) : data_(static_cast<const char *>(data)) {}

  template <typename T> T next() {
    offset_ = (offset_ + alignof(T) - 1) / alignof(T) * alignof(T);
    T value;
    std::memcpy(&value, data_ + offset_, sizeof value);
    offset_ += sizeof value;
    ++count_;
    return value;
  }
  int32_t count() const { return count_; }

private:
  const char *data_;
  size_t offset_ = 0;
  int32_t count_ = 0;
};

/// One "%…" of a format.
struct Conversion {
  std::string text; ///< with stars replaced by their values
  bool wide = false;
  char kind = 0;
};

template <typename T> void appendFormatted(std::string &out, const std::string &format, T value) {
  int length = std::snprintf(nullptr, 0, format.c_str(), value);
  if (length < 0)
    return;
  std::string piece(static_cast<size_t>(length) + 1, '\0');
  std::snprintf(piece.data(), piece.size(), format.c_str(), value);
  piece.pop_back();
  out += piece;
}

// Leaves `at` behind the conversion.
Conversion readConversion(const char *&at, PackedArguments &arguments) {
  Conversion c;
  c.text = *at++;
  for (; *at && std::strchr("-+ #0123456789.*hlLjzt", *at); ++at) {
    if (*at == '*')
      c.text += std::to_string(arguments.next<int>());
    else
      c.text += *at;
    c.wide |= std::strchr("ljzt", *at) != nullptr;
  }
  c.kind = *at;
  if (*at)
    c.text += *at++;
  return c;
}

void appendConversion(std::string &out, const Conversion &c, PackedArguments &arguments) {
  if (c.kind == '%')
    out += '%';
  else if (std::strchr("diouxXc", c.kind) && c.wide)
    appendFormatted(out, c.text, arguments.next<long long>());
  else if (std::strchr("diouxXc", c.kind))
    appendFormatted(out, c.text, arguments.next<int>());
  else if (std::strchr("aAeEfFgG", c.kind))
    appendFormatted(out, c.text, arguments.next<double>());
  else if (c.kind == 's')
    appendFormatted(out, c.text, arguments.next<const char *>());
  else if (c.kind == 'p')
    appendFormatted(out, c.text, arguments.next<void *>());
  else
    out += c.text;
}

} // namespace

int32_t printFromKernel(const char *format, const void *data) {
  if (!format)
    return -1;
  PackedArguments arguments(data);
  std::string out;
  for (const char *at = format; *at;) {
    if (*at != '%') {
      out += *at++;
      continue;
    }
    Conversion c = readConversion(at, arguments);
    if (c.kind)
      appendConversion(out, c, arguments);
  }
  std::fwrite(out.data(), 1, out.size(), stdout);
  return arguments.count();
}

} // namespace r3::cpu
