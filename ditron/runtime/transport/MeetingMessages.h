// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the processes of a run say when they meet, as bytes. Any process of the user can come to the
// meeting and say anything; what does not read as a message of this run is dropped.
#pragma once
#include "ditron/runtime/Bootstrap.h"
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ditron::runtime {

/// What every rank of a run must have as rank 0 has it.
struct Terms {
  int cores = 1;
  std::string backend = {}, mesh = {};
};

/// What a rank says when it comes: who it is, what it takes the run to be, and the key of the job.
std::string helloOf(const Membership &membership, const Terms &terms);

/// Rank 0's list of who has come.
class Roster {
public:
  Roster(const Membership &membership, Terms terms)
      : membership_(membership), terms_(std::move(terms)), isThere_(size_t(membership.size)) {}

  /// Room for a message of this run, and for those of other versions.
  size_t mostHelloBytes() const;
  /// The rank that says hello, whether it can take part or not; nothing where the bytes are no message
  /// of this run.
  std::optional<int> speaker(std::string_view message) const;
  /// The rank that says hello, which is there from now on; nothing where the bytes are no message of
  /// this run. RuntimeError where they are one, and the rank cannot take part.
  std::optional<int> admit(std::string_view message);
  /// Ranks other than 0 that have not come.
  std::vector<int> absent() const;

private:
  Membership membership_;
  Terms terms_;
  std::vector<bool> isThere_;
};

/// What rank 0 answers; with the files of the run where it takes the rank in.
struct Answer {
  /// Beyond this no file has room for the heaps of a run.
  static constexpr size_t kMostHeapBytes = size_t(1) << 46;
  static constexpr size_t kBytes = 536, kMostBytes = 8192; ///< of this version, and of any

  bool isAccepted = false;
  size_t heapBytes = 0; ///< of each rank
  std::string refusal;  ///< cut where it is longer than 511 bytes

  std::string bytes() const;
  /// Nothing where the bytes are none of this protocol; a refusal where they are of another version.
  static std::optional<Answer> parse(std::string_view message);
};

} // namespace ditron::runtime
