// SPDX-License-Identifier: GPL-2.0-or-later
// A file descriptor that closes itself; several descriptors as one.
#pragma once

#include <sys/epoll.h>
#include <unistd.h>

#include <initializer_list>
#include <utility>

namespace asrp::io {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int descriptor) : descriptor_(descriptor) {}
  UniqueFd(UniqueFd&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  [[nodiscard]] int get() const { return descriptor_; }
  /// Somebody else closes it from now on.
  [[nodiscard]] int release() { return std::exchange(descriptor_, -1); }
  explicit operator bool() const { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

/// An epoll descriptor, itself readable as long as one of `descriptors` is; negative ones are left out.
inline UniqueFd poll_together(std::initializer_list<int> descriptors) {
  UniqueFd poller(::epoll_create1(EPOLL_CLOEXEC));
  for (const int descriptor : descriptors) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = descriptor;
    if (poller && descriptor >= 0 && ::epoll_ctl(poller.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) return {};
  }
  return poller;
}

}  // namespace asrp::io
