// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pack.h"
#include "r3core/log.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>

using namespace r3;

namespace {

constexpr std::size_t HeaderBytes = 40;
constexpr std::size_t QueueLimit = std::size_t(64) << 20;
constexpr std::uint64_t LookEvery = std::uint64_t(16) << 20;
constexpr int CompressionLevel = 1;
constexpr int FirstDescriptor = 200; // out of the way of programs that close or count the low ones

struct FreeContext {
  void operator()(ZSTD_CCtx *context) const { ZSTD_freeCCtx(context); }
};
using Compressor = std::unique_ptr<ZSTD_CCtx, FreeContext>;

void store32(std::uint8_t *to, std::uint32_t value) {
  for (int i = 0; i < 4; ++i)
    to[i] = std::uint8_t(value >> 8 * i);
}

void store64(std::uint8_t *to, std::uint64_t value) {
  for (int i = 0; i < 8; ++i)
    to[i] = std::uint8_t(value >> 8 * i);
}

std::uint64_t checksum(const std::uint8_t *header, const std::uint8_t *payload, std::size_t size) {
  XXH3_state_t hash;
  XXH3_64bits_reset(&hash);
  XXH3_64bits_update(&hash, header, 32);
  XXH3_64bits_update(&hash, payload, size);
  return XXH3_64bits_digest(&hash);
}

/// Header and zstd frame; empty when compression failed for want of memory.
std::vector<std::uint8_t> encode(ZSTD_CCtx *compressor, std::uint32_t type, const Key &key,
                                 const std::vector<std::uint8_t> &content) {
  std::vector<std::uint8_t> record(HeaderBytes + ZSTD_compressBound(content.size()));
  std::size_t size = ZSTD_compressCCtx(compressor, record.data() + HeaderBytes, record.size() - HeaderBytes,
                                       content.data(), content.size(), CompressionLevel);
  if (ZSTD_isError(size))
    return {};
  record.resize(HeaderBytes + size);
  std::memcpy(record.data(), "R3PK", 4);
  store32(record.data() + 4, type);
  store64(record.data() + 8, size);
  std::memcpy(record.data() + 16, key.bytes.data(), 16);
  store64(record.data() + 32, checksum(record.data(), record.data() + HeaderBytes, size));
  return record;
}

/// The application's handlers must not run on our threads, and SIGXFSZ must not end it.
void blockSignals() {
  sigset_t every;
  sigfillset(&every);
  pthread_sigmask(SIG_BLOCK, &every, nullptr);
}

/// Bytes of the packs beside this one.
std::uint64_t otherPacks(const std::string &path) {
  std::size_t slash = path.rfind('/');
  std::string folder = slash == std::string::npos ? "." : path.substr(0, slash);
  std::string own = slash == std::string::npos ? path : path.substr(slash + 1);
  std::unique_ptr<DIR, int (*)(DIR *)> list(opendir(folder.c_str()), closedir);
  std::uint64_t sum = 0;
  while (const dirent *entry = list ? readdir(list.get()) : nullptr) {
    std::string_view name(entry->d_name);
    struct stat status;
    if (name.size() > 7 && name.substr(name.size() - 7) == ".r3pack" && name != own &&
        stat((folder + "/" + entry->d_name).c_str(), &status) == 0)
      sum += std::uint64_t(status.st_size);
  }
  return sum;
}

int openPack(const std::string &path) {
  int low = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
  if (low < 0)
    return low;
  int high = fcntl(low, F_DUPFD_CLOEXEC, FirstDescriptor);
  if (high < 0)
    return low;
  close(low);
  return high;
}

} // namespace

std::string Key::hex() const {
  static const char digits[] = "0123456789abcdef";
  std::string text;
  for (std::uint8_t byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::size_t KeyHash::operator()(const Key &key) const {
  std::size_t part;
  std::memcpy(&part, key.bytes.data(), sizeof(part));
  return part;
}

Key r3::keyOf(const void *content, std::size_t size) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(content, size));
  Key key;
  std::memcpy(key.bytes.data(), canonical.digest, 16);
  return key;
}

Key r3::chunkKey(const void *content, std::size_t size) {
  const auto *bytes = static_cast<const std::uint8_t *>(content);
  if (size && bytes[0] == 0 && !std::memcmp(bytes, bytes + 1, size - 1))
    return Key();
  return keyOf(content, size);
}

