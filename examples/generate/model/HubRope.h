// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rope as config.json has it: in rope_parameters, as transformers 5 writes it, or in rope_theta and
// rope_scaling, as versions before it do. A file that has both has to say the same in both.
#pragma once
#include "formats/Json.h"
#include "model/Architecture.h"
#include <string>
#include <vector>

namespace generate {

/// Architecture::ropeBase: 10000 where no key says it. RuntimeError naming the file and the key that is
/// wrong, or the two that contradict each other.
double readHubRopeBase(const std::string &path, const Json &config);

/// Architecture::ropeFactors, whose base and size of a head are read. RuntimeError as above.
std::vector<double> readHubRopeFactors(const std::string &path, const Json &config,
                                       const Architecture &architecture);

} // namespace generate
