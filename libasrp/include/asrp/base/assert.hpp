// SPDX-License-Identifier: BSD-3-Clause
// Programming errors only. Untrusted input never gets here: it yields a Result with a reason.
#pragma once

#include <cstdlib>

#ifdef ASRP_NO_ASSERT
#define ASRP_ASSERT(condition) static_cast<void>(sizeof(condition))
#else
#define ASRP_ASSERT(condition) ((condition) ? static_cast<void>(0) : std::abort())
#endif
