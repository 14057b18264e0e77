// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "r3core/log.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <unistd.h>

void r3::message(const char *format, ...) {
  char line[1024] = "r3: ";
  int savedErrno = errno;
  va_list values;
  va_start(values, format);
  int length = vsnprintf(line + 4, sizeof(line) - 5, format, values);
  va_end(values);
  if (length < 0)
    return;
  std::size_t end = 4 + (std::size_t(length) < sizeof(line) - 5 ? std::size_t(length) : sizeof(line) - 6);
  line[end++] = '\n';
  if (write(STDERR_FILENO, line, end) < 0) {
    // Nowhere left to say it.
  }
  errno = savedErrno;
}
