// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Safetensors files: tensors of F32, F16 and BF16, in one file or in several that an index names.
#pragma once
#include "formats/Blocks.h"
#include "formats/MappedFile.h"
#include <string>
#include <vector>

namespace generate {

class Safetensors {
public:
  /// A .safetensors file, or the .json index of several in its folder. RuntimeError naming the file
  /// and what is wrong in it.
  explicit Safetensors(const std::string &path);
  const std::vector<StoredTensor> &tensors() const { return tensors_; }

private:
  void readFile(const std::string &path);
  void readIndex(const std::string &path);

  std::vector<MappedFile> files_;
  std::vector<StoredTensor> tensors_;
};

} // namespace generate
