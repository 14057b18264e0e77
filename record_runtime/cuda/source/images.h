// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "driver.h"
#include "foreign_code.h"
#include "r3core/notes.h"

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace r3::cuda {

/// One device image that the application loaded, and what is known of where it came from.
struct Image {
  const void *wrapper = nullptr; ///< fat-binary wrapper in a loaded object; null for a plain image
  std::string binary;            ///< path of the object or file
  std::string foreignModule;     ///< "foreign:<hash of the image>"
  std::vector<const Note *> notes;
  std::vector<std::uint8_t> copy;        ///< what was loaded from memory that may go away
  std::shared_ptr<ForeignImage> foreign; ///< where code without a note is to be recorded
};

/// The libraries and modules that are loaded.
class Images {
public:
  enum class Keep { Notes, ForeignCode };
  explicit Images(Keep keep) : keep(keep) {}

  void loaded(CUlibrary library, const void *code);
  void loaded(CUmodule module, const void *code);
  void loadedFile(CUlibrary library, const char *path);
  void loadedFile(CUmodule module, const char *path);
  void unloaded(CUlibrary library);
  void unloaded(CUmodule module);

  /// Null when the recorder didn't see it being loaded.
  std::shared_ptr<const Image> find(CUlibrary library);
  /// Also finds a module that is a library's part in the current context.
  std::shared_ptr<const Image> find(CUmodule module);

  /// The image's notes that hold the kernel, one an architecture.
  std::vector<const Note *> notesOf(const Image &image, const std::string &kernel);
  /// The code that runs, of an image without a note; null where it isn't kept or can't be read.
  std::shared_ptr<const ForeignCode> foreignCode(const Image &image, const std::string &kernel,
                                                 int ptxVersion, int binaryVersion);
  /// The PTX beside it; null without any.
  std::shared_ptr<const ForeignCode> foreignPtx(const Image &image, const std::string &kernel,
                                                int binaryVersion);

private:
  std::shared_ptr<Image> describe(const void *code);
  std::shared_ptr<Image> describeFile(const char *path);

  const Keep keep;
  NoteIndex notes;
  std::mutex unpacking; // of foreign code
  std::mutex mutex;     // of all below
  std::unordered_map<CUlibrary, std::shared_ptr<const Image>> libraries;
  std::unordered_map<CUmodule, std::shared_ptr<const Image>> modules;
};

} // namespace r3::cuda
