// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes a pack with the recorder's own writer: PACK QUOTA COUNT [kill|refuse]. Launch n stands on the image
// of n + 1 chunks. "refuse": there is no memory for a chunk when it is first put.
#include "pack.h"
#include "r3core/recorder.h"

#include <csignal>
#include <cstdlib>
#include <new>
#include <string>

using namespace r3;

static thread_local bool refusing = false;

void *operator new(std::size_t size) {
  if (refusing && size == ChunkBytes)
    throw std::bad_alloc();
  return std::malloc(size);
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }

static void putRefused(PackWriter &pack, const Key &key, const std::vector<std::uint8_t> &content) {
  refusing = true;
  try {
    pack.put(key, content.data(), content.size());
  } catch (const std::bad_alloc &) {
  }
  refusing = false;
}

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
  const std::string fault = argc > 4 ? argv[4] : "";
  for (int launch = 0; launch < count; ++launch) {
    std::vector<std::uint8_t> list;
    for (int index = 0; index <= launch; ++index) {
      std::vector<std::uint8_t> content = chunkContent(launch, index);
      Key key = chunkKey(content.data(), content.size());
      if (fault == "refuse")
        putRefused(pack, key, content);
      pack.put(key, content.data(), content.size());
      list.insert(list.end(), key.bytes.begin(), key.bytes.end());
    }
    Key image = pack.putBlob(list.data(), list.size());
    pack.putDependent(R"({"kind": "launch", "launch": ")" + std::to_string(launch) + R"(", "image": ")" +
                          image.hex() + "\"}",
                      {});
    if (fault == "kill" && launch == count / 2)
      std::raise(SIGKILL);
  }
  pack.putDocument(R"({"kind": "end"})");
  pack.close();
}
