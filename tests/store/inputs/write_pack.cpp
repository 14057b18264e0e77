// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes a pack with the recorder's own writer: PACK QUOTA COUNT [kill]. Launch n stands on the image of n +
// 1 chunks.
#include "pack.h"
#include "r3core/recorder.h"

#include <csignal>
#include <cstdlib>
#include <string>

using namespace r3;

static std::vector<std::uint8_t> chunkContent(int launch, int index) {
  std::vector<std::uint8_t> content(index % 2 ? ChunkBytes : 0);
  unsigned seed = unsigned(launch * 1000 + index);
  for (std::uint8_t &byte : content)
    byte = std::uint8_t((seed = seed * 1664525u + 1013904223u) >> 24);
  content.resize(ChunkBytes);
  return content;
}

int main(int argc, char **argv) {
  PackWriter pack(argv[1], std::strtoull(argv[2], nullptr, 10));
  pack.putDocument(R"({"kind": "process", "pid": 1})");
  int count = std::atoi(argv[3]);
  for (int launch = 0; launch < count; ++launch) {
    std::vector<std::uint8_t> list;
    for (int index = 0; index <= launch; ++index) {
      std::vector<std::uint8_t> content = chunkContent(launch, index);
      Key key = chunkKey(content.data(), content.size());
      pack.put(key, content.data(), content.size());
      list.insert(list.end(), key.bytes.begin(), key.bytes.end());
    }
    Key image = pack.putBlob(list.data(), list.size());
    pack.putDependent(R"({"kind": "launch", "launch": ")" + std::to_string(launch) + R"(", "image": ")" +
                          image.hex() + "\"}",
                      {});
    if (argc > 4 && launch == count / 2)
      std::raise(SIGKILL);
  }
  pack.putDocument(R"({"kind": "end"})");
  pack.close();
}
