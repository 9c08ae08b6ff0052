// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/Mesh.h"
#include "ditron/support/Error.h"
#include <functional>
#include <gtest/gtest.h>

using namespace ditron::runtime;

namespace {

std::string errorOf(const std::function<void()> &call) {
  try {
    call();
  } catch (const ditron::UsageError &error) {
    return error.what();
  }
  return "";
}

TEST(MeshRequest, WhatIsNotSaidFollowsFromTheRanks) {
  EXPECT_EQ(MeshRequest{}.of(4), (MeshShape{1, 4}));
  EXPECT_EQ(MeshRequest::parse("node=2").of(4), (MeshShape{2, 2}));
  EXPECT_EQ(MeshRequest::parse("local=2").of(6), (MeshShape{3, 2}));
  EXPECT_EQ(MeshRequest::parse("local=3,node=2").of(6), (MeshShape{2, 3}));
}

TEST(MeshRequest, RefusesUnevenMeshes) {
  EXPECT_EQ(
      errorOf([] { MeshRequest::parse("node=2,local=2").of(5); }),
      "the mesh is node=2, local=2, but there are 5 ranks: expected node times local of them");
  EXPECT_EQ(errorOf([] { MeshRequest::parse("local=4").of(6); }),
            "the mesh is local=4, but there are 6 ranks: expected node times local of them");
}

TEST(MeshRequest, RefusesOtherText) {
  for (const char *text : {"", "node", "node=0", "node=-1", "node=2,", "node=2,node=2", "rack=2",
                           "node=2;local=2", "node=2,local=99999999999"})
    EXPECT_EQ(errorOf([&] { MeshRequest::parse(text, "--mesh"); }),
              "--mesh is '" + std::string(text) +
                  "': expected the extents of the axes node and local, for example "
                  "node=2,local=4");
}

} // namespace
