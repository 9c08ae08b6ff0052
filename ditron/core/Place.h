// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where ops stand in the user's program.
#pragma once
#include "mlir/IR/Location.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>

namespace ditron::core {

/// A line of a source file; empty and 0 where none is known.
struct Place {
  llvm::StringRef file; ///< without folders
  int64_t line = 0;

  /// "File.cpp:12", or nothing.
  std::string text() const;
};

/// The first line that a location names. The file's name lives as long as the context.
Place placeOf(mlir::Location location);

} // namespace ditron::core
