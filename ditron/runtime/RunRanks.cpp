// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/Rank.h"
#include "ditron/runtime/transport/Transport.h"
#include "ditron/support/Error.h"
#include "ditron/support/StartThread.h"
#include <fmt/format.h>
#include <mutex>
#include <sys/prctl.h>
#include <thread>

namespace ditron::runtime {

namespace {

/// Runs the body and, where it throws, ends the other ranks with its error: the one that the run
/// has already, or else this one.
void runBody(Rank &rank, const std::function<void(Rank &)> &body) {
  auto abort = [&](const char *message) {
    rank.abort(rank.control().stopped() ? rank.control().message() : message);
  };
  try {
    body(rank);
  } catch (const std::exception &error) {
    abort(error.what());
    throw;
  } catch (...) {
    abort(fmt::format("rank {} threw something that is no std::exception", rank.rank()).c_str());
    throw;
  }
}

void runThreads(const Options &options, const std::function<void(Rank &)> &body) {
  std::shared_ptr<Transport> transport = makeThreads(options);
  std::mutex lock;
  std::exception_ptr failure;
  auto run = [&](int index) {
    prctl(PR_SET_TIMERSLACK, 1000);
    try {
      Rank rank(transport, index, options);
      runBody(rank, [&](Rank &rank) {
        try {
          body(rank);
        } catch (...) { // kept before any other rank can hear of it
          std::lock_guard guard(lock);
          if (!failure)
            failure = std::current_exception();
          throw;
        }
      });
    } catch (const std::exception &error) {
      std::lock_guard guard(lock);
      if (!failure) {
        failure = std::current_exception();
        transport->control().raiseFatal(error.what());
      }
    } catch (...) {
    }
  };
  std::vector<std::thread> threads;
  try {
    for (int index = 0; index < options.ranks; ++index)
      threads.push_back(
          startThread(fmt::format("the thread of rank {}", index), [&run, index] { run(index); }));
  } catch (const std::exception &error) { // those that run end with it
    std::lock_guard guard(lock);
    if (!failure)
      failure = std::current_exception();
    transport->control().raiseFatal(error.what());
  }
  for (std::thread &thread : threads)
    thread.join();
  if (failure)
    std::rethrow_exception(failure);
}

/// A rank, or the error on every rank that there is none.
std::unique_ptr<Rank> makeRank(const std::shared_ptr<Transport> &transport, int rank,
                               const Options &options) {
  try {
    return std::make_unique<Rank>(transport, rank, options);
  } catch (const std::exception &error) {
    transport->control().raiseFatal(error.what());
    throw;
  }
}

std::unique_ptr<Rank> joinRun(const std::optional<Membership> &membership, Options options) {
  if (membership && membership->size > 1)
    return makeRank(joinProcesses(*membership, options), membership->rank, options);
  options.ranks = 1;
  return std::make_unique<Rank>(makeThreads(options), 0, options);
}

} // namespace

std::unique_ptr<Rank> Rank::fromEnvironment(Options options) {
  return joinRun(membershipFromEnvironment(), options);
}

void runRanks(const Options &options, const std::function<void(Rank &)> &body) {
  std::optional<Membership> membership;
  if (options.transport != TransportKind::threads)
    membership = membershipFromEnvironment();
  if (options.transport == TransportKind::processes && !membership)
    throw UsageError("transport 'processes' needs ranks started as processes: by ditron run "
                     "--procs, torchrun or mpirun");
  if (!membership || membership->size == 1)
    return runThreads(options, body);
  auto rank = joinRun(membership, options);
  runBody(*rank, body);
}

} // namespace ditron::runtime
