// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Scenario.h"
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <mutex>
#include <unistd.h>

namespace scenario {

std::map<std::string, Body> &registry() {
  static std::map<std::string, Body> scenarios;
  return scenarios;
}

namespace {

const std::string kCores = "DITRON_TEST_CORES", kFolder = "DITRON_TEST_FOLDER";

/// Runs on every rank of this process, and keeps the message each rank ends with.
std::string runHere(const std::string &name, const Options &options,
                    const std::function<void(int, const std::string &)> &keep) {
  try {
    runRanks(options, [&](Rank &rank) {
      try {
        registry().at(name)(rank);
      } catch (const std::exception &error) {
        keep(rank.rank(), error.what());
        throw;
      }
    });
  } catch (const std::exception &error) {
    return error.what();
  }
  return "";
}

double since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int runChild(const char *name) {
  Options options{.cores = std::atoi(std::getenv(kCores.c_str())),
                  .transport = TransportKind::processes};
  std::string folder = std::getenv(kFolder.c_str());
  std::string error = runHere(name, options, [&](int rank, const std::string &message) {
    std::ofstream(folder + "/" + std::to_string(rank)) << message;
  });
  if (!error.empty() && !reportToLauncher(error))
    std::fprintf(stderr, "%s\n", error.c_str());
  return error.empty() ? 0 : 1;
}

} // namespace

Outcome runAsThreads(const std::string &name, const Setup &setup) {
  std::vector<std::string> names;
  for (const std::string &entry : setup.environment) {
    names.push_back(entry.substr(0, entry.find('=')));
    setenv(names.back().c_str(), entry.substr(entry.find('=') + 1).c_str(), 1);
  }
  Options options{.ranks = setup.ranks, .cores = setup.cores, .transport = TransportKind::threads};
  options.waitTimeout = std::chrono::milliseconds(setup.waitMs);
  for (const std::string &variable : names)
    unsetenv(variable.c_str());
  Outcome outcome;
  outcome.ofRanks.resize(size_t(setup.ranks));
  std::mutex lock;
  auto start = std::chrono::steady_clock::now();
  outcome.error = runHere(name, options, [&](int rank, const std::string &message) {
    std::lock_guard guard(lock);
    outcome.ofRanks[size_t(rank)] = message;
  });
  outcome.seconds = since(start);
  return outcome;
}

Outcome runAsProcesses(const std::string &name, const Setup &setup) {
  std::string folder = testing::TempDir() + "/ditron-XXXXXX";
  if (!mkdtemp(folder.data()))
    throw std::runtime_error("no folder for the test");
  SpawnOptions spawn{.processes = setup.ranks, .command = {"/proc/self/exe", "--scenario", name}};
  spawn.environment = setup.environment;
  spawn.environment.push_back("DITRON_WAIT_TIMEOUT_MS=" + std::to_string(setup.waitMs));
  spawn.environment.push_back(kCores + "=" + std::to_string(setup.cores));
  spawn.environment.push_back(kFolder + "=" + folder);
  Outcome outcome;
  auto start = std::chrono::steady_clock::now();
  SpawnResult result = spawnRanks(spawn);
  outcome.seconds = since(start);
  outcome.error = result.error;
  outcome.waitStatus = result.waitStatus;
  for (int rank = 0; rank < setup.ranks; ++rank) {
    std::ifstream file(folder + "/" + std::to_string(rank));
    outcome.ofRanks.emplace_back(std::istreambuf_iterator<char>(file),
                                 std::istreambuf_iterator<char>());
  }
  std::filesystem::remove_all(folder);
  return outcome;
}

} // namespace scenario

int main(int argc, char **argv) {
  if (argc == 3 && std::strcmp(argv[1], "--scenario") == 0)
    return scenario::runChild(argv[2]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
