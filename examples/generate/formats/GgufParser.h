// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "formats/Gguf.h"
#include <cstdint>

namespace generate {

/// Reads the parts of a GGUF file one after another. RuntimeError naming the file, the byte and
/// what is wrong there.
class GgufParser {
public:
  explicit GgufParser(const MappedFile &file) : path_(file.path()), bytes_(file.bytes()) {}

  struct Counts {
    uint64_t tensors, values;
  };
  Counts header();
  std::pair<std::string, GgufValue> keyAndValue();

  /// A tensor whose bytes are not known yet: where they begin counts from the end of the header.
  struct Placed {
    StoredTensor tensor;
    uint64_t offset;
  };
  Placed tensor();
  /// Where the tensors' bytes begin, behind all that was read.
  uint64_t dataStart(int64_t alignment) const;
  /// Gives a tensor its bytes.
  void place(Placed &tensor, uint64_t dataStart, int64_t alignment) const;

  [[noreturn]] void fail(const std::string &problem) const;

private:
  template <class T> T number();
  std::string_view text(const char *what);
  uint64_t count(const char *what, uint64_t leastBytes);
  GgufValue value(uint32_t type, const std::string &key);
  GgufValue array(const std::string &key);
  GgufValue scalar(uint32_t type, const std::string &key);

  const std::string &path_;
  std::span<const std::byte> bytes_;
  uint64_t at_ = 0;
};

} // namespace generate
