// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "http/Service.h"
#include "ditron/support/Error.h"
#include "ditron/support/StartThread.h"
#include "http/Connections.h"
#include "http/Headers.h"
#include "http/Server.h"
#include "http/SocketEnds.h"
#include "http/Workers.h"
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fmt/format.h>
#include <netdb.h>
#include <sys/resource.h>

namespace serve {

using namespace std::chrono_literals;
using generate::Json;

static constexpr auto kJson = "application/json";

static void refuse(httplib::Response &response, int status, const std::string &type,
                   const std::string &message, const std::string &parameter = {}) {
  response.status = status;
  response.set_content(errorText(type, message, parameter), kJson);
}

static void refuseAtEnd(httplib::Response &response) {
  refuse(response, 503, "server_error", "the server is about to end");
}

//===-- An answer on its way ------------------------------------------------------------------===//

/// What the connection of a request sends. Whoever hangs up abandons the answer.
struct Service::Delivery {
  Service &service;
  std::shared_ptr<Answer> answer;
  AnswerFormat format;
  std::string client;
  size_t shown = 0; ///< bytes of the text
  bool isFirst = true;

  Delivery(Service &service, std::shared_ptr<Answer> answer, const AnswerFormat &format,
           const std::string &client)
      : service(service), answer(std::move(answer)), format(format), client(client) {
    ++service.deliveries_;
  }
  ~Delivery() {
    answer->abandon();
    --service.deliveries_;
  }

  /// After which it is seen whether the client is still there.
  static constexpr auto kPatience = 10ms;

  bool isGone() const { return service.connections_->isGone(client); }

  /// Sends what is new of a stream. False if the client is gone.
  bool sendEvents(httplib::DataSink &sink) {
    Answer::State state = answer->waitForMore(shown, kPatience);
    std::string events;
    if (state.text.size() > shown) {
      events = format.event(state.text.substr(shown), isFirst);
      shown = state.text.size();
      isFirst = false;
    }
    bool isEnd = state.finish != Finish::none;
    if (isEnd)
      events += format.lastEvents(state, isFirst);
    if (isGone() || (!events.empty() && !sink.write(events.data(), events.size())))
      return false;
    if (isEnd)
      sink.done();
    return true;
  }

