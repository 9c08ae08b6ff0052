// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/abi/Workspace.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ditron::abi {

static int64_t rounded(int64_t bytes) {
  return (bytes + Head::kAlignment - 1) / Head::kAlignment * Head::kAlignment;
}

WorkspaceLayout::WorkspaceLayout(std::vector<SymmetricArray> arrays,
                                 const WorkspaceOptions &options)
    : arrays_(std::move(arrays)), signalStart_(Head::bytes(options.ranks)),
      bufferPages_(options.bufferPages) {
  std::vector<int64_t> within(arrays_.size());
  for (size_t n = 0; n < arrays_.size(); ++n) {
    if (arrays_[n].isSignals()) {
      within[n] = 8 * cells_;
      cells_ += arrays_[n].elements();
    } else {
      within[n] = bufferPage_;
      bufferPage_ += rounded(arrays_[n].bytes());
    }
  }
  cells_ += 2 * options.barriers;
  signalPage_ = rounded(8 * cells_);
  stampDistance_ = options.hasStamps ? kSignalPages * signalPage_ : 0;
  bufferStart_ = signalStart_ + kSignalPages * signalPage_ + stampDistance_;
  for (size_t n = 0; n < arrays_.size(); ++n)
    offsets_.push_back((arrays_[n].isSignals() ? signalStart_ : bufferStart_) + within[n]);
}

static std::string nameOfCell(const std::string &array, const std::vector<int64_t> &extents,
                              int64_t number) {
  std::vector<int64_t> indices(extents.size());
  for (size_t dim = indices.size(); dim-- > 0; number /= extents[dim])
    indices[dim] = number % extents[dim];
  return indices.empty() ? fmt::format("'{}'", array)
                         : fmt::format("'{}'[{}]", array, fmt::join(indices, ", "));
}

std::optional<std::string> WorkspaceLayout::nameOf(int64_t cell) const {
  for (size_t n = 0; n < arrays_.size(); ++n) {
    int64_t number = cell - (offsets_[n] - signalStart_) / 8;
    if (arrays_[n].isSignals() && number >= 0 && number < arrays_[n].elements())
      return nameOfCell(arrays_[n].name, arrays_[n].extents, number);
  }
  return std::nullopt;
}

} // namespace ditron::abi
