// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/device/DistOps.h"
#include "ditron/device/transforms/Passes.h"
namespace ditron::device {
#define GEN_PASS_DEF_PLACERESULTS
#include "ditron/device/transforms/Passes.h.inc"
} // namespace ditron::device
namespace {
struct PlaceResults : ditron::device::impl::PlaceResultsBase<PlaceResults> {
  void runOnOperation() override {}
};
} // namespace
