// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string_view>

namespace asrp::dump {

/// Where a report writes its text, whole lines at a time; gathering them is the receiver's affair.
using Sink = std::function<void(std::string_view)>;

}  // namespace asrp::dump
