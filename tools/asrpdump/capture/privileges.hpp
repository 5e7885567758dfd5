// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace asrp::dump {

/// -Z: becomes `user` for good, with the groups that user has. Returns what went wrong; empty if nothing did.
std::string become_user(const std::string& user);

}  // namespace asrp::dump