  /// The answer once it has ended; nothing if the client is gone.
  std::optional<Answer::State> wait() const {
    while (!isGone())
      if (Answer::State state = answer->waitForMore(std::string::npos, kPatience);
          state.finish != Finish::none)
        return state;
    return std::nullopt;
  }
};

/// Sends the whole answer, once it is there. The response holds the delivery until it is sent.
void Service::sendWhole(const std::shared_ptr<Delivery> &delivery, httplib::Response &response) {
  std::optional<Answer::State> state = delivery->wait();
  if (!state)
    return refuse(response, 400, "invalid_request_error",
                  "the client has closed its end of the connection: it wants no answer");
  if (state->finish == Finish::failed)
    return refuse(response, 500, "server_error", state->error);
  std::string text = delivery->format.whole(*state);
  size_t bytes = text.size();
  response.set_content_provider(
      bytes, kJson,
      [delivery, text = std::move(text)](size_t from, size_t length, httplib::DataSink &sink) {
        std::string_view part = std::string_view(text).substr(std::min(from, text.size()), length);
        return sink.write(part.data(), part.size());
      });
}

void Service::submit(Api api, Asked asked, const httplib::Request &request,
                     httplib::Response &response) {
  auto promptTokens = std::ssize(asked.task.prompt);
  auto [answer, refusal] = engine_.submit(std::move(asked.task));
  if (refusal == Refusal::full) {
    response.set_header("Retry-After", "1");
    return refuse(response, 429, "rate_limit_error",
                  "as many requests wait as --max-queue says: come again later");
  }
  if (refusal == Refusal::ending)
    return refuseAtEnd(response);
  auto delivery = std::make_shared<Delivery>(
      *this, answer,
      AnswerFormat(api, served_.model, ++requests_, promptTokens, asked.isUsageWanted),
      nameOfClient(request.remote_addr, request.remote_port));
  if (!asked.isStream)
    return sendWhole(delivery, response);
  constexpr auto kEvents = "text/event-stream";
  auto send = [delivery](size_t, httplib::DataSink &sink) { return delivery->sendEvents(sink); };
  if (request.version == "HTTP/1.0") // which has no chunks: the connection ends with the stream
    response.set_content_provider(kEvents, send);
  else
    response.set_chunked_content_provider(kEvents, send);
}

//===-- Requests ------------------------------------------------------------------------------===//

namespace {
/// A body that is refused before it is parsed.
struct UnreadBody : std::runtime_error {
  using std::runtime_error::runtime_error;
};
} // namespace

/// Bytes of a body, unpacked.
static size_t mostBody(const Served &served) {
  constexpr size_t kLeast = size_t(1) << 20;
  return std::max(kLeast, size_t(served.context) * 16);
}

/// The body, packed or not. UnreadBody where it is longer than `most`, does not come in time or is no JSON.
static std::string bodyOf(const httplib::Request &request, const Service::Read &read, size_t most,
                          const std::function<bool()> &isLate) {
  if (std::string problem = typeProblem(request); !problem.empty())
    throw UnreadBody(problem);
  std::string body;
  bool isLonger = false;
  bool isWhole = read([&](const char *data, size_t size) {
    isLonger = body.size() + size > most;
    if (isLonger || isLate())
      return false;
    body.append(data, size);
    return true;
  });
  if (isLonger)
    throw UnreadBody(fmt::format("the body is longer than {} bytes, expected at most that", most));
  if (!isWhole)
    throw UnreadBody(wholeProblem(request));
  return body;
}

void Service::answer(Api api, const httplib::Request &request, const Read &read,
                     httplib::Response &response) {
  auto end = std::chrono::steady_clock::now() + patience_;
  auto isLate = [&] { return connections_->isEnding() || std::chrono::steady_clock::now() > end; };
  try {
    std::string body = bodyOf(request, read, mostBody(served_), isLate);
    submit(api, parseRequest(served_, api, body), request, response);
  } catch (const UnreadBody &error) {
    if (connections_->isEnding())
      return refuseAtEnd(response);
    refuse(response, 400, "invalid_request_error", error.what());
  } catch (const BadRequest &error) {
    refuse(response, 400, "invalid_request_error", error.what(), error.parameter);
  }
}

//===-- Routes --------------------------------------------------------------------------------===//

Json Service::model() const {
  return {{"id", served_.model},
          {"object", "model"},
          {"created", started_},
          {"owned_by", "local"},
          {"context_length", served_.context}};
}

std::string Service::health() const {
  Engine::Load load = engine_.load();
  return Json{{"status", load.isEnding ? "ending" : "ok"},
              {"running", load.running},
              {"waiting", load.waiting},
              {"free_pages", load.freePages}}
      .dump();
}

/// What is wrong with a request whose method, path or form httplib itself refuses.
static std::string problemOf(const httplib::Request &request, int status) {
  switch (status) {
  case 404:
    return fmt::format("{} {} is not known, expected POST /v1/completions, POST "
                       "/v1/chat/completions, GET /v1/models, GET /v1/models/MODEL or GET /health",
                       request.method, request.path);
  case 413:
    return "the body is longer than any that is read";
  case 416:
    return "the Range does not parse; answers come whole whatever it says";
  case 414:
    return "the line of the request is too long";
  default:
    return "the request is not as HTTP has them";
  }
}

static constexpr auto kCompletions = "/v1/completions", kChats = "/v1/chat/completions";

/// Whether a request is refused by its header. Then nothing of its body is read.
bool Service::isRefused(const httplib::Request &request, httplib::Response &response) const {
  std::string problem = hostProblem(request);
  if (problem.empty())
    problem = lengthProblem(request);
  if (!problem.empty()) {
    refuse(response, 400, "invalid_request_error", problem);
    return true;
  }
  if (server_->isLocal() && !isOfThisMachine(request, host_)) {
    refuse(
        response, 403, "invalid_request_error",
        fmt::format("Host is '{}', expected localhost or an address: a page of the web may have a "
                    "name of its own lead here",
                    request.get_header_value("Host").substr(0, 100)));
    return true;
  }
  bool isAsked =
      request.method == "GET" || request.method == "HEAD" ||
      (request.method == "POST" && (request.path == kCompletions || request.path == kChats));
  if (!isAsked)
    response.status = 404;
  return !isAsked;
}

void Service::addRoutes() {
  using Response = httplib::Server::HandlerResponse;
  server_->set_pre_routing_handler(
      [this](const httplib::Request &request, httplib::Response &response) {
        return isRefused(request, response) ? Response::Handled : Response::Unhandled;
      });
  auto post = [&](const char *path, Api api) {
    server_->Post(path, [this, api](const httplib::Request &request, httplib::Response &response,
                                    const httplib::ContentReader &reader) {
      auto read = [&](const Receive &receive) { return reader(receive); };
      answer(api, request, read, response);
    });
  };
  post(kCompletions, Api::completions);
  post(kChats, Api::chat);
  server_->Get("/v1/models", [this](const httplib::Request &, httplib::Response &response) {
    response.set_content(Json{{"object", "list"}, {"data", Json::array({model()})}}.dump(), kJson);
  });
  server_->Get("/v1/models/(.+)",
               [this](const httplib::Request &request, httplib::Response &response) {
                 if (request.matches[1] == served_.model)
                   return response.set_content(model().dump(), kJson);
                 refuse(response, 404, "invalid_request_error",
                        fmt::format("the model '{}' is not here, expected '{}'",
                                    request.matches[1].str().substr(0, 100), served_.model),
                        "model");
               });
  server_->Get("/health", [this](const httplib::Request &, httplib::Response &response) {
    response.set_content(health(), kJson);
  });
  server_->set_error_handler([](const httplib::Request &request, httplib::Response &response) {
    if (response.body.empty())
      refuse(response, response.status, "invalid_request_error",
             problemOf(request, response.status));
  });
  server_->set_exception_handler(
      [](const httplib::Request &, httplib::Response &response, std::exception_ptr error) {
        try {
          std::rethrow_exception(error);
        } catch (const std::exception &exception) {
          refuse(response, 500, "server_error", exception.what());
        }
      });
}

/// RuntimeError where the process may not have as many files. It raises its limit as far as it may.
static void makeRoomForSockets(int64_t count) {
  constexpr int64_t kOthers = 128; // files beside them
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  auto needed = static_cast<rlim_t>(count + kOthers);
  if (limit.rlim_cur >= needed)
    return;
  rlimit raised{std::min(needed, limit.rlim_max), limit.rlim_max};
  if (limit.rlim_max < needed || setrlimit(RLIMIT_NOFILE, &raised) != 0)
    throw ditron::RuntimeError(fmt::format(
        "the process may have {} files (ulimit -n), expected at least {}: {} are the connections "
        "that --max-batch and --max-queue ask for",
        limit.rlim_max, needed, count));
}

Service::Service(Engine &engine, const Served &served, const ServiceOptions &options)
    : engine_(engine), served_(served), patience_(options.patience), started_(std::time(nullptr)),
      connections_(std::make_unique<Connections>()),
      workers_(std::make_unique<Workers>(options.connections)),
      server_(std::make_unique<Server>(
          *connections_, RequestBounds{.body = 2 * mostBody(served), .patience = patience_})) {
  makeRoomForSockets(2 * options.connections); // as many may wait as are answered
  server_->new_task_queue = [this] { return new WorkersAtHand(*workers_); };
  // Not SO_REUSEPORT, httplib's default, with which another process may take a part of the requests.
  server_->set_socket_options([](socket_t socket) {
    int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  });
  server_->set_tcp_nodelay(true);
  addRoutes();
}

Service::~Service() { close(); }

/// Why nothing can listen there.
static std::string reasonOf(const std::string &host, int error) {
  addrinfo *found = nullptr;
  int problem = getaddrinfo(host.c_str(), nullptr, nullptr, &found);
  if (problem != 0)
    return gai_strerror(problem);
  freeaddrinfo(found);
  return error != 0 ? std::strerror(error) : "is it taken?";
}

std::string Service::start(const std::string &host, int port) {
  host_ = host;
  port_ = port;
  errno = 0;
  if (port == 0)
    port_ = server_->bind_to_any_port(host);
  else if (!server_->bind_to_port(host, port))
    port_ = -1;
  std::string name = host.find(':') == std::string::npos ? host : fmt::format("[{}]", host);
  if (port_ < 0)
    throw ditron::UnavailableError(
        fmt::format("{}:{} cannot be listened on: {}", name, port, reasonOf(host, errno)));
  server_->holdConnections();
  isListening_ = true;
  listener_ =
      ditron::startThread("the thread that takes connections", [this] { takeConnections(); });
  return fmt::format("http://{}:{}", name, port_);
}

/// Takes them until the service is closed. httplib ends where a connection that waits has an error,
/// its own or the network's: then others are taken from a new socket.
void Service::takeConnections() {
  while (!server_->listen_after_bind() && !isClosing_) {
    std::this_thread::sleep_for(10ms); // what is short of memory now may have some then
    errno = 0;
    if (!server_->bind_to_port(host_, port_)) {
      problem_ = fmt::format("{}:{} cannot be listened on any more: {}", host_, port_,
                             reasonOf(host_, errno));
      engine_.end();
      break;
    }
    server_->holdConnections();
  }
  isListening_ = false;
}

void Service::stop() {
  close();
  if (!problem_.empty())
    throw ditron::RuntimeError(problem_);
}

void Service::close() {
  if (!listener_.joinable())
    return;
  while (deliveries_ > 0)
    std::this_thread::sleep_for(1ms);
  isClosing_ = true;
  connections_->end();
  for (bool isTold = false; isListening_; std::this_thread::sleep_for(1ms))
    if (!isTold && server_->is_running()) { // before that httplib does not hear it
      server_->stop();
      isTold = true;
    }
  listener_.join();
  workers_->shutdown();
}

} // namespace serve
