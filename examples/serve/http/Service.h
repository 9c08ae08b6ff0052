// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HTTP: routes, statuses, and answers on their way to the clients. Connections have threads of their
// own; whatever they do, they wait for the engine, and it never for them.
#pragma once
#include "http/Responses.h"
#include <atomic>
#include <memory>
#include <string>
#include <thread>

namespace httplib {
class Server;
struct Request;
struct Response;
} // namespace httplib

namespace serve {

class Workers;

class Service {
public:
  /// `connections`: that are answered at a time; others wait. RuntimeError where there is no room
  /// for their threads.
  Service(Engine &engine, const Served &served, int64_t connections);
  ~Service();

  /// Listens from here on, on a port that is free if it is 0. Returns the port. UnavailableError
  /// naming the address where that cannot be.
  int start(const std::string &host, int port);
  /// Waits for the answers that are on their way, then closes everything.
  void stop();

private:
  struct Delivery;
  void addRoutes();
  void answer(Api api, const httplib::Request &request, std::string body,
              httplib::Response &response);
  void submit(Api api, Asked asked, const httplib::Request &request, httplib::Response &response);
  static void sendWhole(const std::shared_ptr<Delivery> &delivery, httplib::Response &response);
  std::string models() const;
  std::string health() const;

  Engine &engine_;
  const Served &served_;
  std::unique_ptr<Workers> workers_; ///< the server's, once it listens
  std::unique_ptr<httplib::Server> server_;
  std::thread listener_;
  std::atomic<int64_t> requests_ = 0, deliveries_ = 0; ///< so far, and on their way
};

} // namespace serve
