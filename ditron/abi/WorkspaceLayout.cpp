// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/abi/WorkspaceLayout.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ditron::abi {

static int64_t rounded(int64_t bytes) {
  return (bytes + Head::kAlignment - 1) / Head::kAlignment * Head::kAlignment;
}

WorkspaceLayout::WorkspaceLayout(std::vector<SymmetricArray> arrays,
                                 const WorkspaceOptions &options)
    : team_(options.team), arrays_(std::move(arrays)), signalStart_(Head::bytes(options.ranks)),
      bufferPages_(options.bufferPages) {
  std::vector<int64_t> within(arrays_.size());
  int64_t fixedCells = 0;
  for (size_t n = 0; n < arrays_.size(); ++n) {
    const SymmetricArray &array = arrays_[n];
    if (array.isSignals()) {
      int64_t &cells = array.isFixed ? fixedCells : cells_;
      within[n] = 8 * cells;
      cells += array.elements();
    } else {
      int64_t &bytes = array.isFixed ? fixedBytes_ : bufferPage_;
      within[n] = bytes;
      bytes += rounded(array.bytes());
    }
  }
  cells_ += 2 * options.barriers;
  signalPage_ = rounded(8 * cells_);
  stampDistance_ = options.hasStamps ? kSignalPages * signalPage_ : 0;
  fixedSignalStart_ = signalStart_ + kSignalPages * signalPage_ + stampDistance_;
  bufferStart_ = fixedSignalStart_ + rounded(8 * fixedCells);
  int64_t fixedStart = bufferStart_ + bufferPages_ * bufferPage_;
  for (size_t n = 0; n < arrays_.size(); ++n) {
    bool isFixed = arrays_[n].isFixed;
    int64_t start = arrays_[n].isSignals() ? (isFixed ? fixedSignalStart_ : signalStart_)
                                           : (isFixed ? fixedStart : bufferStart_);
    offsets_.push_back(start + within[n]);
  }
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
    if (arrays_[n].isSignals() && !arrays_[n].isFixed && number >= 0 &&
        number < arrays_[n].elements())
      return nameOfCell(arrays_[n].name, arrays_[n].extents, number);
  }
  return std::nullopt;
}

std::optional<std::string> WorkspaceLayout::nameOfFixed(int64_t offset) const {
  for (size_t n = 0; n < arrays_.size(); ++n) {
    int64_t number = (offset - offsets_[n]) / 8;
    if (arrays_[n].isSignals() && arrays_[n].isFixed && offset >= offsets_[n] &&
        number < arrays_[n].elements())
      return nameOfCell(arrays_[n].name, arrays_[n].extents, number);
  }
  return std::nullopt;
}

std::optional<std::string> WorkspaceLayout::nameOfRow(int64_t offset) const {
  if (offset < bufferStart_ || offset >= bufferStart_ + bufferPages_ * bufferPage_)
    return std::nullopt;
  int64_t within = bufferStart_ + (offset - bufferStart_) % bufferPage_;
  for (size_t n = 0; n < arrays_.size(); ++n) {
    const SymmetricArray &array = arrays_[n];
    int64_t bytes = within - offsets_[n];
    if (array.isSignals() || array.isFixed || array.extents.empty() || bytes < 0 ||
        bytes >= array.bytes())
      continue;
    std::vector<int64_t> rows(array.extents.begin(), array.extents.end() - 1);
    return nameOfCell(array.name, rows, bytes / (array.extents.back() * array.elementBytes));
  }
  return std::nullopt;
}

} // namespace ditron::abi
