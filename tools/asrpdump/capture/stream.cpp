// SPDX-License-Identifier: BSD-3-Clause
#include "capture/stream.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "capture/pcapng_head.hpp"

namespace asrp::dump {

std::atomic<bool> stop_requested{false};

namespace {

constexpr std::size_t kInputSize = 256 * 1024;  // octets: few system calls, little memory
constexpr std::size_t kMaxHead = 64 * 1024;     // of a pcapng file: options in front of the first interface are short

std::string system_error() { return std::strerror(errno); }

bool starts_with(Octets octets, std::initializer_list<std::uint8_t> magic) {
  return octets.size() >= magic.size() && std::equal(magic.begin(), magic.end(), octets.begin());
}

/// Compressions that we can't undo.
const char* foreign_compression(Octets octets) {
  if (starts_with(octets, {0x28, 0xb5, 0x2f, 0xfd})) return "zstd";
  if (starts_with(octets, {0xfd, '7', 'z', 'X', 'Z'})) return "xz";
  if (starts_with(octets, {'B', 'Z', 'h'})) return "bzip2";
  if (starts_with(octets, {0x04, 0x22, 0x4d, 0x18})) return "lz4";
  return nullptr;
}

}  // namespace

InputStream::InputStream(int fd, std::uint64_t size) : fd_(fd), size_(size), input_(kInputSize) {}

InputStream::~InputStream() {
  if (is_member_open_) inflateEnd(&inflater_);
  if (fd_ > 0) ::close(fd_);
}

Result<std::unique_ptr<InputStream>, std::string> InputStream::open(const std::string& name) {
  const bool is_standard = name == "-";
  if (is_standard && isatty(STDIN_FILENO) != 0) {
    return Failure{std::string("standard input is a terminal: pipe a capture into it")};
  }
  const int fd = is_standard ? STDIN_FILENO : ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Failure{system_error()};
  struct stat status {};
  const bool has_size = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
  std::unique_ptr<InputStream> stream(new InputStream(fd, has_size ? static_cast<std::uint64_t>(status.st_size) : 0));
  if (!stream->read_head()) return Failure{stream->error_};
  return {std::move(stream)};
}

bool InputStream::refill() {
  if (is_at_end_) return false;
  if (size_ == 0 && before_waiting_) before_waiting_();
  for (;;) {
    if (stop_requested) break;
    const ssize_t size = ::read(fd_, input_.data(), input_.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) error_ = system_error();
    if (size <= 0) break;
    position_ += static_cast<std::uint64_t>(size);
    input_begin_ = 0;
    input_end_ = static_cast<std::size_t>(size);
    return true;
  }
  is_at_end_ = true;
  return false;
}

/// Enough of the file to know what it is.
bool InputStream::read_head() {
  // A pipe may give its first octets one by one.
  while (input_end_ < 6 && !is_at_end_) {
    const ssize_t size = ::read(fd_, input_.data() + input_end_, input_.size() - input_end_);
    if (size < 0 && errno == EINTR && !stop_requested) continue;
    if (size < 0) error_ = system_error();
    if (size <= 0) is_at_end_ = true;
    if (size > 0) input_end_ += static_cast<std::size_t>(size);
  }
  position_ = input_end_;
  if (!error_.empty()) return false;
  const Octets start = Octets(input_).first(input_end_);
  if (start.empty()) {
    error_ = "is empty";
    return false;
  }
  if (const char* const format = foreign_compression(start); format != nullptr) {
    error_ = std::string("is compressed with ") + format + ": decompress it into a pipe";
    return false;
  }
  is_compressed_ = starts_with(start, {0x1f, 0x8b});
  find_decimals();
  return true;
}

bool InputStream::want_head(std::size_t size) {
  while (head_.size() < size) {
    const std::size_t before = head_.size();
    head_.resize(size);
    const long got = read_plain(reinterpret_cast<char*>(head_.data()) + before, size - before);
    head_.resize(before + static_cast<std::size_t>(std::max(got, 0L)));
    if (got <= 0) return false;
  }
  return true;
}

void InputStream::find_decimals() {
  for (std::size_t wanted = 4; wanted != 0 && wanted <= kMaxHead;) {
    if (!want_head(wanted)) return;
    const HeadResult head = read_capture_head(head_);
    if (head.decimals != 0) decimals_ = head.decimals;
    wanted = head.wanted;
  }
  is_pcapng_ = starts_with(head_, {0x0a, 0x0d, 0x0d, 0x0a});
}

long InputStream::read_plain(char* out, std::size_t room) {
  if (is_compressed_) return inflate_some(out, room);
  if (input_begin_ == input_end_ && !refill()) return error_.empty() ? 0 : -1;
  const std::size_t size = std::min(room, input_end_ - input_begin_);
  std::memcpy(out, input_.data() + input_begin_, size);
  input_begin_ += size;
  return static_cast<long>(size);
}

/// A gzip file is a row of members; what comes behind the last one and is none is left alone, as gzip does. What was
/// decompressed before an error comes first: a wrong checksum, for instance, is met together with the last octets.
long InputStream::inflate_some(char* out, std::size_t room) {
  for (;;) {
    if (!error_.empty()) return -1;
    if (input_begin_ == input_end_ && !refill()) {
      if (is_member_open_ && !stop_requested && error_.empty()) error_ = "the compressed data end in the middle";
      return error_.empty() ? 0 : -1;
    }
    if (!is_member_open_) {
      if (input_[input_begin_] != 0x1f) return 0;
      inflater_ = z_stream{};
      if (inflateInit2(&inflater_, 15 + 16) != Z_OK) error_ = "no memory to decompress";  // 15 + 16: gzip, any window
      if (!error_.empty()) return -1;
      is_member_open_ = true;
    }
    inflater_.next_in = input_.data() + input_begin_;
    inflater_.avail_in = static_cast<uInt>(input_end_ - input_begin_);
    inflater_.next_out = reinterpret_cast<Bytef*>(out);
    inflater_.avail_out = static_cast<uInt>(room);
    const int result = inflate(&inflater_, Z_NO_FLUSH);
    input_begin_ = input_end_ - inflater_.avail_in;
    if (result == Z_STREAM_END) {
      inflateEnd(&inflater_);
      is_member_open_ = false;
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      error_ = "the compressed data are damaged";
    }
    if (inflater_.avail_out != room) return static_cast<long>(room - inflater_.avail_out);
  }
}

long InputStream::read_on(char* out, std::size_t room) {
  if (head_read_ < head_.size()) {
    const std::size_t size = std::min(room, head_.size() - head_read_);
    std::memcpy(out, head_.data() + head_read_, size);
    head_read_ += size;
    return static_cast<long>(size);
  }
  return read_plain(out, room);
}

/// What is held back when the octets end comes as it is.
long InputStream::read_mended(char* out, std::size_t room) {
  std::size_t size = std::min(held_.size(), room);
  std::copy_n(held_.begin(), size, out);
  held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(size));
  while (size < room) {
    const long got = read_on(out + size, room - size);
    if (got <= 0) return size > 0 ? static_cast<long>(size) : got;
    size += static_cast<std::size_t>(got);
    const std::size_t through = blocks_.mend({reinterpret_cast<std::uint8_t*>(out), size});
    if (through == 0) continue;
    held_.assign(out + through, out + size);
    return static_cast<long>(through);
  }
  return static_cast<long>(size);
}

long InputStream::read(char* out, std::size_t room) {
  const long got = is_pcapng_ ? read_mended(out, room) : read_on(out, room);
  if (got < 0) errno = EIO;
  return got;
}

std::FILE* InputStream::file() {
  cookie_io_functions_t functions{};
  functions.read = [](void* cookie, char* out, std::size_t room) {
    return ssize_t{static_cast<InputStream*>(cookie)->read(out, room)};
  };
  std::FILE* const file = fopencookie(this, "r", functions);
  if (file != nullptr) std::setvbuf(file, nullptr, _IOFBF, kInputSize);
  return file;
}

}  // namespace asrp::dump
