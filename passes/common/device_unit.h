// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contract of the plugin and the wrapper about units of device functions alone.
#ifndef R3_COMMON_DEVICE_UNIT_H
#define R3_COMMON_DEVICE_UNIT_H

namespace r3 {

/// What the host symbol of such a unit begins with; digits of its module's digest follow.
constexpr const char DeviceUnitPrefix[] = "__r3_unit_";

} // namespace r3

#endif
