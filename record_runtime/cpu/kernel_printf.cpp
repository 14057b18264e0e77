// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernel_printf.h"

#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

namespace r3::cpu {

namespace {

/// Reads values one after the other, a word of 64 bits each.
class WordArguments {
public:
  explicit WordArguments(std::vector<uint64_t> words) : words_(std::move(words)) {}

  template <typename T> T next() {
    T value{};
    if (next_ < words_.size())
      std::memcpy(&value, &words_[next_], sizeof value);
    ++next_;
    return value;
  }
  int32_t count() const { return static_cast<int32_t>(words_.size()); }

private:
  std::vector<uint64_t> words_;
  size_t next_ = 0;
};

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
template <typename Arguments> Conversion readConversion(const char *&at, Arguments &arguments) {
  Conversion c;
  c.text = *at++;
  for (; *at && std::strchr("-+ #0123456789.*hlLjzt", *at); ++at) {
    if (*at == '*')
      c.text += std::to_string(arguments.template next<int>());
    else
      c.text += *at;
    c.wide |= std::strchr("ljzt", *at) != nullptr;
  }
  c.kind = *at;
  if (*at)
    c.text += *at++;
  return c;
}

template <typename Arguments>
void appendConversion(std::string &out, const Conversion &c, Arguments &arguments) {
  if (c.kind == '%')
    out += '%';
  else if (std::strchr("diouxXc", c.kind) && c.wide)
    appendFormatted(out, c.text, arguments.template next<long long>());
  else if (std::strchr("diouxXc", c.kind))
    appendFormatted(out, c.text, arguments.template next<int>());
  else if (std::strchr("aAeEfFgG", c.kind))
    appendFormatted(out, c.text, arguments.template next<double>());
  else if (c.kind == 's')
    appendFormatted(out, c.text, arguments.template next<const char *>());
  else if (c.kind == 'p')
    appendFormatted(out, c.text, arguments.template next<void *>());
  else
    out += c.text;
}

template <typename Arguments> int32_t printFormatted(const char *format, Arguments arguments) {
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

} // namespace

int32_t printFromKernel(const char *format, const void *data) {
  return format ? printFormatted(format, PackedArguments(data)) : -1;
}

void KernelMessage::addText(const char *text, size_t size) {
  std::string content = text ? std::string(text, strnlen(text, size)) : "(null)";
  if (!has_format_) {
    has_format_ = true;
    format_ = std::move(content);
    return;
  }
  values_.push_back({true, texts_.size()});
  texts_.push_back(std::move(content));
}

void KernelMessage::addWords(const uint64_t *words, size_t count) {
  for (size_t i = 0; i < count; ++i)
    values_.push_back({false, words[i]});
}

int32_t KernelMessage::print() const {
  std::vector<uint64_t> words;
  for (const Value &value : values_)
    words.push_back(value.is_text ? reinterpret_cast<uint64_t>(texts_[value.word].c_str()) : value.word);
  return printFormatted(format_.c_str(), WordArguments(std::move(words)));
}

} // namespace r3::cpu
