// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the ranks of a machine do in which time: the numbers that the model of time is made from. The
// defaults are those of a host of H200s; `ditron info --measure` measures a machine, and what it
// writes replaces them.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace ditron::heuristics {

/// Bytes that the last cache of a GPU keeps from one product to the next, about.
inline constexpr int64_t kKeptBytes = 20'000'000;

struct Calibration {
  double copyBandwidth = 390e9;     ///< of a copy engine from one rank to another, bytes/s
  double copyLatency = 6e-6;        ///< of a copy and the signal behind it, s
  double coreCopyBandwidth = 364e9; ///< of cores from one rank to another, all of them, bytes/s
  double bandwidthOfCore = 17e9;    ///< of these, what one core gives, bytes/s
  double signalLatency = 1.33e-6;   ///< one way from a rank to another, s
  double flops = 760e12;            ///< of products of 16-bit floats by all cores, operations/s
  double memoryBandwidth = 4200e9;  ///< of a rank's memory, bytes/s
  double collectiveLatency = 30e-6; ///< of the library's collectives of few bytes, s
  double collectiveBandwidth =
      290e9; ///< of those of many, of the bytes that a rank receives, bytes/s

  /// A number, its name in files and its unit.
  struct Field {
    const char *name;
    double Calibration::*value;
    const char *unit; ///< "B/s", "s", "op/s"
    const char *meaning;
  };
  static const std::vector<Field> &fields();

  /// One line "name value" a number.
  std::string text() const;
  /// The defaults with the numbers of a text. UsageError naming the line where it reads otherwise,
  /// or a number is not positive.
  static Calibration parse(std::string_view text);
};

} // namespace ditron::heuristics
