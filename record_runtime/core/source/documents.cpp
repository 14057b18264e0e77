// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "documents.h"
#include "ranks.h"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace r3;
using nlohmann::json;

namespace {

/// Names and paths need not be UTF-8; JSON must be.
std::string text(const json &document) {
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string hexNumber(std::uint64_t value) {
  char buffer[32];
  snprintf(buffer, sizeof(buffer), "0x%llx", static_cast<unsigned long long>(value));
  return buffer;
}

std::string hexBytes(const std::vector<std::uint8_t> &bytes) {
  static const char digits[] = "0123456789abcdef";
  std::string result;
  result.reserve(2 * bytes.size());
  for (std::uint8_t byte : bytes) {
    result += digits[byte >> 4];
    result += digits[byte & 15];
  }
  return result;
}

json triple(const Dim3 &dim) { return json::array({dim.x, dim.y, dim.z}); }

std::string executable() {
  char path[4096];
  ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
  return length > 0 ? std::string(path, std::size_t(length)) : std::string();
}

json arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  json list = json::array();
  for (std::size_t at = 0; at < all.size();) {
    std::size_t end = std::min(all.find('\0', at), all.size());
    list.push_back(all.substr(at, end - at));
    at = end + 1;
  }
  return list;
}

json rank() {
  std::optional<long> known = processRank();
  return known ? json(*known) : json(nullptr);
}

json memoryEntry(const CapturedMemory &memory) {
  json entry = {{"address", hexNumber(memory.address)},
                {"size", memory.size},
                {"before", memory.beforeList.hex()},
                {"after", memory.afterList.hex()}};
  if (!memory.name.empty())
    entry["name"] = memory.name;
  return entry;
}

json memoryEntries(const std::vector<CapturedMemory> &captured) {
  json list = json::array();
  for (const CapturedMemory &memory : captured)
    list.push_back(memoryEntry(memory));
  return list;
}

} // namespace

std::string r3::processDocument(const ProcessInfo &process, const std::string &start,
                                const std::string &host) {
  return text({{"kind", "process"},
               {"pid", getpid()},
               {"host", host},
               {"executable", executable()},
               {"arguments", arguments()},
               {"rank", rank()},
               {"start", start},
               {"device", process.device},
               {"device_name", process.deviceName},
               {"architecture", process.architecture},
               {"driver", process.driver},
               {"arena_base", hexNumber(process.arenaBase)},
               {"arena_size", process.arenaSize}});
}

std::string r3::moduleDocument(const Note &note, const Key &bitcode) {
  std::string document = text(
      {{"kind", "module"}, {"module", note.module}, {"bitcode", bitcode.hex()}, {"binary", note.binary}});
  document.pop_back();
  return document + ",\"info\":" + note.info + "}"; // already JSON, and kept as the compiler wrote it
}

std::string r3::foreignModuleDocument(const std::string &module, const std::string &binary) {
  return text({{"kind", "module"},
               {"module", module},
               {"bitcode", nullptr},
               {"binary", binary},
               {"image", nullptr},
               {"info", json::object()}});
}

std::string r3::foreignModuleDocument(const std::string &module, const ForeignModule &code, const Key &image,
                                      const std::optional<Key> &ptx) {
  json info = {{"format", code.format}};
  if (code.architecture)
    info["architecture"] = "sm_" + std::to_string(code.architecture);
  return text({{"kind", "module"},
               {"module", module},
               {"bitcode", nullptr},
               {"binary", code.binary},
               {"image", image.hex()},
               {"ptx", ptx ? json(ptx->hex()) : json(nullptr)},
               {"info", std::move(info)}});
}

std::string r3::kernelDocument(const Kernel &kernel) {
  json shapes = json::array(), refusals = json::array();
  std::uint64_t total = 0, timed = 0;
  for (const auto &[geometry, shape] : kernel.shapes) {
    total += shape.totalTime();
    timed += shape.timed;
    shapes.push_back({{"grid", triple(geometry.grid)},
                      {"block", triple(geometry.block)},
                      {"shared", geometry.shared},
                      {"launches", shape.launches},
                      {"total_ns", shape.totalTime()},
                      {"median_ns", shape.medianTime()}});
  }
  for (const auto &[reason, launches] : kernel.refusals)
    refusals.push_back({{"reason", reason}, {"launches", launches}});
  if (kernel.underWay) // what this says is true if nothing more is written of the kernel
    refusals.push_back(
        {{"reason", "it was still running when the program ended"}, {"launches", kernel.underWay}});
  if (!kernel.description.notRecordable.empty())
    refusals.push_back({{"reason", kernel.description.notRecordable}, {"launches", kernel.launches}});
  return text({{"kind", "kernel"},
               {"module", kernel.description.module},
               {"name", kernel.description.name},
               {"device", kernel.description.device},
               {"launches", kernel.launches},
               {"total_ns", total},
               {"timed", timed},
               {"recorded", kernel.recorded},
               {"not_recordable", refusals},
               {"shapes", shapes}});
}

std::string r3::launchDocument(const Capture &capture, const KernelDescription &kernel,
                               const std::string &launch, std::uint64_t time) {
  json parameters = json::array();
  for (const Parameter &parameter : kernel.parameters)
    parameters.push_back({{"offset", parameter.offset}, {"size", parameter.size}});
  const Geometry &geometry = capture.decision.geometry;
  return text({{"kind", "launch"},
               {"launch", launch},
               {"module", kernel.module},
               {"name", kernel.name},
               {"ordinal", capture.decision.ordinal},
               {"grid", triple(geometry.grid)},
               {"block", triple(geometry.block)},
               {"shared", geometry.shared},
               {"held_out", capture.decision.heldOut},
               {"identity", capture.identity(kernel.name)},
               {"device", kernel.device},
               {"time_ns", time},
               {"snapshot", capture.snapshot == SnapshotKind::All ? "all" : "reachable"},
               {"arguments", hexBytes(capture.arguments)},
               {"parameters", parameters},
               {"regions", memoryEntries(capture.regions)},
               {"globals", memoryEntries(capture.globals)}});
}

std::string r3::endDocument(const Totals &totals) {
  return text({{"kind", "end"},
               {"launches", totals.launches},
               {"recorded", totals.recorded},
               {"recording_ns", totals.recordingTime},
               {"copied_bytes", totals.copiedBytes},
               {"wall_ns", totals.wallTime}});
}
