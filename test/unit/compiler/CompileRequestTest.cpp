// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Requests of compilations, and what the kernel cache makes of them.
#include "ditron/abi/CompileRequest.h"
#include "ditron/driver/Compile.h"
#include "ditron/support/Error.h"
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <set>
#include <unistd.h>

using namespace ditron;

namespace {

TEST(CompileRequest, HasAKeyOfEveryField) {
  std::vector<CompileRequest> requests{{}};
  auto add = [&](auto change) { change(requests.emplace_back()); };
  add([](CompileRequest &one) { one.target = "sm_90a"; });
  add([](CompileRequest &one) { one.schedule.warps = 4; });
  add([](CompileRequest &one) { one.schedule.stages = 4; });
  add([](CompileRequest &one) { one.schedule.ctasPerSm = 4; });
  add([](CompileRequest &one) { one.unitStride = {true}; });
  add([](CompileRequest &one) { one.unitStride = {false}; });
  add([](CompileRequest &one) { one.unitStride = {true, true}; });
  add([](CompileRequest &one) { one.alignment = {1}; });
  add([](CompileRequest &one) { one.alignment = {16}; });
  add([](CompileRequest &one) { one.graphArguments = {{.isConstant = true}}; });
  add([](CompileRequest &one) { one.graphArguments = {{}, {.isConstant = true}}; });
  add([](CompileRequest &one) { one.graphArguments = {{.isLasting = true}}; });
  add([](CompileRequest &one) { one.graphArguments = {{.extents = {2, 3}}}; });
  add([](CompileRequest &one) { one.graphArguments = {{.extents = {2}}, {.extents = {3}}}; });
  add([](CompileRequest &one) { one.graphArguments = {{.isDense = true}}; });
  add([](CompileRequest &one) { one.recorded = true; });
  add([](CompileRequest &one) { one.tensorMaps = false; });
  add([](CompileRequest &one) { one.tensorStores = false; });
  add([](CompileRequest &one) { one.emit = Emit::object; });
  std::set<std::string> keys;
  for (const CompileRequest &one : requests)
    EXPECT_TRUE(keys.insert(one.key()).second) << one.key();
  EXPECT_EQ(CompileRequest().key(), CompileRequest().key());
}

Kernel doubled() {
  return Kernel("doubled(x[N]) -> y[N]", [](In<f32, 1> x, Out<f32, 1> y) {
    auto xs = x.tiled(64);
    auto ys = y.tiled(64);
    for (auto [i] : ys.tiles())
      ys(i) = xs(i) + xs(i);
  });
}

/// A kernel cache of its own, for the time of a test.
class Cache : public testing::Test {
protected:
  Cache() {
    setenv("DITRON_CACHE", "1", 1);
    setenv("DITRON_CACHE_DIR", folder_.c_str(), 1);
  }
  ~Cache() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / fmt::format("ditron-requests-{}", getpid());
};

TEST_F(Cache, GivesWhatWasBuilt) {
  Kernel kernel = doubled();
  for (const char *target : {"x86-64", "sm_90a"}) {
    CompileRequest request = requestFor(kernel, target);
    BuiltKernel first = buildKernel(kernel, request), second = buildKernel(kernel, request);
    EXPECT_FALSE(first.report.fromCache);
    EXPECT_TRUE(second.report.fromCache);
    EXPECT_EQ(first.info, second.info);
    EXPECT_EQ(first.code, second.code);
    EXPECT_EQ(first.info.target, target);
    EXPECT_EQ(first.info.name, "doubled");
    ASSERT_EQ(first.info.arguments.size(), 2U);
    EXPECT_EQ(first.info.arguments[1].name, "y");
    // The code says itself how it is launched.
    EXPECT_NE(first.code.find(ditron::abi::toText(first.info)), std::string::npos) << target;
  }
}

TEST_F(Cache, IsNotBelievedWhereCodeDoesNotLoad) {
  Kernel kernel = doubled();
  CompileRequest request = requestFor(kernel, "sm_90a");
  buildKernel(kernel, request);
  int loads = 0;
  BuiltKernel built = buildKernel(kernel, request, [&](const ditron::abi::CompiledKernel &) {
    if (++loads == 1)
      throw RuntimeError("an old driver");
  });
  EXPECT_EQ(loads, 2);
  EXPECT_FALSE(built.report.fromCache);
  EXPECT_NE(built.report.cacheProblem.find("does not load (an old driver)"), std::string::npos);
}

TEST(Compile, RefusesUnknownTargets) {
  Kernel kernel = doubled();
  try {
    compileTo(kernel, requestFor(kernel, "pdp-11"));
    FAIL();
  } catch (const UnavailableError &error) {
    EXPECT_NE(std::string(error.what()).find("target 'pdp-11' is not in this build"),
              std::string::npos);
  }
}

} // namespace
