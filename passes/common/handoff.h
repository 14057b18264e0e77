// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The hand-off: an anonymous file (memfd, append mode) that the wrapper makes and clang's processes inherit.
// The wrapper writes the user's command into it, each device compilation its module, and the host compilation
// takes what belongs to its source. One file for writer and readers, and no LLVM here, because the wrapper
// includes it.
#ifndef R3_COMMON_HANDOFF_H
#define R3_COMMON_HANDOFF_H

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <cerrno>
#include <unistd.h>

namespace r3::handoff {

/// Names the file's descriptor, in decimal.
inline constexpr const char *FdVariable = "R3_HANDOFF_FD";
/// Tells the hand-off from whatever else a stale variable may name.
inline constexpr const char *FileName = "r3-handoff";

enum class RecordKind : uint32_t {
  Command = 1, ///< directory, then the arguments, response files expanded
  Module = 2,  ///< unit, architecture, JSON, bitcode
  Claim = 3,   ///< unit: its host compilation has taken all modules before this record
  Said = 4,    ///< a sentence for the user, said by one of the compilations for all
};

struct Record {
  RecordKind kind;
  std::vector<std::string> fields;
};

namespace detail {

inline constexpr uint32_t Magic = 0x4f483352; // "R3HO"

template <typename Number> void putNumber(std::string &Out, Number Value) {
  Out.append(reinterpret_cast<const char *>(&Value), sizeof Value);
}

/// Takes numbers and texts off the front of a buffer; empty once anything was missing.
class Cursor {
public:
  explicit Cursor(std::string_view Bytes) : Rest(Bytes) {}

  template <typename Number> std::optional<Number> number() {
    Number Value;
    if (Rest.size() < sizeof Value)
      return std::nullopt;
    std::memcpy(&Value, Rest.data(), sizeof Value);
    Rest.remove_prefix(sizeof Value);
    return Value;
  }

  std::optional<std::string> text() {
    std::optional<uint64_t> Size = number<uint64_t>();
    if (!Size || Rest.size() < *Size)
      return std::nullopt;
    std::string Text(Rest.substr(0, *Size));
    Rest.remove_prefix(*Size);
    return Text;
  }

private:
  std::string_view Rest;
};

inline std::optional<Record> readRecord(Cursor &In) {
  std::optional<uint32_t> Mark = In.number<uint32_t>(), Kind = In.number<uint32_t>(),
                          Count = In.number<uint32_t>();
  if (!Mark || *Mark != Magic || !Kind || !Count)
    return std::nullopt;
  Record Read{static_cast<RecordKind>(*Kind), {}};
  for (uint32_t Index = 0; Index < *Count; ++Index) {
    std::optional<std::string> Field = In.text();
    if (!Field)
      return std::nullopt;
    Read.fields.push_back(std::move(*Field));
  }
  return Read;
}

} // namespace detail

inline std::string encode(const Record &R) {
  std::string Out;
  detail::putNumber(Out, detail::Magic);
  detail::putNumber(Out, static_cast<uint32_t>(R.kind));
  detail::putNumber(Out, static_cast<uint32_t>(R.fields.size()));
  for (const std::string &Field : R.fields) {
    detail::putNumber(Out, static_cast<uint64_t>(Field.size()));
    Out += Field;
  }
  return Out;
}

/// All complete records, in the order they were written; what follows a damaged one is left out.
inline std::vector<Record> decode(std::string_view Bytes) {
  detail::Cursor In(Bytes);
  std::vector<Record> Records;
  while (std::optional<Record> Next = detail::readRecord(In))
    Records.push_back(std::move(*Next));
  return Records;
}

/// Appends R with one write, so that records of concurrent compilations don't mix. False if it couldn't.
inline bool append(int Fd, const Record &R) {
  std::string Bytes = encode(R);
  ssize_t Written;
  do
    Written = ::write(Fd, Bytes.data(), Bytes.size());
  while (Written < 0 && errno == EINTR);
  return Written == static_cast<ssize_t>(Bytes.size());
}

} // namespace r3::handoff

#endif
