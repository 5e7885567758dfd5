// SPDX-License-Identifier: GPL-2.0-or-later
// An external command as a probe. The child is left unreaped until its group has been killed: so long its number, which is the
// group's too, can't be another's.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <list>
#include <utility>

#include "io/child.hpp"
#include "io/probe.hpp"
#include "io/unique_fd.hpp"
#include "runtime/clock.hpp"

namespace asrp::io {
namespace {

constexpr std::size_t kMostOutput = 65536;
constexpr std::size_t kMostDetail = 200;  // octets of its first line that are told

/// The first line, printable.
std::string first_line(const std::string& output) {
  std::string line = output.substr(0, std::min(output.find('\n'), kMostDetail));
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < 0x20 || c >= 0x7f; }, '?');
  return line;
}

/// A killed child whose end is still to come: it may be busy in the kernel, and nobody waits for that.
struct Dying {
  pid_t child;
  UniqueFd handle;
};

class Graveyard {
 public:
  explicit Graveyard(runtime::EventLoop& loop) : loop_(loop) {}
  ~Graveyard() {
    for (const Dying& each : dying_) loop_.unwatch(each.handle.get());
  }
  Graveyard(const Graveyard&) = delete;
  Graveyard& operator=(const Graveyard&) = delete;

  /// Takes a child that has been killed, or has ended.
  void bury(pid_t child, UniqueFd handle) {
    if (::waitpid(child, nullptr, handle ? WNOHANG : 0) != 0) return;
    const auto place = dying_.insert(dying_.end(), Dying{child, std::move(handle)});
    loop_.watch(place->handle.get(), [this, place] {
      if (::waitpid(place->child, nullptr, WNOHANG) == 0) return;
      loop_.unwatch(place->handle.get());
      dying_.erase(place);
    });
  }

 private:
  runtime::EventLoop& loop_;
  std::list<Dying> dying_;
};

class CommandProbe final : public Probe {
 public:
  CommandProbe(runtime::EventLoop& loop, Graveyard& graveyard, const ProbeQuestion& question, const ProbeTarget& target,
               Prober::Done done)
      : loop_(loop), graveyard_(graveyard), done_(std::move(done)) {
    if (const int error = start(question, target); error != 0) {
      timer_ = loop_.call_at(runtime::monotonic_now(), [this, error] {
        end({false, std::string("not started: ") + std::strerror(error)});
      });
      return;
    }
    timer_ = loop_.call_at(runtime::monotonic_now() + question.timeout, [this] { end({false, "not ended in time: killed"}); });
    loop_.watch(output_.get(), [this] { on_output(); });
    loop_.watch(handle_.get(), [this] { on_end(); });
  }
  ~CommandProbe() override { stop(); }

 private:
  int start(const ProbeQuestion& question, const ProbeTarget& target) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return errno;
    output_ = UniqueFd(ends[0]);
    const UniqueFd writing(ends[1]);
    const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!nothing || ::fcntl(output_.get(), F_SETFL, O_NONBLOCK) != 0) return errno;
    const std::vector<std::string> environment = {"LC_ALL=C",
                                                  "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                                                  "ASRP_POOL=" + target.pool,
                                                  "ASRP_SERVER=" + target.id,
                                                  "ASRP_ADDRESS=" + target.address.address.to_string(),
                                                  "ASRP_PORT=" + std::to_string(target.address.port)};
    const int error = spawn_child(
        {question.command.front(), question.command, environment, nothing.get(), writing.get(), writing.get(), true}, child_);
    if (error != 0) return error;
    handle_ = UniqueFd(open_pidfd(child_));
    return handle_ ? 0 : errno;
  }

  void on_output() {
    if (!read_some()) return loop_.unwatch(output_.get());
    if (octets_ > kMostOutput) end({false, "wrote more than " + std::to_string(kMostOutput) + " octets: killed"});
  }

  /// False at the end of the output.
  bool read_some() {
    std::array<char, 4096> piece{};
    const ssize_t got = ::read(output_.get(), piece.data(), piece.size());
    if (got <= 0) return got < 0 && errno == EAGAIN;
    octets_ += static_cast<std::size_t>(got);
    if (text_.size() < kMostDetail) text_.append(piece.data(), static_cast<std::size_t>(got));
    return true;
  }

  void on_end() {
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOHANG | WNOWAIT) != 0)
      return end({false, std::string("its end is not known: ") + std::strerror(errno)});
    if (info.si_pid == 0) return;
    for (std::size_t before = octets_ + 1; before != octets_ && octets_ <= kMostOutput;) {  // what it wrote last
      before = octets_;
      read_some();
    }
    const std::string line = first_line(text_);
    const std::string how = (info.si_code == CLD_EXITED ? "status " : "signal ") + std::to_string(info.si_status);
    end({info.si_code == CLD_EXITED && info.si_status == 0, line.empty() ? how : how + ": " + line});
  }

  void end(const ProbeResult& result) {
    stop();
    const Prober::Done done = std::move(done_);
    done(result);  // destroys this object, perhaps
  }

  void stop() {
    loop_.cancel(timer_);
    if (output_) loop_.unwatch(output_.get());
    if (handle_) loop_.unwatch(handle_.get());
    if (child_ > 0) {
      ::kill(-child_, SIGKILL);
      graveyard_.bury(std::exchange(child_, 0), std::move(handle_));
    }
    const UniqueFd closed = std::move(output_);
  }

  runtime::EventLoop& loop_;
  Graveyard& graveyard_;
  Prober::Done done_;
  pid_t child_ = 0;
  UniqueFd handle_;
  UniqueFd output_;
  std::string text_;
  std::size_t octets_ = 0;
  runtime::EventLoop::TimerId timer_ = 0;
};

class CommandProber final : public Prober {
 public:
  explicit CommandProber(runtime::EventLoop& loop) : loop_(loop), graveyard_(loop) {}
  std::unique_ptr<Probe> begin(const ProbeQuestion& question, const ProbeTarget& target, Done done) override {
    return std::make_unique<CommandProbe>(loop_, graveyard_, question, target, std::move(done));
  }

 private:
  runtime::EventLoop& loop_;
  Graveyard graveyard_;
};

}  // namespace

std::unique_ptr<Prober> make_command_prober(runtime::EventLoop& loop) { return std::make_unique<CommandProber>(loop); }

}  // namespace asrp::io
