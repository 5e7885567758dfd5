// SPDX-License-Identifier: BSD-3-Clause
#include "run.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "capture/filter.hpp"
#include "capture/privileges.hpp"
#include "capture/progress.hpp"
#include "decode/decoder.hpp"
#include "report/choose.hpp"
#include "summary.hpp"

namespace asrp::dump {
namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;
constexpr int kFindings = 3;

void complain(const std::string& text) { std::fprintf(stderr, "asrpdump: %s\n", text.c_str()); }

Source* live_source = nullptr;  // for the signal handler

extern "C" void on_stop_signal(int /*signal*/) {
  stop_requested = true;
  if (live_source != nullptr) live_source->stop();
}

/// Interrupted reading ends as if the capture did: what was seen is summed up. A broken pipe is an error of the write.
/// A script's shell lets what it starts in the background ignore SIGINT: who sends one nevertheless wants an end.
void handle_signals() {
  struct sigaction action {};
  action.sa_handler = on_stop_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction before {};
  sigaction(SIGHUP, nullptr, &before);
  if (before.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);  // nohup means it
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, nullptr);
}

bool is_colored(ColorChoice choice) {
  if (choice != ColorChoice::automatic) return choice == ColorChoice::always;
  const char* const terminal = std::getenv("TERM");
  const bool is_dumb = terminal == nullptr || std::strcmp(terminal, "dumb") == 0;
  return isatty(STDOUT_FILENO) != 0 && !is_dumb && std::getenv("NO_COLOR") == nullptr;
}

DecoderOptions decoder_options(const Options& options, const Source& source, bool every_packet) {
  DecoderOptions result;
  result.link_type = source.link_type();
  result.marker = options.marker;
  result.port = options.port;
  result.tunnels = options.tunnels;
  result.every_packet = every_packet;
  result.reassembly.keep_frames = options.write.has_value();
  return result;
}

/// One reading from begin to end.
class Reading : public FrameHandler {
 public:
  Reading(const Options& options, Source& source)
      : options_(options),
        source_(source),
        out_(stdout, is_colored(options.color)),
        reports_(choose_reports(options, out_)),
        decoder_(decoder_options(options, source, add_writer_and_ask())),
        progress_(source.is_live() ? 0 : source.stream()->size(), wants_progress()) {
    if (options.flush_lines) out_.flush_items();
  }

  bool on_frame(const Frame& frame) override {
    if (!source_.is_live()) progress_.tick(frame.number, source_.stream()->position());
    for (const Packet* packet = decoder_.decode(frame); packet != nullptr; packet = decoder_.another()) {
      if (!hand_on(*packet)) return false;
    }
    return true;
  }

  bool on_pause() override {
    out_.flush();
    return out_.error() == 0;
  }

  int read() {
    const std::string trouble = source_.run(*this);
    progress_.clear();
    decoder_.finish();
    for (const auto& report : reports_) report->finish();
    out_.flush();
    int status = 0;
    if (!trouble.empty()) status = fail(name() + ": " + trouble + ", after packet " + std::to_string(source_.frames()));
    for (const auto& report : reports_) {
      if (!report->error().empty()) status = fail(report->error());
    }
    if (out_.error() != 0) {
      const bool is_of_a_packet = options_.wants_text() || options_.wants_json_of_messages();  // reports are of all
      const std::string place = is_of_a_packet ? ", at packet " + std::to_string(last_) : std::string();
      status = fail("standard output: " + std::string(std::strerror(out_.error())) + place);
    }
    if (!options_.quiet) sum_up(status != 0);
    for (const auto& report : reports_) {
      if (status == 0 && report->has_certain_findings()) status = kFindings;
    }
    return status;
  }

 private:
  static int fail(const std::string& text) {
    complain(text);
    return kFailed;
  }
  [[nodiscard]] std::string name() const { return source_.is_live() ? source_.interface() : shown_name(options_.read); }

  bool hand_on(const Packet& packet) {
    if (!packet.sighting.present()) {
      for (Report* const report : all_packets_) report->on_packet(packet);
      return true;
    }
    counts_.add(packet.sighting);
    bool is_going_on = options_.count == 0 || counts_.messages() < options_.count;
    for (const auto& report : reports_) {
      report->on_packet(packet);
      is_going_on = is_going_on && report->wants_more();
    }
    last_ = packet.number;
    return is_going_on && out_.error() == 0;
  }

  static std::string shown_name(const std::string& file) { return file == "-" ? "standard input" : file; }

