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
  EXPECT_EQ(MeshRequest::parse("node=2").text(), "node=2");
  EXPECT_EQ(MeshRequest::parse("node=2").of(4).text(), "node=2,local=2");
}

TEST(MeshRequest, RefusesUnevenMeshes) {
  EXPECT_EQ(errorOf([] { MeshRequest::parse("node=2,local=2").of(5); }),
            "the mesh is node=2,local=2, but there are 5 ranks: expected node times local of them");
  EXPECT_EQ(errorOf([] { MeshRequest::parse("local=4").of(6); }),
            "the mesh is local=4, but there are 6 ranks: expected node times local of them");
}

TEST(MeshRequest, AxesHaveNames) {
  MeshShape mesh = MeshRequest::parse("row=2,col=3").of(6);
  EXPECT_EQ(mesh.nodes, 1);
  EXPECT_EQ(mesh.local, 6);
  EXPECT_EQ(mesh.axes.text(), "row=2,col=3");
  EXPECT_EQ(MeshRequest::parse("node=2,row=2,col=2").of(8).local, 4);
  EXPECT_EQ(errorOf([] { MeshRequest::parse("row=2,col=2").of(6); }),
            "the mesh is row=2,col=2, but there are 6 ranks: expected the product of its extents");
}

TEST(MeshAxes, LinesOfRanks) {
  ditron::MeshAxes mesh = *ditron::MeshAxes::parse("row=2,col=3");
  for (int64_t rank = 0; rank < 6; ++rank) {
    EXPECT_EQ(mesh.find("row")->placeOf(rank), rank / 3);
    EXPECT_EQ(mesh.find("col")->placeOf(rank), rank % 3);
    EXPECT_EQ(mesh.find("col")->rankAt(rank, 2), rank / 3 * 3 + 2);
    EXPECT_EQ(mesh.find("row")->rankAt(rank, 0), rank % 3);
    EXPECT_EQ(mesh.find("node")->placeOf(rank), 0);
    EXPECT_EQ(mesh.find("local")->placeOf(rank), rank);
  }
  EXPECT_FALSE(mesh.find("depth"));
}

TEST(MeshAxes, RefusesOtherText) {
  for (const char *text : {"row", "row=0", "row=2,", ",row=2", "row=2,row=2", "2d=2", "world=2",
                           "row=2,node=2", "row=4096,col=8192"})
    EXPECT_FALSE(ditron::MeshAxes::parse(text)) << text;
}

TEST(MeshRequest, RefusesOtherText) {
  for (const char *text : {"", "node", "node=0", "node=-1", "node=2,", "node=2,node=2",
                           "row=2,row=2", "node=2;local=2", "node=2,local=99999999999"})
    EXPECT_EQ(errorOf([&] { MeshRequest::parse(text, "--mesh"); }),
              "--mesh is '" + std::string(text) +
                  "': expected the extents of axes, node and local, for example node=2,local=4, "
                  "or others, for example row=2,col=2");
}

} // namespace
