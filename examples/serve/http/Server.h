// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "http/Connections.h"
#include "http/RequestStream.h"
#include <httplib.h>

namespace serve {

/// httplib's server with one request a connection, so that bytes behind a request are no other one,
/// within bounds that hold whatever comes.
class Server : public httplib::Server {
public:
  /// `connections`: those whose requests are answered are there meanwhile.
  Server(Connections &connections, const RequestBounds &bounds)
      : connections_(connections), bounds_(bounds) {}

  /// Once it is bound: has the system hold as many connections that are not accepted yet as it does for
  /// anybody. Of more than five httplib's own number has it drop some, and each request has one.
  void holdConnections();
  /// Whether the machine's own programs alone reach the address.
  bool isLocal() const;

private:
  bool process_and_close_socket(socket_t socket) override;
  bool answer(socket_t socket);

  Connections &connections_;
  RequestBounds bounds_;
};

} // namespace serve