PackWriter::PackWriter(const std::string &path, std::uint64_t quotaBytes)
    : path(path), quotaBytes(quotaBytes), descriptor(openPack(path)) {
  if (!opened())
    return;
  struct stat status;
  if (fstat(descriptor, &status) == 0) {
    device = status.st_dev;
    inode = status.st_ino;
  }
  unsigned count = std::clamp(std::thread::hardware_concurrency() / 2, 1u, 4u);
  sigset_t every, before;
  sigfillset(&every);
  pthread_sigmask(SIG_BLOCK, &every, &before); // threads inherit the mask
  try {
    for (unsigned i = 0; i < count; ++i)
      threads.emplace_back([this] { work(); });
  } catch (...) {
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (threads.empty()) {
    ::close(descriptor);
    descriptor = -1;
    errno = EAGAIN;
  }
}

PackWriter::~PackWriter() { close(); }

void PackWriter::put(const Key &key, const void *content, std::size_t size) {
  if (key == Key() || !accepting())
    return;
  {
    std::lock_guard lock(mutex);
    if (!keys.insert(key).second)
      return;
  }
  try {
    enqueue(RecordType::Chunk, Needs::Nothing, key, content, size);
  } catch (...) { // no memory for a copy: whoever comes with it next must not think that it is stored
    std::lock_guard lock(mutex);
    keys.erase(key);
    throw;
  }
}

Key PackWriter::putBlob(const void *content, std::size_t size) {
  Key key = keyOf(content, size);
  put(key, content, size);
  return key;
}

void PackWriter::putDependent(std::string json, std::function<void()> dropped) {
  enqueue(RecordType::Document, Needs::EveryChunk, keyOf(json.data(), json.size()), json.data(), json.size(),
          std::move(dropped));
}

void PackWriter::putDocument(std::string json) {
  enqueue(RecordType::Document, Needs::Nothing, keyOf(json.data(), json.size()), json.data(), json.size());
}

void PackWriter::enqueue(RecordType type, Needs needs, const Key &key, const void *content, std::size_t size,
                         std::function<void()> dropped) {
  if (!opened())
    return;
  const auto *bytes = static_cast<const std::uint8_t *>(content);
  std::vector<std::uint8_t> copy(bytes, bytes + size);
  std::unique_lock lock(mutex);
  room.wait(lock, [&] { return queuedBytes < QueueLimit || closing; });
  if (closing)
    return;
  std::uint64_t sequence = nextSequence++;
  outstanding.insert(sequence);
  queuedBytes += size;
  jobs.push_back({sequence, type, needs, key, std::move(copy), std::move(dropped)});
  wake.notify_one();
}

void PackWriter::work() {
  blockSignals();
  Compressor compressor(ZSTD_createCCtx());
  std::unique_lock lock(mutex);
  for (;;) {
    wake.wait(lock, [&] { return closing || !jobs.empty(); });
    if (jobs.empty())
      return;
    Job job = std::move(jobs.front());
    jobs.pop_front();
    lock.unlock();
    Record record{job.needs, job.type, {}, std::move(job.dropped)};
    try {
      if (compressor)
        record.bytes = encode(compressor.get(), std::uint32_t(job.type), job.key, job.content);
    } catch (const std::exception &) {
      record.bytes.clear();
    }
    finished(job.sequence, std::move(record));
    lock.lock();
    queuedBytes -= job.content.size();
    room.notify_all();
  }
}

void PackWriter::finished(std::uint64_t sequence, Record record) {
  std::unique_lock order(mutex, std::defer_lock);
  if (record.type == RecordType::Chunk) {
    {
      std::lock_guard lock(writing);
      append(record);
    }
    order.lock();
  } else {
    order.lock();
    waiting.emplace(sequence, std::move(record));
  }
  if (!waiting.count(sequence))
    outstanding.erase(sequence);
  // Documents go out as soon as nothing before them is outstanding.
  while (!waiting.empty() && waiting.begin()->first == *outstanding.begin()) {
    Record document = std::move(waiting.begin()->second);
    {
      std::lock_guard lock(writing);
      append(document);
    }
    outstanding.erase(outstanding.begin());
    waiting.erase(waiting.begin());
  }
}

void PackWriter::append(const Record &record) {
  if (!tryAppend(record) && record.dropped)
    record.dropped();
}

bool PackWriter::tryAppend(const Record &record) {
  bool standsAlone = record.type == RecordType::Document && record.needs == Needs::Nothing;
  if (!accepting() && !standsAlone)
    return false;
  if (record.bytes.empty())
    stop("memory is exhausted");
  else if (!standsAlone && folderBytes() + record.bytes.size() > quotaBytes)
    stop("it reached its size limit");
  else if (!isOurFile())
    stop("the program closed its file");
  else if (writeWhole(record.bytes))
    return true;
  else
    stop(std::strerror(errno));
  return false;
}

/// One write, unless the disk is about to be full; what it then cuts short is taken back, so that the pack
/// ends with a whole record.
bool PackWriter::writeWhole(const std::vector<std::uint8_t> &bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    ssize_t size = ::write(descriptor, bytes.data() + done, bytes.size() - done);
    if (size < 0 && errno == EINTR)
      continue;
    if (size <= 0)
      break;
    done += std::size_t(size);
  }
  if (done == bytes.size()) {
    written += done;
    return true;
  }
  int reason = errno;
  if (done && ftruncate(descriptor, off_t(written)) != 0)
    descriptor = -1; // a torn tail: readers drop it, and nothing may follow it
  errno = reason;
  return false;
}

void PackWriter::stop(const char *why) {
  State open = State::Open;
  if (state.compare_exchange_strong(open, State::Full))
    message("recording stopped after %llu MiB (%s): %s; the program goes on, what was recorded is whole",
            static_cast<unsigned long long>(written >> 20), path.c_str(), why);
}

/// Of a job's other processes only what they had written a while ago is known: by so much a quota may be
/// passed.
std::uint64_t PackWriter::folderBytes() {
  if (written >= nextLook && quotaBytes != UINT64_MAX) {
    nextLook = written + LookEvery;
    others = otherPacks(path);
  }
  return written + others;
}

bool PackWriter::isOurFile() const {
  struct stat status;
  return descriptor >= 0 && fstat(descriptor, &status) == 0 && status.st_dev == device &&
         status.st_ino == inode;
}

void PackWriter::drain() {
  std::unique_lock lock(mutex);
  std::uint64_t last = nextSequence; // the program may go on, and what it hands in later isn't waited for
  room.wait(lock, [&] { return outstanding.empty() || *outstanding.begin() >= last || closing; });
}

void PackWriter::close() {
  {
    std::lock_guard lock(mutex);
    if (closing)
      return;
    closing = true;
  }
  wake.notify_all();
  room.notify_all();
  for (std::thread &thread : threads)
    thread.join();
  state = State::Closed;
  if (isOurFile())
    ::close(descriptor);
}
