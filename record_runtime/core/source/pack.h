// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

namespace r3 {

/// XXH3-128 of a content, in canonical (big endian) form; all zero for a chunk of zero bytes.
struct Key {
  std::array<std::uint8_t, 16> bytes{};
  bool operator==(const Key &other) const { return bytes == other.bytes; }
  bool operator!=(const Key &other) const { return bytes != other.bytes; }
  std::string hex() const;
};

struct KeyHash {
  std::size_t operator()(const Key &key) const;
};

/// Key of any content but a chunk of memory.
Key keyOf(const void *content, std::size_t size);
/// Key of a chunk of memory: the zero key for zero bytes.
Key chunkKey(const void *content, std::size_t size);

/// Appends to one pack (docs/store-format.md). Compression and writing happen on threads of its own; one
/// record is one write, and a document is written after all that was handed in before it.
///
/// When the disk is full or the quota reached, it says so once, drops what is on its way, and takes no more
/// chunks; what stands in the pack stays whole.
class PackWriter {
public:
  /// `quotaBytes` is for all packs of the folder together, whichever process writes them.
  PackWriter(const std::string &path, std::uint64_t quotaBytes);
  ~PackWriter();
  PackWriter(const PackWriter &) = delete;

  bool opened() const { return descriptor >= 0; }
  /// Whether launches may still be recorded.
  bool accepting() const { return state.load() == State::Open; }

  /// Stores a content that the key names; may wait while the threads are behind. Throws std::bad_alloc.
  void put(const Key &key, const void *content, std::size_t size);
  /// Stores a chunk list, bitcode or the like and returns its key.
  Key putBlob(const void *content, std::size_t size);
  /// A document that stands on chunks: dropped when any chunk before it was, and then `dropped` is called.
  void putDependent(std::string json, std::function<void()> dropped);
  /// A document that stands alone: written while there is room, whatever happened to chunks.
  void putDocument(std::string json);

  /// Waits until what is on its way is written.
  void drain();
  /// Writes what is on its way and ends the threads.
  void close();

private:
  enum class State { Open, Full, Closed };
  enum class RecordType : std::uint32_t { Chunk = 1, Document = 2 };
  enum class Needs { Nothing, EveryChunk };
  struct Job {
    std::uint64_t sequence;
    RecordType type;
    Needs needs;
    Key key;
    std::vector<std::uint8_t> content;
    std::function<void()> dropped;
  };
  struct Record {
    Needs needs;
    RecordType type;
    std::vector<std::uint8_t> bytes;
    std::function<void()> dropped;
  };

  void enqueue(RecordType type, Needs needs, const Key &key, const void *content, std::size_t size,
               std::function<void()> dropped = {});
  void work();
  void finished(std::uint64_t sequence, Record record);
  void append(const Record &record);
  bool tryAppend(const Record &record);
  bool writeWhole(const std::vector<std::uint8_t> &bytes);
  void stop(const char *why);
  bool isOurFile() const;
  std::uint64_t folderBytes();

  const std::string path;
  const std::uint64_t quotaBytes;
  std::atomic<int> descriptor{-1};
  std::uint64_t device = 0, inode = 0; // of the pack: an application may close descriptors it doesn't know
  std::uint64_t written = 0;
  std::uint64_t others = 0, nextLook = 0; // bytes of other packs; `written` at which they are looked at again
  std::atomic<State> state{State::Open};

  std::mutex mutex; // of all below
  std::condition_variable wake, room;
  std::unordered_set<Key, KeyHash> keys;
  std::deque<Job> jobs;
  std::set<std::uint64_t> outstanding;     // sequence numbers not yet written
  std::map<std::uint64_t, Record> waiting; // documents whose chunks are outstanding
  std::uint64_t nextSequence = 0;
  std::size_t queuedBytes = 0;
  bool closing = false;

  std::mutex writing;
  std::vector<std::thread> threads;
};

} // namespace r3
