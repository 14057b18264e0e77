// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Looks for a kernel's code in an image: IMAGE KERNEL PTX_VERSION BINARY_VERSION OUTPUT. Prints what it
// found, and writes the PTX that lies beside machine code to OUTPUT.ptx.
#include "foreign_code.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

int main(int, char **arguments) {
  std::ifstream file(arguments[1], std::ios::binary);
  std::vector<char> content((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  r3::cuda::ForeignImage image(content.data(), content.size());
  auto code = image.find(arguments[2], std::atoi(arguments[3]), std::atoi(arguments[4]));
  if (!code)
    return 1;
  std::printf("%s\n", code->format == r3::cuda::ForeignCode::Format::Cubin ? "cubin" : "ptx");
  if (code->managed)
    std::printf("managed\n");
  for (const std::string &name : code->variables)
    std::printf("%s\n", name.c_str());
  auto write = [&](const std::string &path, const std::vector<std::uint8_t> &content) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char *>(content.data()), std::streamsize(content.size()));
  };
  write(arguments[5], code->image);
  if (auto ptx = image.ptx(arguments[2], std::atoi(arguments[4])))
    write(std::string(arguments[5]) + ".ptx", ptx->image);
}
