// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HTTP: routes, statuses, and answers on their way to the clients. Connections have threads of their
// own; whatever they do, they wait for the engine, and it never for them.
#pragma once
#include "http/Responses.h"
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

namespace httplib {
struct Request;
struct Response;
} // namespace httplib

namespace serve {

class Connections;
class Server;
class Workers;

struct ServiceOptions {
  int64_t connections;           ///< that are answered at a time; others wait
  std::chrono::seconds patience; ///< for the header of a request to come, and for its body
};

class Service {
public:
  /// Reads a body, by pieces; false where it does not come whole, or the receiver says so.
  using Receive = std::function<bool(const char *data, size_t size)>;
  using Read = std::function<bool(const Receive &)>;

  /// RuntimeError where there is no room for the threads of the connections, or for their sockets.
  Service(Engine &engine, const Served &served, const ServiceOptions &options);
  ~Service();

  /// Listens from here on, on a port that is free if it is 0. Returns the URL. UnavailableError
  /// naming the address where that cannot be.
  std::string start(const std::string &host, int port);
  /// Waits for the answers that are on their way, then closes everything. RuntimeError where
  /// connections could not be taken any more.
  void stop();

private:
  struct Delivery;
  void addRoutes();
  void answer(Api api, const httplib::Request &request, const Read &read,
              httplib::Response &response);
  void submit(Api api, Asked asked, const httplib::Request &request, httplib::Response &response);
  void takeConnections();
  void close();
  static void sendWhole(const std::shared_ptr<Delivery> &delivery, httplib::Response &response);
  bool isRefused(const httplib::Request &request, httplib::Response &response) const;
  generate::Json model() const;
  std::string health() const;

  Engine &engine_;
  const Served &served_;
  std::chrono::seconds patience_;
  int64_t started_; ///< in seconds since 1970
  std::unique_ptr<Connections> connections_;
  std::unique_ptr<Workers> workers_;
  std::unique_ptr<Server> server_;
  std::string host_;
  int port_ = 0;
  std::thread listener_;
  std::atomic<bool> isClosing_ = false, isListening_ = false;
  std::string problem_;                                ///< why the listener has ended by itself
  std::atomic<int64_t> requests_ = 0, deliveries_ = 0; ///< so far, and on their way
};

} // namespace serve
