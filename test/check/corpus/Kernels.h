// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bugs of the corpus that the language can express: NN-name.cpp has each as a kernel
// `broken`... and as kernels `fixed`... .
#pragma once
#include "ditron/ditron.h"
#include <vector>

namespace ditron::corpus {

/// A kernel, its dimensions, and on how many cores it is checked.
struct Case {
  Kernel kernel;
  Dimensions shape;
  int64_t cores = 2;
};

std::vector<Case> oneCounter();
std::vector<Case> onlyOneCorePuts();
std::vector<Case> waitOfAnother();
std::vector<Case> stageReloaded();
std::vector<Case> earlyLeaver();

} // namespace ditron::corpus
