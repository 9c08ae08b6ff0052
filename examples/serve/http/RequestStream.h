// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <chrono>
#include <httplib.h>
#include <string>

namespace serve {

/// What a request and its answer take at most.
struct RequestBounds {
  size_t body; ///< bytes that are read behind the header
  /// For the header to come whole, and for what is written at once to go.
  std::chrono::seconds patience;
};

/// The bytes of one request on a socket, and of its answer. A header counts only once it is whole, so
/// that httplib never reads a line that has no end.
class RequestStream : public httplib::Stream {
public:
  static constexpr size_t kMostHeader = size_t(64) << 10;

  RequestStream(int socket, const RequestBounds &bounds)
      : socket_(socket), bounds_(bounds), bodyLeft_(bounds.body) {}

  /// `none`: not a byte has come. `cut`: it does not come whole. `malformed`: see problem().
  enum class Header { whole, none, cut, tooLong, malformed };
  /// Waits for the header, which read() begins with.
  Header readHeader();
  /// Why a header is no header.
  const std::string &problem() const { return problem_; }
  /// Whether the line of the request, by which the header begins, is whole.
  bool hasLine() const { return received_.find('\n') != std::string::npos; }

  //===-- What httplib asks for ---------------------------------------------------------------===//

  bool is_readable() const override;
  bool is_writable() const override;
  /// The number of bytes, 0 behind the last one; -1 where none come in time, or too many have come.
  ssize_t read(char *bytes, size_t size) override;
  /// All of the bytes; -1 where the client does not take them in time.
  ssize_t write(const char *bytes, size_t size) override;
  void get_remote_ip_and_port(std::string &address, int &port) const override;
  void get_local_ip_and_port(std::string &address, int &port) const override;
  socket_t socket() const override { return socket_; }

private:
  using Clock = std::chrono::steady_clock;
  ssize_t receive(size_t most, Clock::time_point end);
  /// The end of what begins now.
  Clock::time_point endOfPatience() const { return Clock::now() + bounds_.patience; }
  /// That of a read, or of a write, of which others may follow.
  Clock::time_point endOfPause() const;

  int socket_;
  RequestBounds bounds_;
  size_t bodyLeft_;
  std::string received_, problem_;
  size_t taken_ = 0; ///< bytes of it that have been read
};

/// Closes a connection behind its answer, which thereby arrives: where bytes of the client have not been
/// read the kernel would drop it. So they are read, for a while.
void hangUp(int socket);

} // namespace serve
