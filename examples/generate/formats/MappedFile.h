// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace generate {

/// The bytes of a file, mapped into memory. Copies share the mapping.
class MappedFile {
public:
  /// RuntimeError naming the file and the reason where it cannot be read.
  explicit MappedFile(std::string path);

  const std::string &path() const { return path_; }
  std::span<const std::byte> bytes() const { return bytes_; }

private:
  std::string path_;
  std::shared_ptr<const void> mapping_;
  std::span<const std::byte> bytes_;
};

} // namespace generate
