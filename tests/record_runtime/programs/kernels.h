// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device code of the test programs, for the fake driver, with and without an R3 note.
#pragma once

#include "../fake_cuda/fake_image.h"

#include <cstdint>
#include <cstring>
#include <thread>

namespace {

/// scale(float *data, float by, int n)
void scale(const fake::Launch &launch) {
  auto *data = launch.argument<float *>(0);
  for (int i = 0, n = launch.argument<int>(2); i < n; ++i)
    data[i] *= launch.argument<float>(1);
}

struct Node {
  Node *next;
  double value;
};

/// chase(Node *list): follows pointers that lie in device memory
void chase(const fake::Launch &launch) {
  for (auto *node = launch.argument<Node *>(0); node; node = node->next)
    node->value += 1;
}

/// count(): changes a device variable by itself and by a table
void count(const fake::Launch &launch) {
  auto *counter = static_cast<std::uint64_t *>(launch.global(launch, "counter"));
  *counter += static_cast<std::uint64_t *>(launch.global(launch, "table"))[*counter % 4];
}

/// hidden(uint64 address): writes where a scan of its arguments can't see that it does
void hidden(const fake::Launch &launch) {
  auto *data = reinterpret_cast<int *>(~launch.argument<std::uint64_t>(0));
  ++*data;
}

/// spin(volatile int *flag): waits for the host
void spin(const fake::Launch &launch) {
  auto *flag = launch.argument<volatile int *>(0);
  while (!*flag)
    std::this_thread::yield();
}

/// sample(cudaTextureObject_t)
void sample(const fake::Launch &) {}

const fake::Parameter scaleParameters[] = {{0, 8}, {8, 4}, {12, 4}};
const fake::Parameter pointerParameters[] = {{0, 8}};
const std::uint64_t counterInitial = 1;
const std::uint64_t tableInitial[] = {1, 2, 3, 4};

const fake::Function functions[] = {{"_Z5scalePffi", scale, scaleParameters, 3},
                                    {"_Z5chaseP4Node", chase, pointerParameters, 1},
                                    {"_Z5countv", count, nullptr, 0},
                                    {"_Z6hiddenm", hidden, pointerParameters, 1},
                                    {"_Z4spinPVi", spin, pointerParameters, 1},
                                    {"_Z4lostv", count, nullptr, 0},
                                    {"_Z6sampley", sample, pointerParameters, 1}};
const fake::Global globals[] = {{"counter", 8, &counterInitial}, {"table", 32, tableInitial}};

/// Another size than the noted image's: the two must not look alike.
struct ForeignImage : fake::Image {
  char more[16] = "foreign";
};

} // namespace

extern "C" {
fake::Image noted_image = {0xba55ed50,
                           1,
                           16,
                           sizeof(fake::Image) - 16,
                           {},
                           "",
                           {'f', 'a', 'k', 'e', 'c', 'o', 'd', 'e'},
                           90,
                           90,
                           functions,
                           7,
                           globals,
                           2};
/// The note's assembly names it.
fake::Wrapper noted_wrapper = {0x466243b1, 1, &noted_image, nullptr};
}

namespace {

ForeignImage foreignImage = [] {
  ForeignImage image;
  static_cast<fake::Image &>(image) = noted_image;
  image.size = sizeof(ForeignImage) - 16;
  std::strcpy(image.ptx, ".version 8.0\n.target sm_90\n.address_size 64\n"
                         ".visible .entry _Z5scalePffi(.param .u64 data) { .global .b8 inner[4]; ret; }\n"
                         ".visible .entry _Z6sampley(.param .u64 handle) { ret; }\n"
                         "// .global .b8 comment[4];\n"
                         ".visible .global .align 8 .u64 counter = 1;\n"
                         ".extern .global .align 8 .b8 elsewhere[8];\n"
                         ".const .align 8 .b8 table[32] = {1, 2, 3, 4};\n");
  return image;
}();
fake::Wrapper foreignWrapper = {0x466243b1, 1, &foreignImage, nullptr};

} // namespace
