// SPDX-License-Identifier: GPL-2.0-or-later
// HTTP by libcurl's multi interface: it says which descriptors and which timer it wants, and the loop has them.
#include <curl/curl.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include "io/probe.hpp"
#include "runtime/clock.hpp"

namespace asrp::io {
namespace {

constexpr std::size_t kMostBody = 65536;

class HttpProber;

class HttpProbe final : public Probe {
 public:
  HttpProbe(HttpProber& prober, const ProbeQuestion& question, const ProbeTarget& target, Prober::Done done);
  ~HttpProbe() override;

  /// The transfer has ended.
  void on_end(CURLcode code);

 private:
  static std::size_t on_body(char*, std::size_t size, std::size_t count, void* self);
  [[nodiscard]] ProbeResult judge(CURLcode code) const;
  void stop();

  HttpProber& prober_;
  Prober::Done done_;
  unsigned lowest_status_;
  unsigned highest_status_;
  CURL* transfer_;
  curl_slist* headers_ = nullptr;
  std::size_t body_ = 0;
};

class HttpProber final : public Prober {
 public:
  explicit HttpProber(runtime::EventLoop& loop) : loop_(loop) {
    static const CURLcode once = curl_global_init(CURL_GLOBAL_NOTHING);  // no TLS
    multi_ = once == CURLE_OK ? curl_multi_init() : nullptr;
    if (multi_ == nullptr) throw std::runtime_error("libcurl does not start");
    curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &HttpProber::on_socket);
    curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &HttpProber::on_timer);
    curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
  }
  ~HttpProber() override {
    loop_.cancel(timer_);
    for (const auto& [descriptor, wanted] : wanted_) loop_.unwatch(descriptor);
    curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, nullptr);
    curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, nullptr);
    curl_multi_cleanup(multi_);
  }
  HttpProber(const HttpProber&) = delete;
  HttpProber& operator=(const HttpProber&) = delete;

  std::unique_ptr<Probe> begin(const ProbeQuestion& question, const ProbeTarget& target, Done done) override {
    return std::make_unique<HttpProbe>(*this, question, target, std::move(done));
  }
  [[nodiscard]] CURLM* multi() const { return multi_; }

 private:
  static int on_socket(CURL*, curl_socket_t descriptor, int what, void* self, void*) {
    static_cast<HttpProber*>(self)->want(descriptor, what);
    return 0;
  }
  static int on_timer(CURLM*, long milliseconds, void* self) {
    static_cast<HttpProber*>(self)->set_timer(milliseconds);
    return 0;
  }

  void set_timer(long milliseconds) {
    loop_.cancel(timer_);
    timer_ = 0;
    if (milliseconds < 0) return;
    timer_ = loop_.call_at(runtime::monotonic_now() + std::chrono::milliseconds(milliseconds),
                           [this] { act(CURL_SOCKET_TIMEOUT, 0); });
  }

  void want(int descriptor, int what) {
    if (what == CURL_POLL_REMOVE) {
      wanted_.erase(descriptor);
      return loop_.unwatch(descriptor);
    }
    const bool is_new = wanted_.count(descriptor) == 0;
    wanted_[descriptor] = what;
    if (is_new) loop_.watch(descriptor, [this, descriptor] { act(descriptor, CURL_CSELECT_IN); });
    watch_output(descriptor);
  }

  /// As long as curl wants to write, it is called at each turn at which it can.
  void watch_output(int descriptor) {
    const auto found = wanted_.find(descriptor);
    if (found == wanted_.end() || (found->second & CURL_POLL_OUT) == 0) return;
    loop_.once_writable(descriptor, [this, descriptor] {
      act(descriptor, CURL_CSELECT_OUT);
      watch_output(descriptor);
    });
  }

  void act(curl_socket_t descriptor, int events) {
    int running = 0;
    curl_multi_socket_action(multi_, descriptor, events, &running);
    // One at a time: whoever is told may destroy other probes, which takes their messages back.
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      char* probe = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &probe);
      reinterpret_cast<HttpProbe*>(probe)->on_end(message->data.result);
    }
  }

  runtime::EventLoop& loop_;
  CURLM* multi_;
  runtime::EventLoop::TimerId timer_ = 0;
  std::map<int, int> wanted_;
};

HttpProbe::HttpProbe(HttpProber& prober, const ProbeQuestion& question, const ProbeTarget& target, Prober::Done done)
    : prober_(prober),
      done_(std::move(done)),
      lowest_status_(question.lowest_status),
      highest_status_(question.highest_status),
      transfer_(curl_easy_init()) {
  if (transfer_ == nullptr) throw std::bad_alloc();
  const std::string url = "http://" + target.address.to_string() + question.path;
  const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(question.timeout).count();
  headers_ = curl_slist_append(headers_, "Connection: close");
  if (!question.host.empty()) headers_ = curl_slist_append(headers_, ("Host: " + question.host).c_str());
  curl_easy_setopt(transfer_, CURLOPT_URL, url.c_str());
  curl_easy_setopt(transfer_, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(transfer_, CURLOPT_HTTPHEADER, headers_);
  curl_easy_setopt(transfer_, CURLOPT_USERAGENT, "asrpd-node health check");
  curl_easy_setopt(transfer_, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(transfer_, CURLOPT_PROXY, "");  // whatever the environment says
  curl_easy_setopt(transfer_, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(transfer_, CURLOPT_FRESH_CONNECT, 1L);
  curl_easy_setopt(transfer_, CURLOPT_FORBID_REUSE, 1L);
  curl_easy_setopt(transfer_, CURLOPT_TIMEOUT_MS, static_cast<long>(std::max<decltype(limit)>(limit, 1)));
  curl_easy_setopt(transfer_, CURLOPT_WRITEFUNCTION, &HttpProbe::on_body);
  curl_easy_setopt(transfer_, CURLOPT_WRITEDATA, this);
  curl_easy_setopt(transfer_, CURLOPT_PRIVATE, this);
  curl_multi_add_handle(prober_.multi(), transfer_);  // asks for its timer, whose call begins the transfer
}

HttpProbe::~HttpProbe() { stop(); }

void HttpProbe::stop() {
  if (transfer_ == nullptr) return;
  curl_multi_remove_handle(prober_.multi(), transfer_);
  curl_easy_cleanup(transfer_);
  curl_slist_free_all(headers_);
  transfer_ = nullptr;
}

std::size_t HttpProbe::on_body(char*, std::size_t size, std::size_t count, void* self) {
  std::size_t& body = static_cast<HttpProbe*>(self)->body_;
  body += size * count;
  return body > kMostBody ? 0 : size * count;  // less than it got ends the transfer
}

ProbeResult HttpProbe::judge(CURLcode code) const {
  long status = 0;
  curl_easy_getinfo(transfer_, CURLINFO_RESPONSE_CODE, &status);
  const bool cut = code == CURLE_WRITE_ERROR && body_ > kMostBody;  // what came is enough
  if (code != CURLE_OK && !cut) return {false, curl_easy_strerror(code)};
  return {status >= static_cast<long>(lowest_status_) && status <= static_cast<long>(highest_status_),
          "HTTP status " + std::to_string(status)};
}

void HttpProbe::on_end(CURLcode code) {
  const ProbeResult result = judge(code);
  stop();
  const Prober::Done done = std::move(done_);
  done(result);  // destroys this object, perhaps
}

}  // namespace

std::unique_ptr<Prober> make_http_prober(runtime::EventLoop& loop) { return std::make_unique<HttpProber>(loop); }

}  // namespace asrp::io