  [[nodiscard]] bool wants_progress() const {
    return !options_.quiet && isatty(STDERR_FILENO) != 0 && isatty(STDOUT_FILENO) == 0;
  }

  /// Completes the reports. True if one of them wants packets without messages too.
  bool add_writer_and_ask() {
    if (options_.write) {
      WriteOptions write = *options_.write;
      write.link_type = source_.link_type();
      write.snap_length = source_.snap_length();
      write.decimals = source_.decimals();
      reports_.push_back(std::make_unique<WriteReport>(write));
    }
    for (const auto& report : reports_) {
      if (report->wants_all()) all_packets_.push_back(report.get());
    }
    return !all_packets_.empty();
  }

  void sum_up(bool has_failed) {
    const bool is_unknown = !Decoder::knows_link_type(source_.link_type());
    if (is_unknown) complain(name() + ": link type " + source_.link_name() + " can't be decoded");
    const bool is_watched = isatty(STDERR_FILENO) != 0 || options_.verbose != 0;
    if (!source_.is_live() && !is_watched && !is_unknown && !has_failed) return;
    std::string text = summary(counts_, decoder_.counts(), decoder_.reassembly(), options_.verbose != 0);
    if (const auto live = source_.live_counts()) text += live_summary(*live);
    std::fputs(text.c_str(), stderr);
  }

  const Options& options_;
  Source& source_;
  Out out_;
  std::vector<std::unique_ptr<Report>> reports_;
  std::vector<Report*> all_packets_;  // those of `reports_` that want packets without messages
  Decoder decoder_;
  Progress progress_;
  SightingCounts counts_;
  std::uint64_t last_ = 0;  // frame that carried a message

  friend int asrp::dump::run(const Options& options);
};

Result<std::unique_ptr<Source>, std::string> open_source(const Options& options) {
  if (options.read.empty()) return Source::open_live(options.live);
  auto source = Source::open_file(options.read);
  if (source) return source;
  return Failure{(options.read == "-" ? "standard input" : options.read) + ": " + source.error()};
}

std::string set_filter(const Options& options, Source& source) {
  if (!options.filter.empty()) return source.set_filter(options.filter);
  if (source.is_live()) source.set_first_filter(default_filters(options.port, options.tunnels > 0));
  return {};
}

/// A second capture on the command line, or one behind an interface, is taken for a filter.
std::string hint_at_file(const std::string& filter, bool is_live) {
  const std::string word = filter.substr(0, filter.find(' '));
  const bool is_standard = word == "-";
  if (!is_standard && (word.empty() || access(word.c_str(), F_OK) != 0)) return {};
  const std::string what = "; " + word + (is_standard ? " is standard input, but " : " is a file, but ");
  return what + (is_live ? "-i reads an interface" : "one capture is read at a time: mergecap joins several");
}

/// Opening it for writing would empty it before it is read.
bool would_overwrite_itself(const Options& options) {
  if (!options.write || options.read.empty() || options.read == "-") return false;
  struct stat from {};
  struct stat to {};
  const bool are_there = stat(options.read.c_str(), &from) == 0 && stat(options.write->name.c_str(), &to) == 0;
  return are_there && S_ISREG(from.st_mode) && from.st_dev == to.st_dev && from.st_ino == to.st_ino;
}

}  // namespace

int run(const Options& options) {
  handle_signals();
  if (would_overwrite_itself(options)) {
    complain(options.write->name + " is the file that is read");
    return kUsage;
  }
  auto opened = open_source(options);
  if (!opened) {
    complain(opened.error());
    return kFailed;
  }
  Source& source = **opened;
  if (!source.warning().empty()) complain(source.warning());
  if (!options.user.empty()) {
    if (const std::string trouble = become_user(options.user); !trouble.empty()) {
      complain(trouble);
      return kFailed;
    }
  }
  if (const std::string trouble = set_filter(options, source); !trouble.empty()) {
    complain("filter: " + trouble + hint_at_file(options.filter, source.is_live()));
    return kUsage;
  }
  Reading reading(options, source);
  for (const auto& report : reading.reports_) {
    if (report->error().empty()) continue;
    complain(report->error());
    return kFailed;
  }
  if (!source.is_live()) source.before_waiting([&reading] { reading.on_pause(); });
  live_source = source.is_live() ? &source : nullptr;
  if (source.is_live() && !options.quiet) {
    complain("listening on " + source.interface() + ", link type " + source.link_name() + ", at most " +
             std::to_string(source.snap_length()) + " octets of a packet");
  }
  const int status = reading.read();
  live_source = nullptr;
  return status;
}

}  // namespace asrp::dump
