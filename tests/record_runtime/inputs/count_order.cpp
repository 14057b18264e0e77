// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads that record launches of one kernel, on memory that is ever new: FOLDER THREADS LAUNCHES
// MILLISECONDS. The last is what a look at memory takes; with 0 the pack's queue is full nearly all the time.
#include "r3core/recorder.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

using namespace r3;

namespace {

constexpr std::uint64_t Address = 0x600000000000, Bytes = std::uint64_t(2) << 20;

/// One allocation, whose content is another one each time that it is looked at; easily compressed.
class EverNew : public Memory {
public:
  explicit EverNew(int milliseconds) : pause(milliseconds) {}
  std::vector<Allocation> allocations() override { return {{Address, Bytes}}; }
  std::vector<ForeignRange> foreign() override { return {}; }
  const std::uint8_t *view(std::uint64_t, std::size_t size) override {
    std::this_thread::sleep_for(pause);
    static std::atomic<std::uint64_t> looks{0};
    thread_local std::vector<std::uint64_t> content(Bytes / 8);
    std::uint64_t look = ++looks << 32;
    for (std::size_t i = 0; i < size / 8; ++i)
      content[i] = look + i / 512;
    return reinterpret_cast<const std::uint8_t *>(content.data());
  }

private:
  std::chrono::milliseconds pause;
};

} // namespace

int main(int, char **arguments) {
  Settings settings;
  settings.directory = arguments[1];
  settings.launches = 1000000;
  settings.every = 1;
  EverNew memory(std::atoi(arguments[4]));
  Recorder recorder(settings, {"cuda:0", "", "", "", Address, Bytes}, memory);
  Kernel &kernel = recorder.addKernel({"foreign:1", "kernel", {{0, 8}}, "cuda:0", ""});
  std::vector<std::thread> threads;
  for (int thread = 0; thread < std::atoi(arguments[2]); ++thread)
    threads.emplace_back([&] {
      for (int i = 0; i < std::atoi(arguments[3]); ++i) {
        Decision decision = recorder.launching(kernel, Geometry(), Arguments());
        if (auto capture = recorder.before(decision, &Address, sizeof(Address), {}))
          recorder.after(std::move(capture), 1);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  recorder.finish();
}
