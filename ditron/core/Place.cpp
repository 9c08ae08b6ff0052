// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/core/Place.h"

using namespace mlir;

namespace ditron::core {

std::string Place::text() const {
  return file.empty() ? "" : file.str() + ":" + std::to_string(line);
}

Place placeOf(mlir::Location location) {
  Place place;
  location->walk([&](mlir::Location part) {
    auto found = dyn_cast<FileLineColLoc>(part);
    if (!found)
      return WalkResult::advance();
    llvm::StringRef file = found.getFilename().getValue();
    place = {file.substr(file.find_last_of('/') + 1), found.getLine()}; // npos + 1 is 0
    return WalkResult::interrupt();
  });
  return place;
}

} // namespace ditron::core
